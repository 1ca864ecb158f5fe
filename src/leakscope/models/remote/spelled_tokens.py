"""Where an endpoint's tokens are in the prompt, from how it spells them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leakscope.models.alignment import Span

LONGEST = 256
"""ASCII characters that tokens without a spelling may fill, at most."""
TRIES = 10_000
"""Places that are tried for them in one text, at most."""


@dataclass
class _Choice:
    """Tokens `index` to `stop` have no spelling; they begin at `place` and end at one of `ends`."""

    index: int
    stop: int
    place: int
    ends: Iterator[int]


def locate(tokens: Sequence[str], text: str) -> list[Span] | None:
    """The spans of the tokens that spell `text`, one after the other; tokens behind its end have
    none. None: they do not spell it.

    The first token may have a leading space that the text has not (SentencePiece). Tokens that
    are part of a character cannot be spelled: servers give nothing, a replacement character or
    `bytes:` for them, and nothing for some very long ones. They fill what lies before the next
    token that is spelled, as little as makes the others fit; where it is not clear which of them
    belongs to which of several characters, each is taken to belong to all.
    """
    found: list[Span] = []
    open_choices: list[_Choice] = []
    place, tries = 0, 0
    while place < len(text):
        index = len(found)
        token = tokens[index] if index < len(tokens) else None
        if token is not None and not is_unspelled(token):
            if index == 0 and token[:1] == " " and not text.startswith(token):
                token = token[1:]
            if text.startswith(token, place):
                found.append((place, place + len(token)))
                place += len(token)
                continue
        elif token is not None:
            stop = index
            while stop < len(tokens) and is_unspelled(tokens[stop]):
                stop += 1
            following = tokens[stop] if stop < len(tokens) else None
            ends = _ends(text, place, stop - index, following)
            open_choices.append(_Choice(index, stop, place, ends))
        # Go on with the next end of the last tokens that have one left.
        while open_choices and tries < TRIES:
            choice = open_choices[-1]
            end = next(choice.ends, None)
            tries += 1
            if end is not None:
                count = choice.stop - choice.index
                found[choice.index :] = _shared(text, choice.place, end, count)
                place = end
                break
            open_choices.pop()
        else:
            return None
    return found


def is_unspelled(token: str) -> bool:
    """Whether a token is not spelled out."""
    return not token or "\ufffd" in token or token.startswith("bytes:")


def _ends(text: str, place: int, count: int, following: str | None) -> Iterator[int]:
    """Where `count` tokens without a spelling may end: at first where all of them are parts of
    characters beyond ASCII, each at least a byte.
    """
    size, likely = 0, []
    for at in range(place, len(text)):
        if text[at].isascii() and not (at == place and text[at] == " "):
            break
        size += len(text[at].encode("utf-8", "surrogatepass"))
        if size >= count:
            likely.append(at + 1)
    few = set(likely)
    near = range(place, min(len(text), place + LONGEST) + 1)
    others = [end for end in near if end not in few]
    for end in (*likely, *others):
        if end == len(text) or (following is not None and text.startswith(following, end)):
            yield end


def _shared(text: str, place: int, end: int, count: int) -> list[Span]:
    """The spans of `count` tokens without a spelling that fill text[place:end]."""
    owners = [
        at for at in range(place, end) for _ in text[at].encode("utf-8", "surrogatepass")
    ]  # the character of each byte
    if len(owners) == count:
        return [(at, at + 1) for at in owners]
    return [(place, end)] * count
