"""Which documents train the model and which validate it: as the input says, or drawn by document
(the papers' way) or by user.
"""

import hashlib

TRAIN, VALIDATION = "train", "validation"
ALL = "all"
"""Both parts together, as a model from elsewhere may have been trained on them."""
_NAMES = {TRAIN: TRAIN, "training": TRAIN} | dict.fromkeys(
    (VALIDATION, "valid", "val", "dev", "eval", "test"), VALIDATION
)


def split_named(name: str) -> str | None:
    """The part that an input calls by this name; None: nobody knows it."""
    return _NAMES.get(name.strip().lower())


def in_validation(fraction: float, by: str, seed: int, user: str, index: int) -> bool:
    """Whether the user's document `index` is held out. This depends only on the arguments, so
    neither the order of the users nor the number of shards changes the split.
    """
    salt = b"" if by == "user" else b"%d" % index
    key = b"%d\0%s\0%s" % (seed, user.encode(), salt)
    draw = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
    return draw < fraction * 2.0**64
