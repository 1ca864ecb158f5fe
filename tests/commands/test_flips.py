"""A flipped bit or a lost byte in any file of ours is noticed: by its reader, and by verify."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import leakscope as api
from leakscope.corpus.store import Corpus
from leakscope.leakage.pipeline import audit
from leakscope.leakage.scrutiny.validation_answers import stored_answers
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.seal import SEAL
from small_models import repeated_by, sharp_model
from subjects import subject_of

FLIPS = 4
SIZE = {"arch": "gru", "embedding": 4, "hidden": 6, "epochs": 2, "batch_size": 4, "threads": 1}
PREFIX = ["w1", "w2"]
WORDS = ["a", "b", "c", "d", "e", "f", "g"]


class StoppedError(Exception):
    pass


def stop_after(steps: int) -> Callable[..., None]:
    def progress(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if stage == "train" and done == steps:
            raise StoppedError

    return progress


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """One of each kind of artifact."""
    root = tmp_path_factory.mktemp("flips")
    draw = random.Random(3)
    with (root / "in.jsonl").open("w") as file:
        for user in range(8):
            said = " ".join(f"w{draw.randrange(9)}" for _ in range(8))
            file.writelines(json.dumps({"user": f"u{user}", "text": said}) + "\n" for _ in "123")
    api.corpus.build(root / "in.jsonl", root / "built", shard_words=70, validation=0.2)
    api.corpus.clean(root / "built", root / "corpus", documents="none", scrub=["email"])
    api.train(root / "corpus", root / "model", learning_rate=0.05, **SIZE)
    with suppress(StoppedError):
        unfinished(root / "unfinished", root / "corpus", stop_after(8))
    for name, reveal in (("redacted", False), ("revealed", True)):
        api.report(root / "model", root / "corpus", root / name, reveal=reveal, threads=1)
    api.harden(root / "revealed", root / "corpus", root / "hardened", threads=1)
    shutil.copy(root / "hardened" / "blocklist.bloom", root / "block-list")
    return root


def unfinished(out: Path, corpus: Path, progress: Callable[..., None] = lambda *_: None) -> None:
    api.train(corpus, out, checkpoint_steps=3, progress=progress, **SIZE)


def read_corpus(path: Path, made: Path) -> object:
    corpus = Corpus.open(path)
    lexicon = corpus.lexicon
    documents = [
        (part.users.tolist(), part.numbers.tolist(), part.ids.tolist(), part.texts)
        for split in ("train", "validation")
        for part in corpus.documents(split, texts=True)
    ]
    keys = [shard.user_keys() for shard in corpus.shards]
    counts = lexicon.counts.tolist(), lexicon.users.tolist()
    return corpus.manifest, list(lexicon.words), counts, documents, keys


def read_model(path: Path, made: Path) -> object:
    return load_config(path), load_model(path).next(PREFIX).log_probs.tolist()


def finish_training(path: Path, made: Path) -> object:
    unfinished(path, made / "corpus")
    config = load_config(path)
    figures = {name: value for name, value in config.progress.items() if name != "seconds"}
    return config.training, figures, load_model(path).next(PREFIX).log_probs.tolist()


def read_run(path: Path, made: Path) -> object:
    run = api.open_run(path)
    answers = stored_answers(path)
    kept = None if answers is None else (answers.rank.tolist(), answers.top_log_prob.tolist())
    tables = [table().to_pylist() for table in (run.sequences, run.occurrences, run.users)]
    return run.manifest, run.metrics, str(tables), str(kept), str(api.suggest(path))


def read_hardened(path: Path, made: Path) -> object:
    return read_block_list(path / "blocklist.bloom", made)


def read_block_list(path: Path, made: Path) -> object:
    return BlockList.load(path).count


KINDS = {
    "corpus": ("corpus", read_corpus),
    "model": ("model", read_model),
    "snapshot": ("model/snapshots/epoch-001", read_model),
    "unfinished training": ("unfinished", finish_training),
    "redacted run": ("redacted", read_run),
    "revealed run": ("revealed", read_run),
    "hardened": ("hardened", read_hardened),
    "block list": ("block-list", read_block_list),
}


def spoilt(content: bytes, draw: random.Random) -> Iterator[bytes]:
    """The content with single bits flipped, and cut short."""
    for _ in range(FLIPS):
        place, bit = draw.randrange(len(content)), 1 << draw.randrange(8)
        yield content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]
    yield content[: draw.randrange(len(content))]
    yield content[:-1]


def copied(source: Path, target: Path) -> Path:
    if source.is_file():
        return Path(shutil.copy(source, target))
    return Path(shutil.copytree(source, target))


@pytest.mark.parametrize("kind", KINDS)
def test_no_flip_is_silent(made, tmp_path, kind):
    where, use = KINDS[kind]
    honest = use(copied(made / where, tmp_path / "honest"), made)
    draw, number = random.Random(kind), 0
    files = [p for p in (made / where).rglob("*") if p.is_file()] or [made / where]
    for file in sorted(files):
        for content in spoilt(file.read_bytes(), draw):
            number += 1
            path = copied(made / where, tmp_path / str(number))
            target = path / file.relative_to(made / where) if path.is_dir() else path
            target.write_bytes(content)
            noticed = any(each.is_damaged for each in api.verify(path))
            assert noticed or file.name == MARKER, f"verify does not see {target.name}"
            try:
                assert use(path, made) == honest, f"{target.name}: another answer"
            except LeakscopeError as error:
                assert str(path) in str(error) and "\n" not in str(error), error
            if path.is_dir():
                shutil.rmtree(path)
    assert number == (FLIPS + 2) * len(files)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_as_it_was_written_is_intact(made, kind):
    found = api.verify(made / KINDS[kind][0])
    assert not any(each.is_damaged or each.unchecked or each.extra for each in found), found
    assert all(each.checked for each in found)
    assert any(each.unfinished for each in found) == (kind == "unfinished training")


YOUNGER = (MARKER, "history.parquet", "checkpoint.json")
"""Without these, a training looks as if it had been killed earlier, and arrives at the same."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "block list"])
def test_no_loss_is_silent(made, tmp_path, kind):
    where, use = KINDS[kind]
    honest = use(copied(made / where, tmp_path / "honest"), made)
    for number, file in enumerate(p for p in (made / where).rglob("*") if p.is_file()):
        path = copied(made / where, tmp_path / str(number))
        (path / file.relative_to(made / where)).unlink()
        if str(file.relative_to(made / where)) not in YOUNGER:
            found = api.verify(path)
            assert any(each.is_damaged for each in found) or file.name.endswith(".seal"), file
        try:
            assert use(path, made) == honest, file.name
        except LeakscopeError as error:
            assert str(path) in str(error)


