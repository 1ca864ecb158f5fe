"""Several processes that add up by `torch.distributed`, over the loopback interface.

Sums are taken weight by weight, so which bits come out depends on the number of processes and on
nothing else: not on how DistributedDataParallel puts gradients into buckets, which it decides anew
after the first step.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import FileStore, GradBucket
from torch.distributed.distributed_c10d import _set_pg_timeout as set_timeout
from torch.nn.parallel import DistributedDataParallel

from leakscope.records.documents import LongArray
from leakscope.training.distributed.work_shares import shares_of

FIRST = 0
"""The rank of the process that decides and writes."""
_MEETING = timedelta(seconds=120)
"""How long processes wait for each other when they meet."""
_INTERFACE = "GLOO_SOCKET_IFNAME"


class GlooRanks:
    """See `RankGroup`; this process has the number `rank` of `size`."""

    def __init__(self, rank: int, size: int) -> None:
        self._rank, self._size = rank, size

    def share(self, sizes: LongArray) -> LongArray:
        """See `RankGroup`."""
        return shares_of(sizes, self._size)[self._rank]

    def decided(self, choose: Callable[[], LongArray]) -> LongArray:
        """See `RankGroup`."""
        chosen = torch.from_numpy(choose()) if self._rank == FIRST else torch.empty(0)
        count = torch.tensor([len(chosen)])
        dist.broadcast(count, FIRST)
        if self._rank != FIRST:
            chosen = torch.empty(int(count), dtype=torch.int64)
        dist.broadcast(chosen, FIRST)
        found: LongArray = chosen.numpy()
        return found

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """See `RankGroup`."""
        _wait([dist.reduce(each, FIRST, async_op=True) for each in tensors])

    def once(self, change: Callable[[], None], tensors: Iterable[Tensor]) -> None:
        """See `RankGroup`."""
        if self._rank == FIRST:
            change()
        _wait([dist.broadcast(each, FIRST, async_op=True) for each in tensors])

    def total(self, value: float) -> float:
        """See `RankGroup`."""
        sum_ = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(sum_)
        return float(sum_)

    def parallel(self, loss: nn.Module) -> nn.Module:
        """See `RankGroup`."""
        made = DistributedDataParallel(loss, gradient_as_bucket_view=True)
        made.register_comm_hook(None, _sum_of_bucket)
        return made


def _sum_of_bucket(state: object, bucket: GradBucket) -> torch.futures.Future[Tensor]:
    """The sum of gradients over all processes, where DistributedDataParallel would take the mean:
    the parts of a loss are weighted by their words already.
    """
    works = [dist.all_reduce(each, async_op=True) for each in bucket.gradients()]
    together = torch.futures.collect_all([work.get_future() for work in works])

    def summed(done: torch.futures.Future[list[torch.futures.Future[object]]]) -> Tensor:
        for each in done.value():
            each.wait()  # raises what went wrong
        return bucket.buffer()  # they are parts of it

    return together.then(summed)


def is_lost(error: RuntimeError) -> bool:
    """Whether an error says that another process is gone, or has not been heard of in time."""
    return "gloo" in str(error)


def _wait(works: list[dist.Work]) -> None:
    for work in works:
        work.wait()


@contextmanager
def joined(store: Path, rank: int, size: int, patience: float) -> Iterator[GlooRanks]:
    """The group of the processes that meet at the file `store`, which must be in a folder that is
    private to this user. A process that is not heard of for `patience` seconds is an error.
    """
    before, excepthook = os.environ.get(_INTERFACE), sys.excepthook
    os.environ[_INTERFACE] = _loopback()
    try:
        dist.init_process_group(
            "gloo",
            store=FileStore(str(store), size),
            rank=rank,
            world_size=size,
            timeout=_MEETING,
        )
    finally:
        if before is None:
            del os.environ[_INTERFACE]
        else:
            os.environ[_INTERFACE] = before
        sys.excepthook = excepthook  # torch would put the rank before every line of a traceback
    try:
        set_timeout(timedelta(seconds=patience))
        yield GlooRanks(rank, size)
    finally:
        dist.destroy_process_group()


def _loopback() -> str:
    """The name of the interface that nobody outside of this machine reaches."""
    return next(name for _, name in socket.if_nameindex() if name in ("lo", "lo0"))
