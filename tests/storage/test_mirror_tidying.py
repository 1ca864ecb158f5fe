"""What killed processes leave half-written in the cache goes when the URL is used again."""

import pytest

import leakscope
from leakscope.records.output_claim import MARKER
from leakscope.storage.mirror import Mirror
from leakscope.storage.remote_address import address_of
from leakscope.storage.remote_store import RemoteStore
from remote_artifacts import ASKED, files_of

HALF = ".it.77-0badc0de.leakscope"


class KilledError(BaseException):
    """Stands for a kill: nothing of ours catches it."""


def stopped(*_: object) -> None:
    raise KilledError


def test_half_of_an_input_goes(uploaded, remote):
    leakscope.corpus.info(f"{remote}/corpus")
    mirror = Mirror(address_of(f"{remote}/corpus"))
    for folder in (mirror.home, mirror.path, mirror.path / "shards"):
        (folder / HALF).write_text("half")
    leakscope.corpus.info(f"{remote}/corpus")
    assert mirror.half_written() == []


def test_half_of_an_output_and_its_empty_mark_go(uploaded, remote, monkeypatch):
    """It was killed when all was made, and before that was noted."""

    with monkeypatch.context() as killing:
        killing.setattr(RemoteStore, "write", stopped)
        with pytest.raises(KilledError):
            leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/made")
    mirror = Mirror(address_of(f"{remote}/made"))
    mirror.note(mirror.state().model_copy(update={"phase": "working"}))
    (mirror.home / HALF).write_text("half")
    (mirror.path / MARKER).touch()
    leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/made")
    assert mirror.half_written() == [] and not (mirror.path / MARKER).exists()
    assert (uploaded / "made" / "manifest.json").is_file()


def test_a_run_is_uploaded_that_was_killed_before_its_mark_was_gone(uploaded, remote, monkeypatch):
    arguments = (f"{remote}/model", f"{remote}/corpus", f"{remote}/made")
    with monkeypatch.context() as killing:
        killing.setattr("os.ftruncate", lambda *_: stopped())
        with pytest.raises(KilledError):
            leakscope.report(*arguments, **ASKED)
    mirror = Mirror(address_of(f"{remote}/made"))
    assert (mirror.path / MARKER).stat().st_size and mirror.state().phase == "working"
    leakscope.report(*arguments, **ASKED)
    assert files_of(uploaded / "made").keys() == files_of(uploaded / "run").keys()
    assert not (mirror.path / MARKER).exists()
