"""Documents as messages of a chat: where a model's chat template puts them.

The tokens of the template around a document are context: no word needs them, and none of them is
scored.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from leakscope.records.artifacts import digest_of
from leakscope.records.errors import LeakscopeError

Role = Literal["assistant", "user"]
ROLES: tuple[Role, ...] = get_args(Role)
STAND_IN = "QxLeakscopeDocumentxQ"
"""A message that no template changes or has in itself, to see what it writes around one."""


class Placed(NamedTuple):
    """A document in the chat that the model reads."""

    text: str
    """The whole chat."""
    start: int
    """Where the document's first character is in it; what the template took from its beginning,
    white space only, would lie before the message."""
    inside: tuple[int, int]
    """The characters of the message."""
    altered: bool
    """Whether the template would have changed more than white space at the ends."""


@dataclass(frozen=True)
class Chat:
    """A chat template with a place for one document, made by `chat_of`."""

    tokenizer: Any
    role: Role
    head: str
    """What stands before the document."""
    tail: str
    """What stands behind it."""

    @property
    def digest(self) -> str:
        """Of all that decides what a document becomes."""
        template = self.tokenizer.get_chat_template()
        return digest_of([self.role, template, self.head, self.tail])

    def place(self, text: str) -> Placed:
        """The chat with a document as its last message, as the template renders it: it may take
        white space from the ends. A document that it would change otherwise is put in unchanged,
        since its words could not be found again, and marked `altered`.
        """
        rendered = _render(self.tokenizer, self.role, text)
        begin = len(self.head)
        kept = rendered[begin : len(rendered) - len(self.tail)]
        whole = rendered == self.head + kept + self.tail
        altered = not whole or kept not in text or kept.strip() != text.strip()
        if altered:
            kept = text
        inside = (begin, begin + len(kept))
        return Placed(self.head + kept + self.tail, begin - text.index(kept), inside, altered)


def chat_of(tokenizer: Any, role: str) -> Chat:
    """The chat template of a tokenizer, with documents in the messages of a role. Before an
    assistant's message there is an empty one of the user's, since many templates want that.
    """
    if role not in ROLES:
        raise LeakscopeError(f"--chat-template is one of {' or '.join(ROLES)}.")
    if not getattr(tokenizer, "chat_template", None):
        raise LeakscopeError(
            "This model has no chat template; leave out --chat-template, so that it reads plain "
            "text."
        )
    known: Role = "assistant" if role == "assistant" else "user"
    head, *rest = _render(tokenizer, known, STAND_IN).split(STAND_IN)
    if len(rest) != 1:
        raise LeakscopeError(
            f"The model's chat template does not show a message of the {role} just once; try the "
            "other role, or leave out --chat-template."
        )
    return Chat(tokenizer, known, head, rest[0])


def _render(tokenizer: Any, role: Role, text: str) -> str:
    message = {"role": role, "content": text}
    before = [{"role": "user", "content": ""}] if role == "assistant" else []
    try:
        rendered: str = tokenizer.apply_chat_template([*before, message], tokenize=False)
    except Exception:  # templates are programs: they raise anything, and may quote the text
        raise LeakscopeError(
            f"The model's chat template does not take a message of the {role} alone; try the "
            "other role, or leave out --chat-template."
        ) from None
    return rendered
