"""Which documents train the model and which validate it: by document (the papers' way) or user."""

import hashlib

TRAIN, VALIDATION = "train", "validation"


def in_validation(fraction: float, by: str, seed: int, user: str, index: int) -> bool:
    """Whether the user's document `index` is held out. This depends only on the arguments, so
    neither the order of the users nor the number of shards changes the split.
    """
    salt = b"" if by == "user" else b"%d" % index
    key = b"%d\0%s\0%s" % (seed, user.encode(), salt)
    draw = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
    return draw < fraction * 2.0**64
