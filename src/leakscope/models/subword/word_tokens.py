"""Documents as a sub-word model reads them: their original text in the model's own tokens."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leakscope.models.alignment import Alignment, Span, align, concatenate, outside
from leakscope.models.document_texts import texts_of
from leakscope.models.subword.chat_template import Chat
from leakscope.records.documents import BoolArray, Documents, LongArray
from leakscope.records.ragged import offsets_of


@dataclass(frozen=True)
class Tokens:
    """Documents in tokens; n documents, p positions. A position is a token that is predicted from
    the tokens before it; its input is `stream` one step earlier.
    """

    stream: LongArray
    """The tokens of all documents, each document's behind its start token if there is one."""
    starts: LongArray
    """[n + 1] document i reads stream[starts[i]] to stream[starts[i + 1]]."""
    offsets: LongArray
    """[n + 1] document i has positions offsets[i] to offsets[i + 1]."""
    labels: LongArray
    """[p] the token at each position."""
    alignment: Alignment
    """Of the positions with all words of the documents."""
    unknown: BoolArray
    """[p] the token stands for characters that the tokenizer does not know."""
    never: BoolArray
    """[w] words that cannot be correct: no token, an unknown or a special one, or a first token
    that nothing precedes."""

    def last_inputs(self) -> LongArray:
        """[n] which input of each document is the last token that a word needs: its first input
        if no word needs any, and -1 if it has none.
        """
        sizes = np.diff(self.starts)
        found = np.where(sizes > 0, 0, -1)
        needed = np.flatnonzero(self.alignment.counted())
        owner = np.searchsorted(self.offsets, needed, side="right") - 1
        # A position's own token is the input behind the one that predicts it.
        np.maximum.at(found, owner, needed - self.offsets[owner] + 1)
        return found


@dataclass(frozen=True)
class WordTokenizer:
    """A fast Hugging Face tokenizer that says where its tokens are among words."""

    tokenizer: Any
    spelling: Sequence[str] | None = None
    """The words by lexicon id, for documents without texts: they are joined by single spaces."""
    chat: Chat | None = None
    """The chat that every document is a message of; None: documents are plain texts."""

    @cached_property
    def start(self) -> int | None:
        """What the first token is predicted from: the begin mark, or the end mark (as GPT-2 has
        it); None if there is neither, and then the first token is never correct.
        """
        begin, end = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        found = begin if begin is not None else end
        return None if found is None else int(found)

    @property
    def lead(self) -> list[int]:
        """The start token, where a text is read behind one: a chat brings its own."""
        return [] if self.start is None or self.chat is not None else [self.start]

    @cached_property
    def unknown(self) -> int | None:
        """The token for unknown characters, unless it doubles as a mark."""
        found = self.tokenizer.unk_token_id
        if found is None:
            found = _unknown_of(self.tokenizer.backend_tokenizer)
        marks = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        return None if found is None or found in marks else int(found)

    @cached_property
    def special(self) -> LongArray:
        """The ids of special tokens, rising, without the unknown one."""
        added = self.tokenizer.added_tokens_decoder.items()
        found = {id for id, token in added if token.special} | set(self.tokenizer.all_special_ids)
        return np.array(sorted(found - {self.unknown}), np.int64)

    def plain_ids(self, text: str) -> list[int]:
        """The tokens of a text alone, with nothing before it."""
        return [int(id) for id in self._encode([text])["input_ids"][0]]

    def ids(self, text: str) -> list[int]:
        """The tokens of a text, behind the start token if there is one; in a chat, behind what
        the template writes before it.
        """
        return self.all_ids([text])[0]

    def all_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The same of many texts."""
        before = "" if self.chat is None else self.chat.head
        lead, encoded = self.lead, self._encode([before + text for text in texts])
        return [[*lead, *found] for found in encoded["input_ids"]]

    def read(self, documents: Documents) -> Tokens:
        """All documents in tokens, aligned with their words."""
        texts, places = texts_of(documents, self.spelling)
        insides: list[Span | None] = [None] * len(texts)
        if self.chat is not None:
            placed = [self.chat.place(text) for text in texts]
            texts, insides = [each.text for each in placed], [each.inside for each in placed]
            places = [
                [(each.start + begin, each.start + end) for begin, end in words]
                for each, words in zip(placed, places, strict=True)
            ]
        encoded = self._encode(texts)
        lead = self.lead
        streams: list[LongArray] = []
        labels: list[LongArray] = []
        parts: list[Alignment] = []
        never: list[BoolArray] = []
        for words, inside, found, offsets in zip(
            places, insides, encoded["input_ids"], encoded["offset_mapping"], strict=True
        ):
            ids = np.array(found, np.int64)
            around = outside(offsets, inside)
            marks = np.isin(ids, self.special) & ~around
            part = align(words, offsets, marks | around)
            never.append(self._never(words, ids, offsets, marks, part))
            scored = slice(1 - len(lead), None)  # without a start token the first has no position
            streams.append(np.array([*lead, *found], np.int64))
            labels.append(ids[scored])
            parts.append(Alignment(part.first[scored], part.stop[scored], len(words)))
        flat = np.concatenate([np.zeros(0, np.int64), *labels])
        return Tokens(
            stream=np.concatenate([np.zeros(0, np.int64), *streams]),
            starts=_offsets(streams),
            offsets=_offsets(labels),
            labels=flat,
            alignment=concatenate(parts),
            unknown=flat == (-1 if self.unknown is None else self.unknown),
            never=np.concatenate([np.zeros(0, np.bool_), *never]),
        )

    def _never(
        self,
        words: Sequence[Span],
        ids: LongArray,
        offsets: Sequence[Span],
        marks: BoolArray,
        part: Alignment,
    ) -> BoolArray:
        """[w] see `Tokens.never`, of one document."""
        bad = ids == (-1 if self.unknown is None else self.unknown)
        if not self.lead:
            bad[:1] = True
        never = ~part.any_of(np.ones(len(ids), np.bool_)) | part.any_of(bad)
        if marks.any():  # words that the text of a special token covers
            spelled = [offsets[index] for index in np.flatnonzero(marks).tolist()]
            covered = align(words, spelled, np.zeros(len(spelled), np.bool_))
            never |= covered.any_of(np.ones(len(spelled), np.bool_))
        return never

    def _encode(self, texts: list[str]) -> Any:
        if not texts:
            return {"input_ids": [], "offset_mapping": []}
        return self.tokenizer(
            texts,
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            truncation=False,
            padding=False,
            verbose=False,
        )


def _offsets(parts: Sequence[LongArray]) -> LongArray:
    return offsets_of(np.array([len(part) for part in parts], np.int64))


def _unknown_of(backend: Any) -> int | None:
    """The unknown token of a `tokenizers` model, which a wrapper may not have been told of."""
    model = backend.model
    if type(model).__name__ == "Unigram":  # it does not give the id away otherwise
        found = json.loads(backend.to_str())["model"].get("unk_id")
        return None if found is None else int(found)
    spelled = getattr(model, "unk_token", None)
    found = None if spelled is None else backend.token_to_id(spelled)
    return None if found is None else int(found)
