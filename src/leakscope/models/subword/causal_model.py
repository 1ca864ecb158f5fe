"""A Hugging Face causal network as a `LanguageModel`: it reads original texts in its own tokens
and answers in words.

A word's rank is the largest of the tokens that it needs, so that it is correct when all of them
are; its log-probability, and that of the top entries, is the sum over the tokens that it counts
(see `alignment`). What cannot be asked (a word without tokens, special tokens, a first token that
nothing precedes) counts as certain where every log-probability is asked for, so that the true
surprise is larger; it is never correct.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from leakscope.corpus.lexicon import Lexicon
from leakscope.models.carried_prefixes import CarriedPrefixes, Carrier, Choices, read_prefixes
from leakscope.models.interface import Distribution, NextWords, Prefix
from leakscope.models.ranking.logit_slices import slices
from leakscope.models.ranking.score_sheet import ScoreSheet
from leakscope.models.ranking.windows import first_input
from leakscope.models.subword.batch_memory import BatchMemory
from leakscope.models.subword.carried_tokens import carrier_of
from leakscope.models.subword.chat_template import chat_of
from leakscope.models.subword.float64_copy import Float64Mode, causal_noise, in_float64
from leakscope.models.subword.output_heads import Head, head_like
from leakscope.models.subword.soundness import check_tokenizer, sound_head
from leakscope.models.subword.token_spelling import Entries, entries_of
from leakscope.models.subword.window_reader import Padding, WindowReader
from leakscope.models.subword.word_scores import deciding_tokens, to_word_scores, words_in_doubt
from leakscope.models.subword.word_search import search_words
from leakscope.models.subword.word_tokens import Tokens, WordTokenizer
from leakscope.records.documents import (
    BoolArray,
    Documents,
    FloatArray,
    IntArray,
    LongArray,
    Scores,
)
from leakscope.records.errors import LeakscopeError

CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 2048, 16_384
SETTLE_PARAMETERS = 50_000_000


@dataclass(frozen=True)
class CausalModel:
    """A `LanguageModel` made by `causal_model`; the network's weights must not change while it
    lives, since a float64 copy is kept.
    """

    needs_text: ClassVar[bool] = True

    network: Any
    """The `transformers` network, without dropout."""
    tokenizer: WordTokenizer
    head: Head
    noise: float
    """How far apart two logits must be, relative to their size, to be told apart."""
    context: int | None = None
    """Tokens that the network can read; longer documents are cut as `windows` says: the window
    moves on by half a context, and each token is predicted once."""
    batch_tokens: int | None = None
    """Tokens read at a time at most, padding included; None: what suits the device. Where memory
    runs out they are halved."""
    padding: Padding = "right"
    settle_parameters: int = SETTLE_PARAMETERS
    """Networks with more parameters than this are not copied to float64: their decisions within
    float noise stay what their own precision says, and stay flagged."""

    def reading(self, lexicon: Lexicon) -> "CausalModel":
        """This model, reading documents without texts as the lexicon's words and single spaces."""
        return replace(self, tokenizer=replace(self.tokenizer, spelling=lexicon.words))

    def chatting(self, role: str) -> "CausalModel":
        """This model, reading every document as a message of its chat template."""
        chat = chat_of(self.tokenizer.tokenizer, role)
        return replace(self, tokenizer=replace(self.tokenizer, chat=chat))

    @property
    def predicts_first(self) -> bool:
        """Whether the first token of a document can be correct: a mark or a chat is before it."""
        return bool(self.tokenizer.ids(""))

    @torch.inference_mode()
    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """See `LanguageModel.score`. Decisions within float noise are settled in float64, so that
        neither batches nor padding can change them. `top_log_prob` is the sum of the top entries'
        log-probabilities over the word's tokens, each given the true tokens before it.
        """
        tokens = self._read(documents)
        sheet = ScoreSheet(tokens.offsets, tokens.labels, top_k)
        asked = tokens.alignment.counted() if every_probability else deciding_tokens(tokens)

        def rank(places: LongArray, states: Tensor) -> None:
            labels = self._tensor(tokens.labels[places])
            ranked = self.head.rank(states, labels, top_k, self.noise, every_probability)
            sheet.fill(places, ranked, tokens.unknown[places])
            if not self._settles:  # the states are at hand: decide by them
                near = np.flatnonzero(sheet.near_tie[places])
                self._decide(sheet, places[near], states[self._tensor(near)])

        self._reader.each(tokens, asked, rank)
        doubts = words_in_doubt(tokens, sheet)
        if self._settles and sheet.near_tie.any():
            self.precise._settle(tokens, sheet)
        return to_word_scores(tokens, sheet, doubts, every_probability)

    @torch.inference_mode()
    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """See `LanguageModel.log_probs`: documents are read no further than needed, and the
        output layer is computed for the wanted words' tokens alone.
        """
        tokens = self._read(documents)
        found = np.zeros(len(tokens.labels), np.float32)
        mine = tokens.alignment.counted()
        mine[mine] = wanted[tokens.alignment.first[mine]]

        def look_up(places: LongArray, states: Tensor) -> None:
            labels = self._tensor(tokens.labels[places])[:, None]
            for rows in slices(len(places), self.head.vocabulary):
                logits = self.head.logits(states[rows])
                logs = logits.gather(1, labels[rows]).squeeze(1) - torch.logsumexp(logits, 1)
                found[places[rows]] = logs.cpu().numpy()

        self._reader.each(tokens, mine, look_up)
        return tokens.alignment.sums_of(found)[wanted].astype(np.float32)

    def knows(self, ids: IntArray) -> BoolArray | None:
        """See `LanguageModel.knows`: tokens spell any word, so it does not tell."""
        return None

    @torch.inference_mode()
    def hidden_states(self, documents: Documents) -> FloatArray | None:
        """See `LanguageModel.hidden_states`: that of the last token which a word needs; NaN for a
        document in which there is nothing to read.
        """
        tokens = self._read(documents)
        return self._reader.hidden_at(tokens, tokens.last_inputs())

    def next(self, prefix: Prefix) -> Distribution:
        """The distribution of the *token* after the words of `prefix` joined by single spaces."""
        return self.after(self.tokenizer.ids(" ".join(prefix)))

    def begin(self, prefixes: Sequence[Prefix]) -> CarriedPrefixes:
        """See `LanguageModel.begin`: entries are tokens. Keys and values are carried; networks
        without a plain cache of them read every prefix again.
        """
        return self.begin_tokens(self.tokenizer.all_ids([" ".join(words) for words in prefixes]))

    def begin_tokens(self, prefixes: Sequence[Sequence[int]]) -> CarriedPrefixes:
        """The same after tokens, the start token included."""
        for ids in prefixes:
            self._check_prefix(ids)
        known = self.entries
        choices = Choices(known.spelled, known.words, known.words, known.ids)
        return read_prefixes(self._carrier, choices, prefixes)

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """See `LanguageModel.next_words`, found by a search over tokens: see `word_search`."""
        return search_words(self, prefixes, count)

    @torch.inference_mode()
    def after(self, ids: Sequence[int]) -> Distribution:
        """The distribution of the token after tokens, the start token included, over `entries`:
        special tokens come last.
        """
        self._check_prefix(ids)
        seen = ids[first_input(len(ids) - 1, self.context) :]
        inputs = torch.tensor([seen], device=self.head.device)
        positions = torch.arange(len(seen), device=self.head.device)[None]
        states = self.head.states(inputs, torch.ones_like(inputs), positions)
        log_probs = torch.log_softmax(self.head.logits(states[0, -1:]), 1)[0].cpu().numpy()
        known = self.entries
        return Distribution(known.spelled, known.words, log_probs[known.ids])

    @cached_property
    def precise(self) -> "CausalModel":
        """The same model in float64."""
        network = in_float64(self.network)
        return replace(self, network=network, head=head_like(self.head, network))

    @cached_property
    def entries(self) -> Entries:
        """What the model chooses from, spelled for people."""
        return entries_of(self.tokenizer, self.head.vocabulary)

    @property
    def _settles(self) -> bool:
        return parameters_of(self.network) <= self.settle_parameters

    @cached_property
    def _reader(self) -> WindowReader:
        usual = CPU_BATCH_TOKENS if self.head.device.type == "cpu" else GPU_BATCH_TOKENS
        asked = usual if self.batch_tokens is None else self.batch_tokens
        memory = BatchMemory(min(asked, self.head.most_tokens or asked))
        return WindowReader(self.head, self.context, self.padding, memory)

    @cached_property
    def _carrier(self) -> Carrier:
        return carrier_of(self.head, self.context, self._reader.memory.tokens, self.network.dtype)

    def _read(self, documents: Documents) -> Tokens:
        tokens = self.tokenizer.read(documents)
        self._check(tokens.stream)
        return tokens

    def _check_prefix(self, ids: Sequence[int]) -> None:
        if not ids:
            raise LeakscopeError("This model has no begin mark; give it at least one word.")
        self._check(np.array(ids, np.int64))

    def _check(self, ids: LongArray) -> None:
        if len(ids) and int(ids.max()) >= self.head.vocabulary:
            raise LeakscopeError(
                "The tokenizer has tokens that the model does not know; give the tokenizer that "
                "the model was trained with."
            )

    def _settle(self, tokens: Tokens, sheet: ScoreSheet) -> None:
        """Decide the near ties again; self is the float64 model."""
        with Float64Mode():
            self._reader.each(tokens, sheet.near_tie.copy(), partial(self._decide, sheet))

    def _decide(self, sheet: ScoreSheet, places: LongArray, states: Tensor) -> None:
        if len(places):
            labels = self._tensor(sheet.labels[places])
            sheet.settle(places, self.head.exact(states, labels, sheet.k))

    def _tensor(self, array: LongArray) -> Tensor:
        return torch.from_numpy(array).to(self.head.device)


def causal_model(
    network: Any,
    tokenizer: Any,
    *,
    batch_tokens: int | None = None,
    padding: Padding = "right",
    settle_parameters: int = SETTLE_PARAMETERS,
) -> CausalModel:
    """Make a model of a `transformers` network and its fast tokenizer, as they are in memory:
    checks that they fit each other, that it is causal, how its logits come about, and how noisy
    they are. The network is put into evaluation mode.
    """
    check_tokenizer(tokenizer, network)
    context = context_of(network)
    network.eval()
    head = sound_head(network, context, padding)
    small = parameters_of(network) <= settle_parameters
    exact = head_like(head, in_float64(network)) if small else None
    noise = causal_noise(head, exact, context, network.dtype)
    return CausalModel(
        network,
        WordTokenizer(tokenizer),
        head,
        noise,
        context,
        batch_tokens,
        padding,
        settle_parameters,
    )


def context_of(network: Any) -> int | None:
    """How many tokens a network can read, by its configuration; None: any number."""
    config = network.config.get_text_config()
    found = getattr(config, "max_position_embeddings", None)
    return int(found) if found else None


def parameters_of(network: Any) -> int:
    """The number of a network's parameters, tied ones once."""
    return sum(weight.numel() for weight in network.parameters())
