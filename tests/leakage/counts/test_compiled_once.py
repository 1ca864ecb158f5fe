"""The compiled walk is kept on disk: a second process compiles nothing."""

import json
import os
import subprocess
import sys

_COUNTS = """
import json
import numpy as np
from leakscope.leakage.correct_runs import occurrences as collect
from leakscope.leakage.counts import counting
from leakscope.leakage.counts import trie
from leakscope.records.documents import Documents, Scores
documents = Documents.of([(0, [0, 1, 0]), (1, [1])])
rank = np.zeros(4, np.int32)
probs = np.zeros(4, np.float32)
found = collect.collect(documents, Scores(rank, probs, probs, np.zeros(4, np.bool_)), 1)
made = trie.Trie.empty(2)
node = int(made.insert(found.ids, found.offsets)[0])
made.sequence(node)
counting.count(made, [[documents]], 1)
jitted = [f for m in (collect, counting, trie) for f in vars(m).values() if hasattr(f, "stats")]
hits = sum(sum(f.stats.cache_hits.values()) for f in jitted)
misses = sum(sum(f.stats.cache_misses.values()) for f in jitted)
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
