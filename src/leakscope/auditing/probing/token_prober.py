"""`probe` of a Hugging Face model: suggestions are tokens, the continuation is text."""

import math
from collections.abc import Sequence
from pathlib import Path

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import load_pretrained
from leakscope.auditing.probing.probe_answers import Probe, Suggestion
from leakscope.models.subword.causal_model import CausalModel


class TokenProber:
    """A causal model that is asked again and again. It reads the text as it is typed, capitals
    and white space included, and stops at any mark, since marks are not text.
    """

    def __init__(self, model: CausalModel) -> None:
        self._model = model
        entries = model.entries
        self._spelled = dict(zip(entries.ids.tolist(), entries.spelled, strict=True))

    @classmethod
    def load(cls, path: Path, how: LoadingSettings) -> "TokenProber":
        """Of a directory, an adapter or a GGUF file."""
        return cls(load_pretrained(path, how))

    def __call__(self, text: str, *, top_k: int = 5, length: int = 20) -> Probe:
        """Top k tokens and greedy continuation of at most `length` tokens."""
        model, tokenizer = self._model, self._model.tokenizer
        ids = tokenizer.ids(text)
        typed = ids[len(tokenizer.lead) :]
        first = model.after(ids)
        suggestions = [
            Suggestion(first.entries[i], math.exp(first.log_probs[i]), i < first.words)
            for i in first.order(top_k)
        ]
        found: list[int] = []
        total, after = 0.0, first
        while len(found) < length:
            best = after.order(1)[0]
            if best >= after.words:
                break
            total += float(after.log_probs[best])
            found.append(int(model.entries.ids[best]))
            after = model.after([*ids, *found])
        return Probe(
            prefix=[self._spelled[id] for id in typed],
            unknown=[id == tokenizer.unknown for id in typed],
            suggestions=suggestions,
            continuation=[self._spelled[id] for id in found],
            probability=math.exp(total),
            prompt=text,
            text=self._read(typed, found),
            unit="token",
        )

    def _read(self, before: Sequence[int], found: Sequence[int]) -> str:
        """How `found` reads behind `before`: decoders drop the space at the very beginning."""
        start, whole = self._decode(before), self._decode([*before, *found])
        return whole[len(start) :] if whole.startswith(start) else self._decode(found)

    def _decode(self, ids: Sequence[int]) -> str:
        said: str = self._model.tokenizer.tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return said
