"""What stands before the model of a run, as all that is made from the run says it."""

NOT_BARE = "Not the bare model"
"""The label of what `notes` say."""


def through(interface: str | None, sentence: str) -> str:
    """A sentence on what comes out, which says first through which interface, if there is one."""
    if interface is None:
        return sentence
    return f"Through an interface that {interface}, {sentence[0].lower()}{sentence[1:]}"


def notes(interface: str | None) -> list[tuple[str, str]]:
    """A label and a sentence if something stands before the model."""
    if interface is None:
        return []
    return [(NOT_BARE, f"All figures are of the model through an interface that {interface}.")]
