"""Steps that real processes share, against the same steps in one process."""

import os
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist

from failing_followers import Failing
from leakscope.engine.private_scratch import private_scratch
from leakscope.records.errors import LeakscopeError
from leakscope.training.distributed.crew import crew_of
from leakscope.training.distributed.rank_group import OneRank
from leakscope.training.followed_training import FollowedTraining, weights_of
from leakscope.training.mitigations.plain_settings import PlainSettings
from leakscope.training.mitigations.registry import registered
from leakscope.training.training_setup import StartingPoint, TrainingSetup
from private_training import private, tiny_corpus
from watched_followers import WatchedTraining

FRESH = StartingPoint(None, None, None, None)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny_corpus(tmp_path_factory.mktemp("shared") / "corpus")


def plain(kind, **changes):
    asked = private(kind, **changes)
    shape = replace(asked.architecture, dropout=0.2)
    return replace(asked, mitigation=PlainSettings(), architecture=shape)


class Recorded:
    """A group of ranks whose decisions and sums are noted."""

    def __init__(self, ranks):
        self._ranks, self.decisions, self.sums = ranks, [], []

    def __getattr__(self, name):
        return getattr(self._ranks, name)

    def decided(self, choose):
        self.decisions.append(self._ranks.decided(choose).tolist())
        return np.array(self.decisions[-1], np.int64)

    def add_up(self, tensors):
        self._ranks.add_up(tensors)
        self.sums.append(torch.cat([each.flatten() for each in tensors]).double())


class CountedNoise:
    """A source of noise that counts."""

    def __init__(self, source):
        self._source, self.draws = source, 0

    def add_(self, tensors, deviation, step):
        self.draws += 1
        self._source.add_(tensors, deviation, step)


@contextmanager
def begun(corpus, settings, ranks, out):
    """A training of a process that writes: its network and its mitigation."""
    out.mkdir()
    setup = TrainingSetup(corpus, settings, FRESH, ranks)
    mitigation = registered(settings.mitigation.kind).start(settings.mitigation, setup.workbench())
    mitigation.open(out, 0)
    yield setup.model.network, mitigation
    mitigation.close()


def vector(tensors):
    return torch.cat([each.detach().flatten() for each in tensors]).double()


@pytest.mark.parametrize(
    ("kind", "workers"), [("lstm", 2), pytest.param("transformer", 3, marks=pytest.mark.slow)]
)
def test_every_plain_step_is_that_of_one_process(corpus, tmp_path, kind, workers):
    # With batches of two pieces, one of three processes has nothing to do.
    settings = plain(kind, batch_size=8 if workers == 2 else 2)
    task = FollowedTraining(corpus.path, settings, FRESH, tmp_path, None)
    with (
        crew_of(task, workers) as crew,
        begun(corpus, settings, OneRank(), tmp_path / "one") as (one, alone),
        begun(corpus, settings, crew.ranks, tmp_path / "all") as (network, shared),
    ):
        crew.assemble()
        assert shared.total == alone.total > 10
        for step in range(12):
            expected = alone.take(step)
            crew.begin(step)
            found = shared.take(step)
            assert found.words == expected.words
            assert found.loss == pytest.approx(expected.loss, rel=1e-5)
            gradients = [vector(w.grad for w in each.parameters()) for each in (network, one)]
            assert float((gradients[0] - gradients[1]).norm() / gradients[1].norm()) < 1e-4
            torch.testing.assert_close(
                vector(network.parameters()), vector(one.parameters()), rtol=1e-4, atol=1e-4
            )
        crew.check_digest(lambda: weights_of(network))  # all processes have the same bits


