"""S: the runs of words that the model predicts."""
