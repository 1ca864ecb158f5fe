"""`users.parquet`: a row for each user with training documents, in parts of so many rows."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from leakscope.leakage.counts.user_sizes import UserSizes
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences import tally_kernels as kernels
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.scratch_columns import slices_of
from leakscope.records.documents import FloatArray, IntArray, LongArray
from leakscope.records.runs.user_columns import users_schema

ROWS = 1 << 20  # of a part
_NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Owned:
    """Which user owns which unique sequence: p pairs."""

    owners: IntArray
    """[p] the user."""
    rows: LongArray
    """[p] the sequence's row, rising."""

    @staticmethod
    def of(counted: CountedSequences) -> "Owned":
        """All pairs of a run, each once. Most sequences have one owner, whichever occurrence tells;
        only what others own besides is gathered as pairs.
        """
        members, sequences = counted.members, counted.sequences
        first, more = np.full(len(sequences), -1, np.int32), np.zeros(0, np.int64)
        for here in slices_of(len(members)):
            rows, users = sequences.of_member[here], members.users[here]
            new = first[rows] < 0
            first[rows[new]] = users[new]
            others = sequences.unique[rows] & (first[rows] != users)
            if others.any():
                pairs = (rows[others].astype(np.int64) << 32) | users[others]
                more = np.union1d(more, pairs)
        unique = np.flatnonzero(sequences.unique)
        pairs = np.sort(np.concatenate([(unique << 32) | first[unique], more]))
        return Owned((pairs & 0xFFFFFFFF).astype(np.int32), pairs >> 32)


@dataclass(frozen=True)
class UserRows:
    """All that decides the rows of some users."""

    user: IntArray
    user_key: list[str] | None
    """None: they are withheld."""
    documents: LongArray
    words: LongArray
    occurrences: LongArray
    unique_sequences: LongArray
    confirmed_sequences: LongArray | None
    """None: nobody measured what is chance."""
    longest_unique: IntArray
    shortest_context: IntArray
    largest_ratio: FloatArray
    """Minus infinity where it is not known."""
    least_context: IntArray
    """The greatest number where it is not known."""
    pii: list[list[str]] | None


@dataclass(frozen=True)
class UserTable:
    """See `PartedTable`."""

    every: UserRows

    @staticmethod
    def of(
        counted: CountedSequences,
        findings: UniqueFindings,
        sizes: UserSizes,
        keys: dict[int, str] | None,
        audited: IntArray | None = None,
    ) -> "UserTable":
        """Of all users, of whom only some may be `audited`; `keys` are theirs by number, None if
        they are withheld.
        """
        owned, size = Owned.of(counted), len(sizes.documents)
        present = np.flatnonzero(sizes.documents)
        if audited is not None:
            present = present[np.isin(present, audited)]
        occurrences, shortest = _of_occurrences(size, counted)
        numbers = np.bincount(owned.owners, minlength=size)
        confirmed = _confirmed(size, owned, findings)
        return UserTable(
            UserRows(
                user=present.astype(np.int32),
                user_key=None if keys is None else [keys[user] for user in present.tolist()],
                documents=sizes.documents[present],
                words=sizes.words[present],
                occurrences=occurrences[present],
                unique_sequences=numbers[present],
                confirmed_sequences=None if confirmed is None else confirmed[present],
                longest_unique=_longest(size, owned, counted)[present],
                shortest_context=shortest[present],
                largest_ratio=_largest_ratio(size, owned, findings)[present],
                least_context=_least(size, owned, counted, findings)[present],
                pii=_kinds(present, owned, findings),
            )
        )

    @property
    def schema(self) -> pa.Schema:
        """See `user_columns`."""
        return users_schema()

    @property
    def parts(self) -> int:
        """Ranges of users."""
        return max(1, -(-len(self.every.user) // ROWS))

    def content(self, part: int) -> UserRows:
        """Of one range."""
        every = {field.name: getattr(self.every, field.name) for field in fields(UserRows)}
        here = slice(part * ROWS, (part + 1) * ROWS)
        cut: dict[str, Any] = {
            name: None if value is None else value[here] for name, value in every.items()
        }
        return UserRows(**cut)

    def rows(self, part: int) -> Iterator[pa.Table]:
        """A row for each user."""
        columns, schema = _columns(self.content(part)), self.schema
        yield pa.table([columns[name] for name in schema.names], schema=schema)


def _columns(found: UserRows) -> dict[str, pa.Array]:
    none = found.unique_sequences == 0

    def known(name: str, *, of_unique: bool = True) -> pa.Array:
        values, kind = getattr(found, name), users_schema().field(name).type
        if values is None:
            return pa.nulls(len(none), kind)
        return pa.array(values, kind, mask=none if of_unique else None)

    return {
        **{name: pa.array(getattr(found, name)) for name in _PLAIN},
        "user_key": known("user_key", of_unique=False),
        "confirmed_sequences": known("confirmed_sequences"),
        "longest_unique": known("longest_unique"),
        "shortest_context": known("shortest_context"),
        "largest_ratio": pa.array(found.largest_ratio, mask=found.largest_ratio == -np.inf),
        "least_context": pa.array(found.least_context, mask=found.least_context == _NEVER),
        "pii": _kinds_column(found),
    }


def _kinds_column(found: UserRows) -> pa.Array:
    if found.pii is None:
        return pa.nulls(len(found.user), pa.list_(pa.string()))
    some = found.unique_sequences > 0
    kinds = [each if own else None for own, each in zip(some, found.pii, strict=True)]
    return pa.array(kinds, pa.list_(pa.string()))


_PLAIN = ("user", "documents", "words", "occurrences", "unique_sequences")


def _of_occurrences(users: int, counted: CountedSequences) -> tuple[LongArray, IntArray]:
    """[n] how many occurrences each user has; [n] the shortest context of one that is of a unique
    sequence.
    """
    members, sequences = counted.members, counted.sequences
    found, shortest = np.zeros(users, np.int64), np.full(users, _NEVER, np.int32)
    unique = sequences.unique
    for here in slices_of(len(members)):
        owners, mine = members.users[here], unique[sequences.of_member[here]]
        kernels.count_each(owners, found)
        np.minimum.at(shortest, owners[mine], members.starts[here][mine])
    return found, shortest


def _confirmed(users: int, owned: Owned, findings: UniqueFindings) -> LongArray | None:
    line = findings.chance.value
    if line is None:
        return None
    return np.bincount(owned.owners[line.confirmed[owned.rows]], minlength=users)


def _longest(users: int, owned: Owned, counted: CountedSequences) -> IntArray:
    longest = np.zeros(users, np.int32)
    np.maximum.at(longest, owned.owners, counted.sequences.lengths[owned.rows])
    return longest


def _largest_ratio(users: int, owned: Owned, findings: UniqueFindings) -> FloatArray:
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


def _kinds(present: LongArray, owned: Owned, findings: UniqueFindings) -> list[list[str]] | None:
    """Of each present user the kinds of personal data that their sequences look like."""
    if findings.tags is None:
        return None
    kinds: dict[int, set[str]] = {}
    tagged = np.array(sorted(findings.tags), np.int64)
    known = np.isin(owned.rows, tagged)
    pairs = zip(owned.owners[known].tolist(), owned.rows[known].tolist(), strict=True)
    for owner, row in pairs:
        kinds.setdefault(owner, set()).update(findings.tags[row])
    return [sorted(kinds.get(user, ())) for user in present.tolist()]
