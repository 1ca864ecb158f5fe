"""What is suspicious about the users of a corpus, by its sizes alone."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

LARGE_SHARE = 0.1
"""No user should have more than this share of the documents or words ..."""
LARGE_MULTIPLE = 10
"""... and more than this many times an equal share: among some dozens, a large share is nothing
strange."""
HALF = 0.5
"""More than this is suspicious among any number of users ..."""
FEW, FEW_SHARE = 3, 0.8
"""... but among so few, only more than this: an uneven talk of two or three is nothing strange."""


class CorpusWarning(BaseModel):
    """Something to look into before figures per user are believed."""

    model_config = ConfigDict(frozen=True)

    code: str
    """For programs: single_user, or large_user."""
    message: str
    """For people."""


def user_warnings(users: int, most: Mapping[str, tuple[float | None, int]]) -> list[CorpusWarning]:
    """Warn of a single user, or of one with a suspicious share. `most` says, by what is counted,
    how much the user with the most has (None: not known), and how much there is.
    """
    if users == 1:
        message = (
            "All documents have the same user, so leakage per user means nothing: check which "
            "column or header names the user."
        )
        return [CorpusWarning(code="single_user", message=message)]
    shares = {what: part / whole for what, (part, whole) in most.items() if part and whole}
    least = largest_share(users)
    large = [f"{share:.1%} of the {what}" for what, share in shares.items() if share > least]
    if not large:
        return []
    message = (
        f"One of {users:,} users has {' and '.join(large)}: check that this is one person, not a "
        "bot or a key that many people share."
    )
    return [CorpusWarning(code="large_user", message=message)]


def largest_share(users: int) -> float:
    """The largest share that one of several users may have without being suspicious."""
    if users <= FEW:
        return FEW_SHARE
    return min(HALF, max(LARGE_SHARE, LARGE_MULTIPLE / users))
