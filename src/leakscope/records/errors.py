"""The exceptions that a user is meant to see."""


class LeakscopeError(Exception):
    """Something the user can mend. The message is one sentence that says what to do.

    It never quotes training text: messages end up in logs.
    """


class OtherTrainingError(LeakscopeError):
    """A directory holds another training than the one that is to go on there."""

    def __init__(self, message: str, changes: str) -> None:
        super().__init__(message)
        self.changes = changes
        """What differs, in words."""
