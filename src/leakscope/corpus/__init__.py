"""The corpus: user-keyed text, its words, its lexicon and its store."""
