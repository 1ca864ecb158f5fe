"""A billion words, built and counted under a limit of 4 GB that the system enforces.

The text is a synthetic one, copied, each copy with users of its own. It takes some 25 GB of disk
while this runs, and needs the right to make control groups.
"""

import json
import sys
import tempfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import material
from benchmarks.control_group import run_limited
from benchmarks.lines import Line
from leakscope.commands.corpus_synth import synth
from leakscope.corpus.store import Corpus
from leakscope.corpus.synthetic.synth_settings import SynthSettings

WORDS, COPIES, USERS = 17_500_000, 58, 20_000
LIMIT = 4_000_000_000
_BUILD = """
import json, sys, time
from pathlib import Path
from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.building.builder import build
begin, spent = time.perf_counter(), time.process_time()
build(Path(sys.argv[1]), Path(sys.argv[2]), resources=BuildResources(threads=2, memory="2GB"))
print(json.dumps({"seconds": time.perf_counter() - begin, "cpu": time.process_time() - spent}))
"""
_COUNT = """
import json, sys, time
from pathlib import Path
from benchmarks.counting import drawn_sequences
from leakscope.corpus.store import Corpus
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
on = Corpus.open(Path(sys.argv[1]))
trie = Trie.empty(len(on.lexicon))
trie.insert(*drawn_sequences(on))
count(trie, [list(on.shards[0].documents())[:1]], 1)  # compiled, and the code is in memory
begin = time.perf_counter()
counts = count(trie, [shard.documents() for shard in on.shards], 2)
print(json.dumps({"seconds": time.perf_counter() - begin, "nodes": trie.nodes}))
"""


def copied_text(folder: Path) -> Path:
    """The text to build from: one table."""
    target = folder / "data.parquet"
    synth(folder / "once", SynthSettings(users=USERS, words=WORDS, coined=100_000))
    source = pq.read_table(folder / "once" / "data.parquet")
    at = source.schema.get_field_index("user")
    with pq.ParquetWriter(target, source.schema) as writer:
        for copy in range(COPIES):
            users = pc.binary_join_element_wise(source["user"], str(copy), "-")
            writer.write_table(source.set_column(at, source.schema.field(at), users), 100_000)
    return target


def lines() -> list[Line]:
    material.FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=material.FOLDER) as name:
        material.note("writing a billion words")
        source, corpus = copied_text(Path(name)), Path(name) / "corpus"
        material.note("building")
        built = _limited(_BUILD, source, corpus)
        source.unlink()
        on = Corpus.open(corpus).manifest
        material.note("counting")
        counted = _limited(_COUNT, corpus)
    words, every = on.train.words, on.train.words + on.validation.words
    each = 1e9 / words
    return [
        Line(
            "build a billion words under 4 GB", built["seconds"] * 1e9 / every, None, True, " s",
            f"{every:,} words, {on.users:,} users: {built['seconds']:.0f} s, "
            f"{built['cpu']:.0f} s of processors",
        ),
        Line(
            "count in a billion words under 4 GB", counted["seconds"] * each, 75.0, True, " s",
            f"{words:,} words, {counted['nodes']:,} nodes: {counted['seconds']:.1f} s",
        ),
    ]  # fmt: skip


def _limited(code: str, *paths: Path) -> dict[str, float]:
    command = [sys.executable, "-c", code, *map(str, paths)]
    return json.loads(run_limited(command, LIMIT).output.splitlines()[-1])
