"""The files of models from elsewhere: which of them decide, and which are refused."""
