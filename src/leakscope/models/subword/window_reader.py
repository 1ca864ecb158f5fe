"""From documents in tokens to the states that predict them, batch by batch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from leakscope.models.ranking.windows import Window, first_input, windows
from leakscope.models.subword.batch_memory import BatchMemory
from leakscope.models.subword.output_heads import Head
from leakscope.models.subword.word_tokens import Tokens
from leakscope.records.documents import BoolArray, FloatArray, LongArray

Padding = Literal["left", "right"]


@dataclass(frozen=True)
class WindowReader:
    """Runs a network over windows of like length."""

    head: Head
    context: int | None
    padding: Padding
    memory: BatchMemory

    def each(
        self, tokens: Tokens, asked: BoolArray, work: Callable[[LongArray, Tensor], None]
    ) -> None:
        """Call `work` with (positions [m], the states [m, s] that predict them), batch by batch,
        until it has had every position that is `asked` [p]; some twice if memory ran out.
        Windows are read up to the last of these.
        """
        lengths = np.diff(tokens.offsets).tolist()
        due = [
            cut
            for index, length in enumerate(lengths)
            for window in windows(index, length, self.context)
            if (cut := _up_to_last(window, tokens, asked)) is not None
        ]

        def read(batch: list[Window]) -> None:
            places, states = self._run(tokens, batch)
            rows, columns = np.nonzero(places >= 0)
            kept = asked[places[rows, columns]]
            rows, columns = rows[kept], columns[kept]
            work(places[rows, columns], states[self._tensor(rows), self._tensor(columns)])

        self.memory.each(due, read)

    def hidden_at(self, tokens: Tokens, inputs: LongArray) -> FloatArray | None:
        """[n, h] the last hidden state of each document at one of its `inputs` [n], counted from
        its first; NaN where that is -1. None if the network shows none.
        """
        due = [
            Window(index, first_input(at, self.context), at, at + 1)
            for index, at in enumerate(inputs.tolist())
            if at >= 0
        ]
        found: dict[int, FloatArray] = {}

        def read(batch: list[Window]) -> None:
            places, given = self._inputs(tokens, batch)
            states = self.head.hidden(*given)
            if states is not None:
                rows, columns = np.nonzero(places >= 0)  # one in every row
                last = states[self._tensor(rows), self._tensor(columns)].float().cpu().numpy()
                found.update(zip((window.document for window in batch), last, strict=True))

        self.memory.each(due, read)
        some = torch.zeros((1, 1), dtype=torch.int64, device=self.head.device)
        shown = self.head.hidden(some, torch.ones_like(some), some)
        if shown is None:
            return None
        missing = np.full(shown.shape[2], np.nan, np.float32)
        rows = [found.get(index, missing) for index in range(len(inputs))]
        return np.array(rows, np.float32).reshape(len(rows), len(missing))

    def _run(self, tokens: Tokens, batch: list[Window]) -> tuple[LongArray, Tensor]:
        """(the position that each column predicts, or -1, [b, t]; states [b, t, s])."""
        places, given = self._inputs(tokens, batch)
        return places, self.head.states(*given)

    def _inputs(
        self, tokens: Tokens, batch: list[Window]
    ) -> tuple[LongArray, tuple[Tensor, Tensor, Tensor]]:
        """(the position that each column predicts, or -1; inputs, mask and positions), [b, t]."""
        width = max(window.stop - window.first for window in batch)
        inputs = np.zeros((len(batch), width), np.int64)
        mask = np.zeros((len(batch), width), np.int64)
        places = np.full((len(batch), width), -1, np.int64)
        for row, (document, first, start, stop) in enumerate(batch):
            begin = width - (stop - first) if self.padding == "left" else 0
            here = slice(begin, begin + stop - first)
            origin = int(tokens.starts[document])
            inputs[row, here] = tokens.stream[origin + first : origin + stop]
            mask[row, here] = 1
            offset = int(tokens.offsets[document])
            places[row, begin + start - first : begin + stop - first] = np.arange(
                offset + start, offset + stop
            )
        positions = np.maximum(mask.cumsum(1) - 1, 0)
        return places, (self._tensor(inputs), self._tensor(mask), self._tensor(positions))

    def _tensor(self, array: LongArray) -> Tensor:
        return torch.from_numpy(array).to(self.head.device)


def _up_to_last(window: Window, tokens: Tokens, asked: BoolArray) -> Window | None:
    begin = int(tokens.offsets[window.document])
    found = np.flatnonzero(asked[begin + window.start : begin + window.stop])
    return window._replace(stop=window.start + int(found[-1]) + 1) if len(found) else None
