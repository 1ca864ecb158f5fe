"""Outputs on their way from a worker: written whole if they came whole, and else not at all."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.engine.shard_output import OutputFile, ShardOutput
from leakscope.engine.shard_queue import TRIES, ShardQueue
from leakscope.records.errors import LeakscopeError


def sent(folder, content: bytes, seal: bytes | None = b"sealed"):
    folder.mkdir(exist_ok=True)
    target = folder / "score-1.parquet"
    target.write_bytes(content)
    if seal is not None:
        target.with_name("score-1.parquet.seal").write_bytes(seal)
    return ShardOutput.gather(target)


@given(content=st.binary(max_size=50))
def test_files_arrive_as_they_were(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("output")
    (folder / "there").mkdir()
    assert sent(folder / "here", content).save(folder / "there" / "score-1.parquet")
    found = {path.name: path.read_bytes() for path in (folder / "there").iterdir()}
    assert found == {"score-1.parquet": content, "score-1.parquet.seal": b"sealed"}


@given(
    content=st.binary(min_size=1, max_size=50),
    place=st.integers(0, 10**6),
    bit=st.integers(0, 7),
    file=st.integers(0, 1),
)
def test_one_flipped_bit_is_seen_and_nothing_is_written(
    tmp_path_factory, content, place, bit, file
):
    folder = tmp_path_factory.mktemp("output")
    (folder / "there").mkdir()
    output = sent(folder / "here", content)
    damaged = output.files[file].content.copy()
    damaged[place % len(damaged)] ^= 1 << bit
    files = list(output.files)
    files[file] = replace(files[file], content=damaged)
    assert not ShardOutput(tuple(files)).save(folder / "there" / "score-1.parquet")
    assert list((folder / "there").iterdir()) == []


@pytest.mark.parametrize("cut", [0, 3])
def test_one_cut_short_is_seen(tmp_path, cut):
    output = sent(tmp_path / "here", b"abcdef", None)
    short = replace(output.files[0], content=output.files[0].content[:cut])
    assert not ShardOutput((short,)).save(tmp_path / "score-1.parquet")


@pytest.mark.parametrize(
    "names",
    [
        ["../evil", "score-1.parquet"],
        ["score-1.parquet/../../evil", "score-1.parquet"],
        ["other.parquet", "score-1.parquet"],
        ["score-1.parquet", "score-1.parquet.seal"],  # the output must come last
        [],
    ],
)
def test_other_names_are_refused(tmp_path, names):
    here = tmp_path / "here"
    here.mkdir()
    content = OutputFile.read(_written(tmp_path / "x"))
    files = tuple(replace(content, name=name) for name in names)
    assert not ShardOutput(files).save(here / "score-1.parquet")
    assert list(here.iterdir()) == []


def _written(path):
    path.write_bytes(b"content")
    return path


@given(
    shards=st.integers(1, 12),
    losses=st.lists(st.integers(0, 10**6), max_size=30),
    workers=st.integers(1, 4),
)
def test_every_shard_is_done_once_whatever_is_lost(shards, losses, workers):
    """Against a plain count: a shard may be lost so often, and is then an error."""
    queue, lost, done = ShardQueue("score", range(shards)), np.zeros(shards, int), []
    at_work: list[int] = []
    losses = list(losses)
    while queue.open:
        while len(at_work) < workers and (index := queue.take()) is not None:
            at_work.append(index)
        if losses:
            index = at_work.pop(losses.pop() % len(at_work))
            lost[index] += 1
            if lost[index] == TRIES:
                with pytest.raises(LeakscopeError, match="in stage score"):
                    queue.lost(index)
                return
            queue.lost(index)
        else:
            done.append(at_work.pop(0))
            queue.done(done[-1])
    assert sorted(done) == list(range(shards)) and at_work == []
