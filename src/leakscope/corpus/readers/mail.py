"""Mail: mbox files and maildir folders; each message without what it quotes."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from email.errors import MessageError
from email.message import Message
from pathlib import Path

from leakscope.corpus.letters.charset_guess import guess_text
from leakscope.corpus.letters.charsets import decode_known, is_known
from leakscope.corpus.letters.sender_keys import SenderKeys
from leakscope.corpus.letters.senders import Sender, sender_of
from leakscope.corpus.readers.bounded_message import (
    MOST_LINES,
    TooComplexError,
    parse_head,
    parse_message,
)
from leakscope.corpus.readers.byte_lines import MAX_RECORD, open_bytes
from leakscope.corpus.readers.html_text import html_text
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import (
    INVALID_UTF8,
    LINK_NOWHERE,
    LINK_OUTSIDE,
    MALFORMED,
    TOO_COMPLEX,
    TOO_LONG,
    Row,
)
from leakscope.records.errors import LeakscopeError
from leakscope.records.received_files import real_path

QUOTED = re.compile(r"\s*(?:[A-Z][A-Za-z]{0,3})?>")
SAID = r"\b(?:wrote|writes|schrieb|schreibt|a écrit|écrivait)\b[^:]{0,120}:$"
ATTRIBUTION = re.compile(rf"\s*(?:On|Am|Le|Den)\b.*\d.*{SAID}", re.IGNORECASE)
SAYS = re.compile(rf".*{SAID}", re.IGNORECASE)
FORWARDED = re.compile(
    r"\s*(?:-{3,}\s*(?:Original Message|Forwarded message|Forwarded by|"
    r"Original-?Nachricht|Ursprüngliche Nachricht|Weitergeleitete Nachricht|"
    r"Message d['’]origine|Message original|Message transféré)|Begin forwarded message)",
    re.IGNORECASE,
)
RULE = re.compile(r"\s*_{20,}\s*$")
AFTER_RULE = re.compile(
    r"\s*(?:From|Von|De)\s?:|.*(?:mailing list|unsubscribe|listinfo|https?://)", re.IGNORECASE
)
BROKEN = (
    MessageError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
)
"""What the standard parsers raise for some broken mail."""
GUESSED = "charset guessed"
NOT_AS_NAMED = "UTF-8, against the named charset"


def read_mbox(path: Path, settings: InputSettings, keys: SenderKeys | None = None) -> Iterator[Row]:
    """Yield a row for each message of an mbox file (.gz too): its sender and their own words.

    `keys` tell users by the senders of all inputs; without them, by those of this one.
    """
    known = SenderKeys(mbox_senders(path)) if keys is None else keys
    for raw in _messages(path):
        yield _row(raw, known)


def read_maildir(
    path: Path, settings: InputSettings, keys: SenderKeys | None = None
) -> Iterator[Row]:
    """Yield the messages of a maildir and of its subfolders, by folder and then by file name.

    A link that leads out of the maildir, or nowhere, gives a row that is set aside.
    """
    known = SenderKeys(maildir_senders(path)) if keys is None else keys
    for letter in _letters(path):
        yield letter if isinstance(letter, Row) else _row(letter, known)


def mbox_senders(path: Path) -> Iterator[Sender]:
    """Yield the sender of each message of an mbox file."""
    return _senders(_messages(path))


def maildir_senders(path: Path) -> Iterator[Sender]:
    """Yield the sender of each message of a maildir."""
    return _senders(letter for letter in _letters(path) if isinstance(letter, bytes))


def strip_reply(text: str) -> str:
    """Return what the sender wrote: no quotes, attributions, forwards, signature or list footer."""
    lines = text.splitlines()
    kept: list[str] = []
    full: list[int] = []  # places of the kept lines that are not blank
    quoting = False
    for number, line in enumerate(lines):
        if _ends_message(line, lines[number + 1 : number + 7]):
            break
        quoted = bool(QUOTED.match(line))
        if not quoted:
            if line.strip():
                full.append(len(kept))
            kept.append(line)
        elif not quoting:
            _drop_attribution(kept, full, before_quote=True)
        quoting = quoted
    _drop_attribution(kept, full, before_quote=False)
    return "\n".join(kept).strip()


def _ends_message(line: str, following: list[str]) -> bool:
    """Tell whether a line starts a signature, a forwarded message or a list footer."""
    if line in ("-- ", "--") or FORWARDED.match(line):
        return True
    return bool(RULE.match(line)) and any(AFTER_RULE.match(after) for after in following)


def _drop_attribution(kept: list[str], full: list[int], before_quote: bool) -> None:
    """Remove "On ... wrote:" from the end, be it one line or two; blank lines after it go too.

    Without a date, "Ann wrote:" is an attribution only if a quote follows.
    """
    end = full[-1] + 1 if full else 0
    last = [line.strip()[:500] for line in kept[max(end - 2, 0) : end]]
    if not last:
        return
    if ATTRIBUTION.match(last[-1]):
        end -= 1
    elif len(last) == 2 and re.search(r"\d", last[0]) and ATTRIBUTION.match(" ".join(last)):
        end -= 2
    elif before_quote and SAYS.match(last[-1]):
        end -= 1
    else:
        return
    del kept[end:]
    while full and full[-1] >= end:
        full.pop()


def _letters(path: Path) -> Iterator[bytes | Row | None]:
    """Yield the messages of a maildir: None for one over MAX_RECORD bytes, a row for a bad link."""
    if not ((path / "cur").is_dir() and (path / "new").is_dir()):
        raise LeakscopeError(f"{path} is not a maildir: name a folder that contains cur and new.")
    root = real_path(path)
    subfolders = sorted(f for f in path.glob(".*") if (f / "cur").is_dir() or (f / "new").is_dir())
    for folder in [path, *subfolders]:
        for part in (folder / "cur", folder / "new"):
            if part.is_dir() and not real_path(part).is_relative_to(root):
                yield Row(None, None, LINK_OUTSIDE)
                continue
            for file in sorted(part.iterdir()) if part.is_dir() else []:
                if file.is_symlink() and not real_path(file).is_relative_to(root):
                    yield Row(None, None, LINK_OUTSIDE)
                elif file.is_symlink() and not file.exists():
                    yield Row(None, None, LINK_NOWHERE)
                elif file.is_file() and not file.name.startswith("."):
                    with open_bytes(file) as stream:
                        raw = stream.read(MAX_RECORD + 1)
                    yield raw if len(raw) <= MAX_RECORD else None


def _messages(path: Path) -> Iterator[bytes | None]:
    """Yield each message without its "From " line; None for one over MAX_RECORD bytes."""
    parts: list[bytes] | None = None
    size, at_start, after_blank = 0, True, True
    with open_bytes(path) as stream:
        while line := stream.readline(1 << 20):
            if at_start and after_blank and line.startswith(b"From "):
                if parts is not None:
                    yield b"".join(parts) if size <= MAX_RECORD else None
                parts, size = [], 0
            elif parts is not None:
                size += len(line)
                if size > MAX_RECORD or len(parts) > MOST_LINES:
                    size = MAX_RECORD + 1
                    parts.clear()
                elif (
                    at_start and line[:1] == b">" and re.match(rb">+From ", line)
                ):  # escaped, not quoted
                    parts.append(line[1:])
                else:
                    parts.append(line)
            elif line.strip():
                raise LeakscopeError(
                    f'{path} does not start with a "From " line: name another --format.'
                )
            after_blank = at_start and not line.strip()
            at_start = line.endswith(b"\n")
    if parts is not None:
        yield b"".join(parts) if size <= MAX_RECORD else None


def _row(raw: bytes | None, keys: SenderKeys) -> Row:
    if raw is None:
        return Row(None, None, TOO_LONG)
    try:
        message = parse_message(raw)
        user, doubt = keys.key(sender_of(message.short_bytes))
        body, decoding = _body(message)
    except TooComplexError:
        return Row(None, None, TOO_COMPLEX)
    except UnicodeError:
        return Row(None, None, INVALID_UTF8)
    except BROKEN:
        return Row(None, None, MALFORMED)
    doubts = tuple(each for each in (doubt, decoding) if each is not None)
    return Row(user, None if body is None else strip_reply(body), doubts=doubts)


def _senders(letters: Iterable[bytes | None]) -> Iterator[Sender]:
    for raw in letters:
        sender = None
        with suppress(*BROKEN):  # `_row` sets it aside
            sender = None if raw is None else sender_of(parse_head(raw).short_bytes)
        if sender is not None:
            yield sender


def _body(message: Message) -> tuple[str | None, str | None]:
    """Return the first plain text part, else the first HTML part as text, else None; and what is
    doubtful about it.
    """
    parts = [part for part in _leaves(message) if part.get_content_disposition() != "attachment"]
    for part in parts:
        if part.get_content_type() == "text/plain":
            return _decode(part)
    for part in parts:
        if part.get_content_type() == "text/html":
            text, doubt = _decode(part)
            return html_text(text), doubt
    return None, None


def _leaves(message: Message) -> Iterator[Message]:
    """Yield the parts that hold content, but none of an attached message: others wrote those."""
    if message.get_content_maintype() == "message":
        return
    payload = message.get_payload()
    if isinstance(payload, list):
        for part in payload:
            if isinstance(part, Message):
                yield from _leaves(part)
    else:
        yield message


def _decode(part: Message) -> tuple[str, str | None]:
    """Decode a part with the charset that it names, else as UTF-8, else by a guess; and say what is
    doubtful. A UnicodeError means that none of these will do.
    """
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    named = part.get_content_charset() or "utf-8"
    doubt: str | None = None
    try:
        text = decode_known(data, "utf-8" if named in ("us-ascii", "ascii") else named)
        text.encode()  # some charsets can spell lone surrogates
    except UnicodeError:
        if data.isascii() and is_known(named):
            raise  # it is spelled in ASCII, and would be another text
        text, doubt = _undeclared(data)
    return text.replace("\r\n", "\n"), doubt


def _undeclared(data: bytes) -> tuple[str, str]:
    try:
        return data.decode(), NOT_AS_NAMED
    except UnicodeError:
        text = guess_text(data)
        if text is None:
            raise
        return text, GUESSED
