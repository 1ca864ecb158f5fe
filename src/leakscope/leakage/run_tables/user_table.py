"""Write `users.parquet`: a row for each user with training documents."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.leakage.counts.user_sizes import UserSizes
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.scratch_columns import slices_of
from leakscope.records.artifacts import write_parquet
from leakscope.records.documents import BoolArray, IntArray, LongArray
from leakscope.records.runs.user_columns import users_schema

_NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Owned:
    """Which user owns which unique sequence: p pairs, each once, by user."""

    owners: LongArray
    """[p] the user."""
    rows: LongArray
    """[p] the sequence's row."""

    @staticmethod
    def of(counted: CountedSequences) -> "Owned":
        """All pairs of a run."""
        members, sequences = counted.members, counted.sequences
        found, unique = [np.zeros(0, np.int64)], sequences.unique
        for here in slices_of(len(members)):
            rows, users = sequences.of_member[here], members.users[here].astype(np.int64)
            mine = unique[rows]
            found.append(np.unique((users[mine] << 32) | rows[mine]))
        owned = np.unique(np.concatenate(found))
        return Owned(owned >> 32, owned & 0xFFFFFFFF)


def write_users(
    path: Path,
    counted: CountedSequences,
    findings: UniqueFindings,
    sizes: UserSizes,
    keys: dict[int, str] | None,
    audited: IntArray | None = None,
) -> None:
    """One row for each user, of whom only some may be `audited`; `keys` are theirs by number, None
    if they are withheld.
    """
    users, owned = len(sizes.documents), Owned.of(counted)
    present = np.flatnonzero(sizes.documents)
    if audited is not None:
        present = present[np.isin(present, audited)]
    numbers = np.bincount(owned.owners, minlength=users)
    none = numbers[present] == 0
    longest = np.zeros(users, np.int32)
    np.maximum.at(longest, owned.owners, counted.sequences.lengths[owned.rows])
    ratio, least = _largest_ratio(users, owned, findings), _least(users, owned, counted, findings)
    spelled = None if keys is None else [keys[int(user)] for user in present]
    columns = {
        "user": pa.array(present, pa.int32()),
        "user_key": pa.array(spelled, pa.string())
        if spelled
        else pa.nulls(len(present), pa.string()),
        "documents": pa.array(sizes.documents[present]),
        "words": pa.array(sizes.words[present]),
        "occurrences": pa.array(_occurrences(users, counted)[present]),
        "unique_sequences": pa.array(numbers[present]),
        "confirmed_sequences": _confirmed(users, owned, findings, present, none),
        "longest_unique": pa.array(longest[present], mask=none),
        "shortest_context": pa.array(_shortest_context(users, counted)[present], mask=none),
        "largest_ratio": pa.array(ratio[present], mask=ratio[present] == -np.inf),
        "least_context": pa.array(least[present], mask=least[present] == _NEVER),
        "pii": _kinds(present, none, owned, findings),
    }
    schema = users_schema()
    write_parquet(path, pa.table([columns[name] for name in schema.names], schema=schema))


def _confirmed(
    users: int, owned: Owned, findings: UniqueFindings, present: LongArray, none: BoolArray
) -> pa.Array:
    line = findings.chance.value
    if line is None:
        return pa.nulls(len(present), pa.int64())
    found = np.bincount(owned.owners[line.confirmed[owned.rows]], minlength=users)
    return pa.array(found[present], mask=none)


def _shortest_context(users: int, counted: CountedSequences) -> IntArray:
    members, sequences = counted.members, counted.sequences
    shortest, unique = np.full(users, _NEVER, np.int32), sequences.unique
    for here in slices_of(len(members)):
        mine = unique[sequences.of_member[here]]
        np.minimum.at(shortest, members.users[here][mine], members.starts[here][mine])
    return shortest


def _occurrences(users: int, counted: CountedSequences) -> LongArray:
    found = np.zeros(users, np.int64)
    for here in slices_of(len(counted.members)):
        found += np.bincount(counted.members.users[here], minlength=users)
    return found


def _largest_ratio(
    users: int, owned: Owned, findings: UniqueFindings
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    ratio = np.full(users, -np.inf, np.float32)
    if findings.ratios is not None:
        np.maximum.at(ratio, owned.owners, findings.ratios.of_sequence[owned.rows])
    return ratio


def _least(
    users: int, owned: Owned, counted: CountedSequences, findings: UniqueFindings
) -> IntArray:
    least_of, _ = findings.least_of(len(counted.sequences))
    least = np.full(users, _NEVER, np.int32)
    known = least_of[owned.rows] >= 0
    np.minimum.at(least, owned.owners[known], least_of[owned.rows[known]])
    return least


def _kinds(present: LongArray, none: BoolArray, owned: Owned, findings: UniqueFindings) -> pa.Array:
    tags = findings.tags
    if tags is None:
        return pa.nulls(len(present), pa.list_(pa.string()))
    kinds: dict[int, set[str]] = {}
    for owner, row in zip(owned.owners.tolist(), owned.rows.tolist(), strict=True):
        if row in tags:
            kinds.setdefault(owner, set()).update(tags[row])
    listed = [
        None if absent else sorted(kinds.get(user, ()))
        for user, absent in zip(present.tolist(), none.tolist(), strict=True)
    ]
    return pa.array(listed, pa.list_(pa.string()))
