"""`python -m benchmarks.many_runs 1000000000 FOLDER`: collect and count an S of that size.

S is made of scored pieces of a million occurrences, whose words are drawn from a synthetic corpus.
There are twenty distinct ones, which come again and again; so the pieces take little disk, but S
takes all of its own (34 bytes for each occurrence in FOLDER, while this runs). Prints the time, and
the anonymous memory at most. To hold it to a limit, run it in a control group.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks import material
from benchmarks.counting import drawn_sequences
from leakscope.corpus.store import Corpus
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.leakage.correct_runs.occurrences import Occurrences
from leakscope.leakage.correct_runs.score_stage import _SCHEMA, _to_arrow
from leakscope.leakage.sequences.counted import SequenceCounting
from leakscope.records.artifacts import parquet_sink

PIECE, DISTINCT, POOL = 1_000_000, 20, 300_000


def write_piece(on: Corpus, pool: tuple[np.ndarray, np.ndarray], seed: int, target: Path) -> None:
    rng = np.random.default_rng([5, seed])
    ids, offsets = pool
    # Few sequences come often, most of them seldom.
    chosen = (rng.random(PIECE) ** 3 * (len(offsets) - 1)).astype(np.int64)
    sizes = np.diff(offsets)[chosen]
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], sizes)
    words, wrong = int(ends[-1]), np.zeros(PIECE, np.bool_)
    found = Occurrences(
        users=np.sort(rng.integers(0, on.manifest.users, PIECE)).astype(np.int32),
        documents=np.sort(rng.integers(0, on.manifest.train.documents, PIECE)).astype(np.int64),
        starts=rng.integers(0, 200, PIECE).astype(np.int32),
        copied=wrong,
        near_tie=wrong,
        offsets=ends,
        ids=ids[places],
        rank=np.zeros(words, np.int32),
        log_prob=-rng.random(words, np.float32),
        top_log_prob=-rng.random(words, np.float32),
    )
    with parquet_sink(target, _SCHEMA, sealed=True) as writer:
        writer.write_batch(_to_arrow(found))


class Memory:
    """The anonymous memory of this process at most, looked at ten times a second."""

    def __init__(self) -> None:
        self.most, self._done = 0, threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.most = max(self.most, int(line.split()[1]) * 1024)


def main() -> None:
    occurrences, folder = int(sys.argv[1]), Path(sys.argv[2])
    on = material.corpus(1_000_000)
    pool = drawn_sequences(on, POOL)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        pieces = [Path(name) / f"score-{seed}.parquet" for seed in range(DISTINCT)]
        for seed, piece in enumerate(pieces):
            write_piece(on, pool, seed, piece)
        memory, began = Memory(), time.monotonic()
        again = [pieces[number % DISTINCT] for number in range(occurrences // PIECE)]
        counted, _ = SequenceCounting(on, Path(name), ThreadEngine(2)).count(again)
        took = time.monotonic() - began
        print(
            f"{len(counted.members):,} occurrences of {len(counted.sequences):,} sequences in "
            f"{took:.0f} s; anonymous memory at most {memory.most / 1e6:,.0f} MB"
        )
        total = int(counted.sequences.total_in_s.sum())
        assert total == len(counted.members) == occurrences // PIECE * PIECE


if __name__ == "__main__":
    main()
