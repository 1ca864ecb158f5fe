"""Tables whose rows are records."""