def test_every_private_step_is_that_of_one_process(corpus, tmp_path):
    settings = private("gru", epochs=3, rate=0.3, rate_schedule="9:0.001")  # then nobody is drawn
    task = WatchedTraining(corpus.path, settings, FRESH, tmp_path, None)
    ones = Recorded(OneRank())
    with crew_of(task, 2) as crew:
        all_ = Recorded(crew.ranks)
        with (
            begun(corpus, settings, ones, tmp_path / "one") as (one, alone),
            begun(corpus, settings, all_, tmp_path / "all") as (network, shared),
        ):
            shared._noise = noise = CountedNoise(shared._noise)
            crew.assemble()
            for step in range(12):
                alone.take(step)
                crew.begin(step)
                shared.take(step)
                assert noise.draws == step + 1
            crew.check_digest(lambda: weights_of(network))
            assert shared.ledger.spent == alone.ledger.spent == 12
            assert shared.history(12)["epsilon"] == alone.history(12)["epsilon"]
    assert all_.decisions == ones.decisions and ones.decisions[-1] == []
    assert len({len(each) for each in ones.decisions}) > 2
    for found, expected in zip(all_.sums, ones.sums, strict=True):
        assert float((found - expected).norm()) <= 1e-5 * float(expected.norm())
    torch.testing.assert_close(
        vector(network.parameters()), vector(one.parameters()), rtol=1e-5, atol=1e-5
    )
    ledgers = [(tmp_path / name / "privacy.jsonl").read_bytes() for name in ("one", "all")]
    assert ledgers[0] == ledgers[1]


def listening(process):
    """The addresses at which a process listens, as the system writes them."""
    sockets = set()
    for link in list(Path(f"/proc/{process}/fd").iterdir()):
        with suppress(FileNotFoundError):  # that of the listing itself
            name = str(link.readlink())
            sockets.add(name.removeprefix("socket:[").removesuffix("]"))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and parts[9] in sockets:
                found.append(parts[1].split(":")[0])
    return found


def test_they_meet_in_a_private_folder_and_on_the_loopback_interface(monkeypatch):
    seen = []

    @contextmanager
    def watched(kind):
        with private_scratch(kind) as folder:
            seen.extend((folder, stat.S_IMODE(folder.stat().st_mode)))
            yield folder

    monkeypatch.setattr("leakscope.training.distributed.crew.private_scratch", watched)
    left = Path(tempfile.mkdtemp(prefix="ls-crew-"))  # by a training that was killed
    before = torch.get_num_threads(), dict(os.environ)
    with crew_of(Failing("not"), 2) as crew:
        crew.assemble()
        (other,) = active_children()
        for process in (os.getpid(), other.pid):
            assert set(listening(process)) <= {"0100007F"}  # 127.0.0.1
        assert listening(other.pid)
        assert seen[1] == 0o700 and not seen[0].exists()
        assert not left.exists()
        with (
            pytest.raises(LeakscopeError, match="belongs to a group of torch"),
            crew_of(Failing("not"), 2),
        ):
            pass
        crew.begin(0)
        assert crew.ranks.total(2.0) == 3.0
    assert not active_children() and not dist.is_initialized()
    assert before == (torch.get_num_threads(), dict(os.environ))


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ("refuse", LeakscopeError, r"^A sentence of its own\.$"),
        ("start", LeakscopeError, r"^Nothing can be started\.$"),
        ("crash", RuntimeError, "ZeroDivisionError: a mistake"),
        ("die", LeakscopeError, r"^A worker process died \(out of memory\?\); the same command "),
        ("drift", LeakscopeError, "weights are no longer the same"),
        ("sleep", LeakscopeError, "has not answered for 0.05 minutes; the same command goes on"),
    ],
)
def test_what_ends_one_process_ends_all_with_one_error(how, error, says, capfd):
    workers = 3 if how == "die" else 2
    began = time.monotonic()
    with pytest.raises(error, match=says), crew_of(Failing(how), workers, patience=3.0) as crew:
        crew.assemble()
        for step in range(3):
            crew.begin(step)
            crew.ranks.total(1.0)
        crew.check_digest(lambda: b"same")
    assert not active_children() and not dist.is_initialized()
    assert time.monotonic() - began < 40
    assert capfd.readouterr().err == ""