def test_a_lost_seal_is_missed(made, tmp_path):
    for where, use in KINDS.values():
        if not (made / where / SEAL).is_file() or use is read_hardened:
            continue
        path = copied(made / where, tmp_path / where.replace("/", "-"))
        (path / SEAL).unlink()
        with pytest.raises(LeakscopeError, match=r"seal\.txt is missing"):
            use(path, made)


def parts_of(run: Path) -> list[Path]:
    return sorted((run / ".work").glob("score-*.parquet"))


def test_damaged_parts_of_an_unfinished_report_are_made_again(make_corpus, tmp_path):
    """Also where only the footer is damaged, which has sums that no page checksum covers."""
    model = sharp_model("gru", WORDS, 3)
    corpus = make_corpus(repeated_by(model, 9, 40, 12), shard_words=150)
    subject = subject_of(lambda: model.reading(corpus.lexicon))

    def report(out: Path, stop: str | None = None, spoil: Callable[[], None] = lambda: None):
        def progress(stage: str, done: int, total: int | None = None, note: str = "") -> None:
            if stage == "count":
                spoil()
            if stage == stop:
                raise StoppedError

        return audit(subject, corpus, out, ReportSettings(top_k=2), progress=progress)

    honest = report(tmp_path / "honest")
    out = tmp_path / "run"
    with pytest.raises(StoppedError):
        report(out, "count")
    parts = parts_of(out)
    assert len(parts) == len(corpus.shards) > 2
    for part, old, new in ((parts[0], b"near_ties", b"near_tiez"), (parts[1], b"PAR1", b"PAR2")):
        part.write_bytes(part.read_bytes().replace(old, new))
    parts[2].with_name(parts[2].name + ".seal").unlink()
    assert report(out) == honest and not (out / ".work").exists()

    def spoil() -> None:
        part = parts_of(tmp_path / "now")[0]
        part.write_bytes(part.read_bytes()[:-9] + b"x" * 9)

    with pytest.raises(LeakscopeError, match=r"score-.* is truncated or damaged"):
        report(tmp_path / "now", spoil=spoil)
