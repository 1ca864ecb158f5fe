"""Questions to a model besides its scores of D, answered on any engine."""
