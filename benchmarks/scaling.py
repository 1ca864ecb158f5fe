"""Counting at 1M, 10M and, on its own, 100M words: time, and peak memory in a fresh process."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks import material
from benchmarks.lines import Line

_CHILD = """
import json, sys, time
from pathlib import Path
from benchmarks.counting import drawn_sequences
from leakscope.corpus.store import Corpus
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
on = Corpus.open(Path(sys.argv[1]))
ids, offsets = drawn_sequences(on)
trie = Trie.empty(len(on.lexicon))
trie.insert(ids, offsets)
count(trie, [list(on.shards[0].documents())[:1]], 1)  # compiled, and the code is in memory
begin = time.perf_counter()
counts = count(trie, [shard.documents() for shard in on.shards], 2)
spent = time.perf_counter() - begin
# Not ru_maxrss, which a child takes over from the process that started it.
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps({"seconds": spent, "peak": peak, "nodes": trie.nodes,
                  "total": int(counts.total.sum()), "words": on.manifest.train.words}))
"""


def count_in_fresh_process(words: int) -> dict:
    on = material.corpus(words, shards=max(8, words // 2_000_000))
    command = [sys.executable, "-c", _CHILD, str(on.path)]
    root = Path(__file__).parent.parent
    ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
    return json.loads(ran.stdout.splitlines()[-1])


def lines(sizes: tuple[int, ...] = (1_000_000, 10_000_000)) -> list[Line]:
    found = []
    before = None
    for words in sizes:
        result = count_in_fresh_process(words)
        name = f"count {words // 1_000_000}M words"
        rate = result["words"] / result["seconds"]
        detail = f"{rate:,.0f} words/s, shards read from disk included, {result['nodes']:,} nodes"
        found.append(Line(f"{name}: time", result["seconds"], 60.0, True, " s", detail))
        found.append(Line(f"{name}: peak memory", result["peak"] / 2**30, 4.0, True, " GiB"))
        if before is not None:
            growth = result["seconds"] / before["seconds"]
            ratio = growth * 10 * before["words"] / result["words"]
            found.append(Line(f"{name}: time for 10x the words", ratio, 11.0, True))
        before = result
    return found
