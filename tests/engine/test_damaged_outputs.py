"""An output that is there but not as it was written is made again and named, by every engine."""

from pathlib import Path

import pytest

from cluster_stages import Squares
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import NAMED, before_the_end, only_warnings, tell_damaged
from leakscope.engine.thread_engine import ThreadEngine
from ray_clusters import cluster_of

KEYS = [f"key{i}" for i in range(8)]


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(num_cpus=2) as made:
        yield made


@pytest.fixture(params=["here", "processes", "threads", "ray"])
def engine(request):
    if request.param == "ray":
        with RayEngine(request.getfixturevalue("cluster").address) as made:
            yield made
    else:
        yield {"here": LocalEngine(), "processes": LocalEngine(2), "threads": ThreadEngine(2)}[
            request.param
        ]


def noted(told):
    return lambda stage, *more: told.append(more) if stage == "warning" else None


def test_damaged_outputs_are_named_and_made_again(engine, tmp_path):
    notes, out = tmp_path / "notes", tmp_path / "out"
    notes.mkdir()
    out.mkdir()
    told = []
    made: dict[Path, bytes] = {}
    asked = {
        "keep": lambda path: path.exists() and path.read_bytes() == made[path],
        "progress": noted(told),
    }
    paths = engine.map(Squares(notes), KEYS, out, **asked)
    made |= {path: path.read_bytes() for path in out.iterdir()}
    assert told == []  # those that are not there yet are no news
    paths[1].write_bytes(paths[1].read_bytes()[:-3])
    paths[4].write_bytes(b"")
    paths[6].unlink()
    engine.map(Squares(notes), KEYS, out, **asked)
    assert told == [
        (1, 2, f"damaged, made again: {paths[1].name} in {out}"),
        (2, 2, f"damaged, made again: {paths[4].name} in {out}"),
    ]
    assert {path: path.read_bytes() for path in out.iterdir()} == made


def test_of_many_the_first_are_named_and_the_others_counted():
    told = []
    paths = [Path("run/.work", f"part-{i}") for i in range(NAMED + 4)]
    tell_damaged(paths, noted(told))
    assert [note for *_, note in told] == [
        *(f"damaged, made again: part-{i} in run/.work" for i in range(NAMED)),
        "damaged, made again: 4 more in run/.work",
    ]


@pytest.mark.parametrize("filtered", [before_the_end, only_warnings])
def test_work_that_tells_little_still_warns(filtered):
    told = []
    progress = filtered(lambda *said: told.append(said))
    progress("count", 3, 3, "done")
    tell_damaged([Path("work/part")], progress)
    assert told == [("warning", 1, 1, "damaged, made again: part in work")]
