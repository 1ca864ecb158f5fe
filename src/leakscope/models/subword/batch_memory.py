"""Reading windows in batches that fit into memory, found out by trying."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from leakscope.models.ranking.windows import Window, batch_from, longest_first
from leakscope.records.errors import LeakscopeError


@dataclass
class BatchMemory:
    """How many tokens are read at a time, padding included: so many, and fewer for good once the
    device has run out of memory.
    """

    tokens: int

    def each(self, due: list[Window], read: Callable[[list[Window]], None]) -> None:
        """Call `read` with every window of `due` in batches of like length, longest first. Where
        memory runs out the batch is halved, so `read` must accept a window twice.
        """
        order, start = longest_first(due), 0
        while start < len(order):
            batch = batch_from(order, start, self.tokens)
            if _fits(read, batch):
                start += len(batch)
                continue
            width = batch[0].stop - batch[0].first
            if len(batch) == 1:
                raise LeakscopeError(
                    f"The device has no room even for one text of {width} tokens; take another "
                    "--device, or a narrower --dtype."
                )
            self.tokens = len(batch) // 2 * width


def _fits(read: Callable[[list[Window]], None], batch: list[Window]) -> bool:
    """Whether a batch could be read. What the attempt held is free again when this returns."""
    try:
        read(batch)
    except torch.OutOfMemoryError:
        if torch.accelerator.is_available():
            torch.accelerator.empty_cache()
        return False
    return True
