"""Kernels are compiled, and also where no compiled code can be kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import leakscope

SUM = """
import sys
sys.dont_write_bytecode = True
from leakscope.leakage.correct_runs import occurrences as collect
from leakscope.leakage.counts import counting
from leakscope.leakage.counts import trie
from leakscope.training.dp.noise.ziggurat import add_normals
import numpy as np
values = np.zeros(1000)
add_normals(values, 1.0, lambda count: np.random.default_rng(0).integers(-2**63, 2**63, count))
print(0.8 < values.std() < 1.2)
"""


@pytest.mark.parametrize("writable", [True, False])
def test_kernels_work_where_nothing_can_be_written(tmp_path, writable):
    place = tmp_path / "home"
    place.mkdir()
    copied = tmp_path / "leakscope"
    copied.mkdir()
    subprocess.run(["cp", "-r", f"{Path(leakscope.__file__).parent}/.", copied], check=True)
    for kept in copied.rglob("*.nb[ci]"):
        kept.unlink()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(place)}
    if not writable:
        # What numba asks before it caches; a test may run as root, who may write anywhere.
        (tmp_path / "sitecustomize.py").write_text(
            "import numba.core.caching as caching\ncaching.CacheImpl._locator_classes = []\n"
        )
    found = subprocess.run(
        [sys.executable, "-c", SUM], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout == "True\n"
    assert bool(list(copied.rglob("ziggurat*.nbi"))) == writable
