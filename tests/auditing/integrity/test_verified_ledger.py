"""A ledger that was cut short is noticed: at the end of a training always, on the way as far as a
checkpoint knows.
"""

import pytest

from leakscope.auditing.integrity.verification import verify_path
from leakscope.training.dp.dp_settings import LEDGER
from leakscope.training.loop import train
from private_training import private, tiny_corpus


class KilledError(Exception):
    pass


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny_corpus(tmp_path_factory.mktemp("ledger"))


def verdict(path):
    return next(each for each in verify_path(path) if each.path == path)


def cut(path, lines):
    kept = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(kept[: len(kept) - lines]))


def test_any_cut_of_a_finished_ledger_is_noticed(corpus, tmp_path):
    train(corpus, tmp_path / "m", private())
    ledger = tmp_path / "m" / LEDGER
    assert not verdict(tmp_path / "m").is_damaged
    whole = ledger.read_bytes()
    for change in (whole[:-1], whole[: len(whole) // 2], b"", whole + b"{"):
        ledger.write_bytes(change)
        assert verdict(tmp_path / "m").changed == (LEDGER,)
    ledger.unlink()
    assert verdict(tmp_path / "m").missing == (LEDGER,)


def test_an_unfinished_ledger_has_all_lines_that_its_checkpoint_knows(corpus, tmp_path):
    def killed(stage, done, total=None, note=""):
        if stage == "train" and done == 5:
            raise KilledError

    with pytest.raises(KilledError):
        train(corpus, tmp_path / "m", private(), progress=killed)  # an epoch has 4 steps
    ledger = tmp_path / "m" / LEDGER
    assert not verdict(tmp_path / "m").is_damaged
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-1])  # as a crash would leave it
    assert "counts as a step" in verdict(tmp_path / "m").unchecked
    ledger.write_bytes(whole)
    cut(ledger, 1)  # the step after the checkpoint: nobody knows of it any more
    assert not verdict(tmp_path / "m").is_damaged
    cut(ledger, 1)
    assert verdict(tmp_path / "m").changed == (LEDGER,)
