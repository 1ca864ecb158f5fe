"""The training data leakage report: collect, count, measure."""
