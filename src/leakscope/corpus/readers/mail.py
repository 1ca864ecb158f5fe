"""Mail: mbox files and maildir folders; each message without what it quotes."""

import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses
from pathlib import Path

from leakscope.corpus.readers.bounded_message import (
    MOST_LINES,
    BoundedMessage,
    TooComplexError,
    parse_message,
)
from leakscope.corpus.readers.byte_lines import MAX_RECORD, open_bytes
from leakscope.corpus.readers.charsets import decode_known, is_known
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
AT = re.compile(r"(?<!\s)\s*+(?<![^\s<>\"])([^\s<>\"]++) at ([^\s<>\"]+\.[^\s<>\"]+)")


def read_mbox(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a row for each message of an mbox file (.gz too): sender's address and own words."""
    yield from map(_row, _messages(path))


def read_maildir(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the messages of a maildir and of its subfolders, by folder and then by file name.

    A link that leads out of the maildir, or nowhere, gives a row that is set aside.
    """
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
                    yield _row(raw if len(raw) <= MAX_RECORD else None)


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


def _row(raw: bytes | None) -> Row:
    if raw is None:
        return Row(None, None, TOO_LONG)
    try:
        message = parse_message(raw)
        user, body = _sender(message), _body(message)
    except TooComplexError:
        return Row(None, None, TOO_COMPLEX)
    except UnicodeError:
        return Row(None, None, INVALID_UTF8)
    except (MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError):
        return Row(None, None, MALFORMED)  # the standard parsers trip over some broken mail
    except RecursionError:
        return Row(None, None, MALFORMED)
    return Row(user, None if body is None else strip_reply(body))


def _sender(message: BoundedMessage) -> str | None:
    """Return the first address of From in lower case, or None; "ann at site.org" counts too."""
    raw = message.short("From")
    try:
        pieces = decode_header(raw)
        known = all(charset is None or is_known(charset) for _, charset in pieces)
        decoded = str(make_header(pieces)) if known else ""
    except (MessageError, ValueError, LookupError):
        decoded = ""
    # The raw header goes first: a decoded name may hold a comma, which would end the address.
    for header in (raw, decoded):
        plain = AT.sub(r"\1@\2", header)  # list archives hide addresses in this way
        for _, address in getaddresses([plain]):
            if "\ufffd" in address:  # two broken addresses must not become one user
                raise UnicodeError("undecodable address")
            if "@" in address:
                return address.lower()
    return None


def _body(message: Message) -> str | None:
    """Return the first plain text part, else the first HTML part as text, else None."""
    parts = [part for part in _leaves(message) if part.get_content_disposition() != "attachment"]
    for part in parts:
        if part.get_content_type() == "text/plain":
            return _decode(part)
    for part in parts:
        if part.get_content_type() == "text/html":
            return html_text(_decode(part))
    return None


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


def _decode(part: Message) -> str:
    """Decode a part with its charset; an unknown one is a UnicodeError, as are bad bytes."""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or "utf-8"
    text = decode_known(data, "utf-8" if charset in ("us-ascii", "ascii") else charset)
    text.encode()  # some charsets can spell lone surrogates
    return text.replace("\r\n", "\n")
