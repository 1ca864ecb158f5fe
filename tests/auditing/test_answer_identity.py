"""Everything that can change a model's answers is in what they are kept under, and nothing else."""

import json
from dataclasses import replace

import pytest

import leakscope
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_subject import subject_of
from leakscope.auditing.public_models import public_source
from leakscope.auditing.public_settings import PublicSettings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import silent
from leakscope.models import answer_identity
from leakscope.models.device import device_kind
from leakscope.records.seal import SEAL
from saved_causal import saved, saved_adapter, write_gguf

PLAIN = LoadingSettings(device="cpu")
SHAPE = {"arch": "transformer", "epochs": 1, "hidden": 12, "embedding": 12, "vocabulary": 60}
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    leakscope.corpus.synth(folder / "synth", users=9, words=1500)
    leakscope.corpus.build(folder / "synth" / "data.parquet", folder / "corpus")
    return Corpus.open(folder / "corpus")


@pytest.fixture
def word(corpus, tmp_path):
    leakscope.train(corpus.path, tmp_path / "word", threads=1, **SHAPE)
    return tmp_path / "word"


def audited(path, corpus, how=PLAIN):
    return subject_of(path, corpus, how, name=None, block_list=None).identity.digest


def given(path, corpus, how=PLAIN):
    """As a public model."""
    source = public_source(PublicSettings(str(path)), None, corpus, how=how, progress=silent)
    return source([]).identity.digest


def versions_read(monkeypatch, identity):
    """The packages whose versions decide an identity."""
    known, read = answer_identity.version, []
    monkeypatch.setattr(answer_identity, "version", lambda name: read.append(name) or known(name))
    identity()
    monkeypatch.undo()
    return set(read)


def test_a_word_level_model(corpus, word, monkeypatch):
    for of in (audited, given):
        known = of(word, corpus)
        for same in ({"threads": 7}, {"batch_tokens": 64}, {"device": "cpu:0"}):
            assert of(word, corpus, replace(PLAIN, **same)) == known
        assert of(word, corpus, replace(PLAIN, device="cuda")) != known
        assert versions_read(monkeypatch, lambda of=of: of(word, corpus)) == {"torch", "numpy"}


def test_a_word_level_model_is_more_than_its_weights(corpus, word):
    """The same tensors answer otherwise when another number of heads reads them."""
    before = [audited(word, corpus), given(word, corpus)]
    config = json.loads((word / "config.json").read_text())
    config["architecture"]["heads"] //= 2
    (word / SEAL).unlink()
    (word / "config.json").write_text(json.dumps({**config, "sealed": False}))
    after = [audited(word, corpus), given(word, corpus)]
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_a_causal_model(corpus, tmp_path, monkeypatch):
    _, tok = saved(tmp_path / "m")
    tok.chat_template = TEMPLATE
    tok.save_pretrained(tmp_path / "m")
    for of in (audited, given):
        known = of(tmp_path / "m", corpus)
        for same in ({"threads": 7}, {"batch_tokens": 64}):
            assert of(tmp_path / "m", corpus, replace(PLAIN, **same)) == known
        for other in ({"dtype": "bfloat16"}, {"device": "cuda"}, {"chat_template": "user"}):
            assert of(tmp_path / "m", corpus, replace(PLAIN, **other)) != known
        read = versions_read(monkeypatch, lambda of=of: of(tmp_path / "m", corpus))
        assert read == {"torch", "numpy", "transformers", "tokenizers"}
    roles = {
        audited(tmp_path / "m", corpus, replace(PLAIN, chat_template=role))
        for role in ("user", "assistant")
    }
    assert len(roles) == 2


def test_an_adapter_and_a_gguf_file(corpus, tmp_path, monkeypatch):
    adapter, _, _ = saved_adapter(tmp_path)
    known = audited(adapter, corpus)
    assert audited(adapter, corpus, replace(PLAIN, base=tmp_path / "base")) == known
    assert "peft" in versions_read(monkeypatch, lambda: audited(adapter, corpus))
    config = json.loads((tmp_path / "base" / "config.json").read_text())
    config["rms_norm_eps"] = 0.5
    (tmp_path / "base" / "config.json").write_text(json.dumps(config))
    assert audited(adapter, corpus) != known

    network, tok = saved(tmp_path / "hf", tokens="bytes")
    (tmp_path / "gguf").mkdir()
    file = tmp_path / "gguf" / "m.gguf"
    write_gguf(file, network, tok)
    read = versions_read(monkeypatch, lambda: audited(file, corpus))
    assert "gguf" in read and "peft" not in read


def test_auto_is_what_it_comes_to():
    assert device_kind("auto") in ("cpu", "cuda")
    assert device_kind("cuda:1") == device_kind("cuda") == "cuda"
    with pytest.raises(leakscope.LeakscopeError, match="no device gpu"):
        device_kind("gpu")


class KilledError(Exception):
    pass


def killed_at_count(stage, done, total=None, note=""):
    if stage == "count":
        raise KilledError


@pytest.mark.parametrize(
    ("change", "kept"),
    [({}, True), ({"threads": 2}, True), ({"dtype": "bfloat16"}, False)],
    ids=["same", "threads", "dtype"],
)
def test_a_report_resumed(corpus, tmp_path, change, kept):
    saved(tmp_path / "m")
    asked = {
        "trained_on": "train",
        "top_k": 3,
        "least_context": 0,
        "validation_words": 0,
        "threads": 1,
    }
    wanted = leakscope.report(tmp_path / "m", corpus.path, tmp_path / "w", **{**asked, **change})
    with pytest.raises(KilledError):
        leakscope.report(
            tmp_path / "m", corpus.path, tmp_path / "r", progress=killed_at_count, **asked
        )
    told = []
    found = leakscope.report(
        tmp_path / "m",
        corpus.path,
        tmp_path / "r",
        progress=lambda stage, done, total=None, note="": told.append((stage, done, total)),
        **{**asked, **change},
    )
    _, done, total = next(each for each in told if each[0] == "score")
    assert done == (total if kept else 0)
    assert found.metrics == wanted.metrics
