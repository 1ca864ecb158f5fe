"""The users that a report is about, if it is not about all of them."""

from pathlib import Path

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.corpus.user_keys import numbers_of, read_keys
from leakscope.records.artifacts import digest_of
from leakscope.records.documents import IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import AuditedUsers


def chosen_users(path: Path, corpus: Corpus) -> IntArray:
    """The numbers of the users whose keys a file has, rising; raise if it has a key of nobody."""
    keys = read_keys(path)
    if not keys:
        raise LeakscopeError(f"{path} has no user key; put one on each line.")
    known = numbers_of(corpus, keys)
    unknown = [place for place, key in enumerate(keys) if key not in known]
    if unknown:
        raise LeakscopeError(
            f"{len(unknown):,} of {len(keys):,} keys in {path} are of no user of {corpus.path}, "
            f"the first is key {unknown[0] + 1:,}; write them as the corpus does, or leave them "
            f"out."
        )
    return np.array(sorted(set(known.values())), np.int32)


def record_of(users: IntArray | None) -> AuditedUsers | None:
    """What the settings say of them; None: all users are audited."""
    return None if users is None else AuditedUsers(len(users), digest_of(users.tolist()))
