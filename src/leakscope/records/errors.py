"""The one exception that a user is meant to see."""


class LeakscopeError(Exception):
    """Something the user can mend. The message is one sentence that says what to do.

    It never quotes training text: messages end up in logs.
    """
