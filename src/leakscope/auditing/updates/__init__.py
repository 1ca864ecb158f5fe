"""The update of a model: opening both, whose the found text is, and the directory of a diff."""
