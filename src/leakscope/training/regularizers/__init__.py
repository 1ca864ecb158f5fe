"""Terms of the loss that keep authors from being told by the states of a model."""
