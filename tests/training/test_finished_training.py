"""A training that was killed after its model was written: the same call tidies up."""

import shutil
from dataclasses import replace

import pytest

from leakscope.records.errors import LeakscopeError
from leakscope.training.loop import train
from leakscope.training.mitigations.plain_settings import PlainSettings
from private_training import private, tiny_corpus

MARK = '{"unfinished":"train","version":1}'


@pytest.fixture
def corpus(tmp_path):
    return tiny_corpus(tmp_path / "corpus")


def settings(kind):
    found = private(epochs=2)
    return found if kind == "dp" else replace(found, mitigation=PlainSettings())


def content(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("kind", ["none", "dp"])
@pytest.mark.parametrize("mark", [MARK, ""])
def test_what_was_left_is_removed(corpus, tmp_path, kind, mark):
    out, asked = tmp_path / "m", settings(kind)
    first = train(corpus, out, asked)
    before = content(out)
    (out / ".leakscope").write_text(mark)
    if mark:
        (out / "checkpoints" / "00002-000000008").mkdir(parents=True)
        (out / "checkpoints" / "00002-000000008" / "seal.txt").write_text("half")
        again = train(corpus, out, asked)
        assert again.path == out and again.history == first.history
    else:  # killed between the last two calls of all: there is nothing left to do
        with pytest.raises(LeakscopeError, match="already exists"):
            train(corpus, out, asked)
    assert content(out) == before and not (out / "checkpoints").exists()


def test_a_model_of_another_training_is_not_taken_for_the_result(corpus, tmp_path):
    out, asked = tmp_path / "m", settings("none")
    train(corpus, out, asked)
    (out / ".leakscope").write_text(MARK)
    before = content(out)
    for other in (replace(asked, seed=asked.seed + 1), replace(asked, epochs=3)):
        with pytest.raises(LeakscopeError, match="already exists"):
            train(corpus, out, other)
    assert content(out) == before


def test_files_of_others_stay(corpus, tmp_path):
    out, asked = tmp_path / "m", settings("none")
    train(corpus, out, asked)
    (out / ".leakscope").write_text(MARK)
    (out / "checkpoints").mkdir()
    (out / "checkpoints" / "mine.txt").write_text("mine")
    train(corpus, out, asked)
    assert (out / "checkpoints" / "mine.txt").read_text() == "mine"
    shutil.rmtree(out / "checkpoints")
