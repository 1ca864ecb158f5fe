"""The compiled kernels are kept on disk: a second process compiles nothing."""

import json
import os
import subprocess
import sys

_COUNTS = """
import json
import numpy as np
from leakscope.leakage.correct_runs import copied_runs
from leakscope.leakage.correct_runs.occurrences import collect
from leakscope.leakage.counts import link_tree_kernels, trie_kernels
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import Documents, Scores
documents = Documents.of([(0, [0, 1] * 20), (1, [1] * 40)])
rank = np.zeros(80, np.int32)
probs = np.zeros(80, np.float32)
found = collect(documents, Scores(rank, probs, probs, np.zeros(80, np.bool_)), 1)
made = Trie.empty(2)
nodes = made.insert(found.ids, found.offsets)
made.sequences(nodes)
count(made, [[documents]], 1)
modules = (copied_runs, trie_kernels, link_tree_kernels)
kernels = [f for m in modules for f in vars(m).values() if hasattr(f, "stats")]
entries = [f for f in kernels if not f.__name__.startswith("_")]  # those call the others
hits = sum(sum(f.stats.cache_hits.values()) for f in entries)
misses = sum(sum(f.stats.cache_misses.values()) for f in entries)
print(json.dumps([hits, misses]))
"""


def hits_and_misses(folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-c", _COUNTS], env=environment, capture_output=True, check=True
    )
    return json.loads(ran.stdout)


def test_the_second_process_takes_the_compiled_code_from_disk(tmp_path):
    hits, misses = hits_and_misses(tmp_path)
    assert hits == 0 and misses > 0
    assert hits_and_misses(tmp_path) == [misses, 0]
