"""How the input of a corpus is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class InputSettings:
    """How the input is read: what its columns (or JSON keys) are called, and its format."""

    user_column: str = "user"
    """Column or key with the user."""
    text_column: str = "text"
    """Column or key with the text."""
    split_column: str | None = None
    """Column or key with each document's split: train, or validation (also dev, test, ...)."""
    format: str | None = None
    """Format of every input, such as jsonl; guessed from name and content if not given."""
