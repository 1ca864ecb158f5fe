"""`python -m benchmarks.many_runs 1000000000 FOLDER`: collect and count an S of that size, make
all metrics that need no model, and write all tables.

S is made of scored pieces of a million occurrences, drawn from places of a synthetic corpus. With
`--distinct 20` there are twenty distinct pieces, which come again and again. What a stage makes of
them is made once then, so that the time is that of all else; S, in FOLDER with 34 bytes for each
occurrence while this runs, and the tables are as large as ever. All probabilities are one of
sixteen, so that the tables take little disk. `--reveal` spells words and contexts out.
Prints the time of each stage, and the anonymous memory at most. To hold it to a limit, run it in a
control group.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks import material
from leakscope.corpus.store import Corpus, concatenate
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.leakage.correct_runs.occurrences import Occurrences
from leakscope.leakage.correct_runs.score_stage import _SCHEMA, _to_arrow
from leakscope.leakage.metrics import metrics_of
from leakscope.leakage.run_tables.table_writing import RunTables
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences.counted import SequenceCounting
from leakscope.records.artifacts import parquet_sink
from leakscope.records.documents import Documents
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.ragged import places_of
from leakscope.records.runs.report_settings import ReportSettings

PIECE, POOL, THREADS = 1_000_000, 300_000, 2
VALUES = -np.linspace(0.01, 2, 16, dtype=np.float32)


class Places:
    """Where sequences stand in D: about five words each, and at most sixteen."""

    def __init__(self, on: Corpus) -> None:
        rng = np.random.default_rng(0)
        self.within: Documents = concatenate(list(on.documents()))
        lengths = self.within.lengths()
        self.rows = rng.choice(np.flatnonzero(lengths > 0), POOL)
        self.starts = (rng.random(POOL) * lengths[self.rows]).astype(np.int64)
        most = lengths[self.rows] - self.starts
        self.sizes = np.minimum(np.minimum(rng.geometric(0.2, POOL), 16), most)

    def draw(self, size: int, seed: int) -> Occurrences:
        """Some of them in the order of D; few come often, most of them seldom."""
        rng, within = np.random.default_rng([5, seed]), self.within
        chosen = (rng.random(size) ** 3 * POOL).astype(np.int64)
        chosen = chosen[np.lexsort((self.starts[chosen], self.rows[chosen]))]
        rows, starts, sizes = self.rows[chosen], self.starts[chosen], self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        words, no = int(offsets[-1]), np.zeros(size, np.bool_)
        return Occurrences(
            users=within.users[rows],
            documents=within.numbers[rows],
            starts=starts.astype(np.int32),
            copied=no,
            near_tie=no,
            offsets=offsets,
            ids=within.ids[places_of(within.offsets[rows] + starts, sizes)],
            rank=np.zeros(words, np.int32),
            log_prob=VALUES[rng.integers(0, len(VALUES), words)],
            top_log_prob=np.full(words, VALUES[0]),
        )


class Usage:
    """The time of each stage, and the anonymous memory at most, looked at ten times a second."""

    def __init__(self) -> None:
        self.most, self._clock = 0, (time.monotonic(), time.process_time())
        threading.Thread(target=self._watch, daemon=True).start()

    def done(self, stage: str, what: str) -> None:
        now = (time.monotonic(), time.process_time())
        took, worked = (after - before for after, before in zip(now, self._clock, strict=True))
        print(
            f"{stage}: {took:,.0f} s, {worked:,.0f} s of processor time, anonymous memory at most "
            f"{self.most / 1e6:,.0f} MB so far; {what}",
            flush=True,
        )
        self._clock = now

    def _watch(self) -> None:
        while not time.sleep(0.1):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.most = max(self.most, int(line.split()[1]) * 1024)


def check_tables(folder: Path, occurrences: int) -> str:
    """How large the tables are, if their numbers are as they must be."""
    users = pq.read_table(folder / "users.parquet", columns=["occurrences"])
    sequences = pq.read_table(folder / "sequences.parquet", columns=["total_in_s"])
    listed = pq.ParquetFile(folder / "occurrences.parquet", page_checksum_verification=True)
    last = listed.read_row_group(listed.num_row_groups - 1)
    for found in (
        listed.metadata.num_rows,
        sum(users["occurrences"].to_pylist()),
        sum(sequences["total_in_s"].to_pylist()),
    ):
        assert found == occurrences, (found, occurrences)
    assert not last["sequence"].null_count
    sizes = {path.name: path.stat().st_size for path in sorted(folder.glob("*.parquet"))}
    return ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in sizes.items())


def main() -> None:
    asked = argparse.ArgumentParser(description="Collect, count and write an S of any size.")
    asked.add_argument("occurrences", type=int)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--distinct", type=int, help="distinct pieces; all, if it is not given")
    asked.add_argument("--reveal", action="store_true")
    given = asked.parse_args()
    occurrences = given.occurrences // PIECE * PIECE
    distinct = given.distinct or occurrences // PIECE
    settings = ReportSettings(top_k=3, reveal=given.reveal)
    on = material.corpus(1_000_000).trained_on(settings.trained_on)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        work, out, places = Path(name) / "work", Path(name) / "out", Places(on)
        work.mkdir()
        out.mkdir()
        pieces = [work / f"score-{seed}.parquet" for seed in range(distinct)]
        for seed, piece in enumerate(pieces):
            with parquet_sink(piece, _SCHEMA, sealed=True) as writer:
                writer.write_batch(_to_arrow(places.draw(PIECE, seed)))
        again = [pieces[number % distinct] for number in range(occurrences // PIECE)]
        usage = Usage()
        counted, sizes = SequenceCounting(on, work, ThreadEngine(THREADS)).count(again)
        found = counted.sequences
        usage.done("collect and count", f"{len(counted.members):,} of {len(found):,} sequences")
        findings = UniqueFindings(chance=Measured.absent("not measured here"))
        metrics = metrics_of(counted, on, settings, ModelFigures(), 0, findings)
        usage.done("metrics", f"{metrics.unique_sequences:,} unique sequences")
        RunTables(on, settings, again, counted, findings, sizes).write(out, work, THREADS)
        usage.done("tables", check_tables(out, occurrences))
        assert int(found.total_in_s.sum()) == metrics.occurrences == occurrences


if __name__ == "__main__":
    main()
