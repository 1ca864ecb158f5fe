"""The stages that a report and a build announce are those that they have, in that order."""

import pytest

import leakscope

SHAPE = {"arch": "gru", "hidden": 16, "embedding": 12, "vocabulary": 300, "threads": 1}


class Watching:
    """Notes what is announced and what comes."""

    def __init__(self):
        self.planned, self.came = [], []

    def expect(self, stages):
        self.planned += [each.name for each in stages]

    def __call__(self, stage, done, total=None, note=""):
        if total is not None and (not self.came or self.came[-1] != stage):
            self.came.append(stage)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    leakscope.corpus.synth(folder / "synth", users=10, words=3000)
    watching = Watching()
    data = folder / "synth" / "data.parquet"
    leakscope.corpus.build(data, folder / "corpus", progress=watching)
    assert watching.planned == watching.came == ["read", "number words", "write shards"]
    leakscope.train(folder / "corpus", folder / "model", epochs=2, **SHAPE)
    return folder


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"decoy_words": 0},
        {"public": "crossfit", "folds": 2},
        {"public": "crossfit", "folds": 2, "stand_ins": "crossfit"},
    ],
)
def test_what_is_announced_comes(made, tmp_path, options):
    watching = Watching()
    chosen = {"top_k": 3, "threads": 1, "public_dir": tmp_path / "public", **options}
    leakscope.report(made / "model", made / "corpus", tmp_path / "run", progress=watching, **chosen)
    planned, came = watching.planned, watching.came
    # The closer look goes on when models have answered.
    came.pop(len(came) - 1 - came[::-1].index("look closer"))
    assert [stage for stage in came if stage in planned] == planned
