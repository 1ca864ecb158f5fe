"""Building a corpus: against the builder as it was before, in one run, with the same files."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import material
from benchmarks.lines import Line
from leakscope.commands.corpus_synth import synth
from leakscope.corpus.synthetic.synth_settings import SynthSettings

_CHILD = """
import json, sys, time
from pathlib import Path
from benchmarks.building import small
from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
source, out, threads = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
if threads:
    from leakscope.corpus.building.builder import build
    resources = BuildResources(threads=threads)
    build(small(source), out / "small", resources=resources)  # the code is in memory
    work = lambda: build(source, out / "c", resources=resources).manifest.digest
else:
    from benchmarks.earlier_builder import earlier_build
    earlier_build(small(source), out / "small", BuildSettings())
    work = lambda: earlier_build(source, out / "c", BuildSettings())
begin, spent = time.perf_counter(), time.process_time()
digest = work()
begin, spent = time.perf_counter() - begin, time.process_time() - spent
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps({"seconds": begin, "cpu": spent, "peak": peak, "digest": digest}))
"""
EARLIER, ONE, TWO = 0, 1, 2


def small(source: Path) -> Path:
    """A little of the same kind of text, beside the source."""
    return source.with_name(f"small{source.suffix}")


def sources(words: int) -> list[Path]:
    """The same text as JSONL and as Parquet, each with a little of it."""
    folder = material.FOLDER / f"building-{words}"
    made = [folder / "data.jsonl", folder / "data.parquet"]
    if not made[0].exists():
        material.note(f"making {words} words to build from")
        synth(folder, SynthSettings(words=words, coined=100_000))
        table = pq.read_table(made[1])
        for name, rows in (("small", table.slice(0, 2000)), ("data", table)):
            pq.write_table(rows, folder / f"{name}.parquet", row_group_size=50_000)
            with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
                for batch in rows.to_batches(10_000):
                    for row in batch.to_pylist():
                        file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return made


def run(source: Path, threads: int) -> dict:
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory(dir=source.parent) as out:
        command = [sys.executable, "-c", _CHILD, str(source), out, str(threads)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
        found = json.loads(ran.stdout.splitlines()[-1])
        shards = sorted((Path(out) / "c").rglob("*.parquet"))
        found["files"] = [path.read_bytes() for path in shards]
        found["words"] = sum(
            len(each.values)
            for path in shards
            if path.parent.name == "shards"
            for each in pq.read_table(path, columns=["words"])["words"].chunks
        )
    return found


def lines(words: int = 10_000_000, repeats: int = 3) -> list[Line]:
    found = []
    for source in sources(words):
        runs: dict[int, list[dict]] = {EARLIER: [], ONE: [], TWO: []}
        for _ in range(repeats):
            for threads, taken in runs.items():
                taken.append(run(source, threads))
        each = [one for taken in runs.values() for one in taken]
        if any(
            one["files"] != each[0]["files"] or one["digest"] != each[0]["digest"] for one in each
        ):
            raise SystemExit("the builders do not write the same files")
        found += _compared(source.suffix.removeprefix("."), runs)
    return found


def _compared(kind: str, runs: dict[int, list[dict]]) -> list[Line]:
    def middle(threads: int, what: str) -> float:
        return statistics.median(one[what] for one in runs[threads])

    words = runs[TWO][0]["words"]
    times = f"{middle(EARLIER, 'seconds'):.1f} s, {middle(TWO, 'seconds'):.1f} s"
    cpu = f"{middle(EARLIER, 'cpu'):.1f} s, {middle(ONE, 'cpu'):.1f} s"
    rate = words / middle(TWO, "seconds") / 1e6
    peak = max(one["peak"] for one in runs[TWO]) / 2**30
    return [
        Line(
            f"earlier build / build on two cores, {kind}",
            middle(EARLIER, "seconds") / middle(TWO, "seconds"),
            8.0,
            False,
            detail=f"{words:,} words, {times}",
        ),
        Line(f"build on two cores, {kind}: speed", rate, 3.0, False, " M words/s"),
        Line(
            f"earlier build / build on one core, {kind}: CPU time",
            middle(EARLIER, "cpu") / middle(ONE, "cpu"),
            4.0,
            False,
            detail=f"{cpu}, {words / middle(ONE, 'cpu') / 1e6:.2f} M words per CPU second",
        ),
        Line(f"build, {kind}: peak memory", peak, 2.0, True, " GiB"),
    ]
