"""The lines of a ledger: how they are chained, and what a file of them says has been spent.

Every line ends with a digest over the digest of the line before and its own bytes, so none can be
changed, taken out, repeated or moved without all that follow being wrong. An opening also binds
whatever stands between the last good line and itself: the bytes of a line that a crash has torn,
or all lines of a ledger of format 1, which had no digests.
"""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from leakscope.records.artifacts import check
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.ledger_terms import Terms

FORMAT, UNCHAINED = 2, 1
_CHAINED = re.compile(rb'(\{.*),"chain":"([0-9a-f]{32})"\}', re.DOTALL)
_WHOLE = re.compile(rb'"chain":"[0-9a-f]{32}"\}')
_OPENING = b'{"l'
"""What no other line begins with."""


class Opening(BaseModel):
    """A line that begins a training or resumes it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ledger: int
    done: int
    """Steps in the checkpoint that it goes on from."""
    terms: Terms


class Step(BaseModel):
    """A line for a step about to be taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spent: int
    """Steps spent with this one, also those lost in crashes: 1, 2, 3, ..."""
    step: int
    """The training's own number of the step, from 0."""


_LINE: TypeAdapter[Opening | Step] = TypeAdapter(Opening | Step)


@dataclass
class Past:
    """What a ledger says so far."""

    periods: list[tuple[Terms, int]] = field(default_factory=list)
    """Steps spent under the same terms, in order; terms are those of the steps themselves."""
    opened: Terms | None = None
    """The terms of the last opening, with their schedules."""
    next_step: int = 0
    """The training's number of the step that would come next without a crash."""
    chain: bytes = b""
    """The digest of the last chained line; empty: there is none."""
    unbound: bytes = b""
    """What stands after that line, for the next opening to bind."""
    unended: bool = False
    """Whether the last line has no end."""
    heads: set[str] = field(default_factory=set)
    """The digests of all chained lines."""

    @property
    def spent(self) -> int:
        """Steps begun so far, those lost in crashes included."""
        return sum(steps for _, steps in self.periods)

    def open(self, opening: Opening) -> None:
        """A training begins or goes on under the opening's terms."""
        self.opened, self.next_step = opening.terms, opening.done

    def add_step(self, step: int) -> None:
        """The training's step number `step` counts as spent."""
        if self.opened is None:
            return  # the very first line was torn: no step can have begun
        terms = self.opened.at(step)
        if not self.periods or self.periods[-1][0] != terms:
            self.periods.append((terms, 0))
        self.periods[-1] = (terms, self.periods[-1][1] + 1)
        self.next_step = step + 1

    def linked(self, line: BaseModel) -> tuple[bytes, bytes]:
        """The bytes of a line that goes on with the chain, its end included, and its digest; see
        `link`.
        """
        body = line.model_dump_json(exclude_none=True).encode()[:-1]
        end = b"\n" if self.unended else b""
        digest = _digest(self.chain, self.unbound + (end if self.unbound else b""), body)
        return end + body + b',"chain":"' + digest.hex().encode() + b'"}\n', digest

    def link(self, digest: bytes) -> None:
        """The line of this digest is now the last one."""
        self.chain, self.unbound, self.unended = digest, b"", False
        self.heads.add(digest.hex())


def read_ledger(path: Path) -> Past:
    """Read a ledger. A last line cut short by a crash counts as a step; whatever else cannot be
    read, is out of order or does not continue the chain means that the file was changed. That of a
    finished training is sealed.
    """
    check(path)
    *lines, last = path.read_bytes().split(b"\n")
    past, between, before = Past(), list[bytes](), hashlib.blake2b(digest_size=16)
    for line in [*lines, last] if last else lines:
        found = _next_in_chain(before, line)
        if found is None:
            between.append(line)
            before.update(line + b"\n")
            continue
        if between or not past.heads:
            if not isinstance(found, Opening):  # nothing else binds what does not belong
                raise edited(path)
            _add_between(path, past, between)
        past.link(_head(line))
        _add(path, past, found)
        between, before = [], hashlib.blake2b(past.chain, digest_size=16)
    if between:
        if past.heads and not last:
            raise edited(path)  # a torn line has no end before an opening follows
        _add_between(path, past, between)
        past.unbound = b"\n".join(between) + (b"" if last else b"\n")
    past.unended = bool(last)
    return past


def edited(path: Path) -> LeakscopeError:
    """The error for a ledger that nobody can rely on."""
    return LeakscopeError(
        f"{path} is damaged or was changed, so what the training has spent is not known; train "
        f"anew into another --out."
    )


def _digest(chain: bytes, between: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(chain + between + body, digest_size=16).digest()


def _head(line: bytes) -> bytes:
    return bytes.fromhex(line[-34:-2].decode())


def _next_in_chain(before: "hashlib.blake2b", line: bytes) -> Opening | Step | None:
    """A line that continues the chain, of which `before` has digested what it binds; None if it
    does not.
    """
    found = _CHAINED.fullmatch(line)
    if found is None:
        return None
    bound = before.copy()
    bound.update(found[1])
    return _parsed(found[1] + b"}") if bound.hexdigest().encode() == found[2] else None


def _add(path: Path, past: Past, line: Opening | Step) -> None:
    if isinstance(line, Opening):
        _check_format(path, line, FORMAT)
        past.open(line)
    elif line.spent == past.spent + 1 and line.step == past.next_step:
        past.add_step(line.step)
    else:
        raise edited(path)


def _add_between(path: Path, past: Past, lines: list[bytes]) -> None:
    """Count what stands outside the chain: the lines of format 1, if no line is chained before
    them; else one line that a crash has torn.
    """
    if not past.heads:
        _add_unchained(path, past, lines)
        return
    torn = lines[0].rstrip(b"\0")  # as some disks fill up what was lost
    step, _ = past.linked(Step(spent=past.spent + 1, step=past.next_step))
    if len(lines) == 1 and step.startswith(torn):
        past.add_step(past.next_step)
    elif len(lines) > 1 or not torn.startswith(_OPENING) or _WHOLE.search(torn):
        raise edited(path)  # else an opening is torn, after which no step was begun


def _add_unchained(path: Path, past: Past, lines: list[bytes]) -> None:
    """Count the lines of format 1. Only the last line of a process can be torn: the next one is an
    opening, or there is none.
    """
    parsed = [_parsed(line) for line in lines]
    for i, line in enumerate(parsed):
        if isinstance(line, Opening):
            _check_format(path, line, UNCHAINED)
            past.open(line)
        elif isinstance(line, Step):
            if past.opened is None or line.spent != past.spent + 1:
                raise edited(path)
            past.add_step(line.step)
        elif i + 1 == len(parsed) or isinstance(parsed[i + 1], Opening):
            past.add_step(past.next_step)
        else:
            raise edited(path)


def _check_format(path: Path, opening: Opening, known: int) -> None:
    if opening.ledger != known:
        raise LeakscopeError(f"{path} has a format that this version cannot read.")


def _parsed(line: bytes) -> Opening | Step | None:
    try:
        return _LINE.validate_json(line)
    except ValidationError:
        return None
