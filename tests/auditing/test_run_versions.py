"""A run's manifest names all that computed the model's answers, and an adapter's base."""

import json
from importlib.metadata import version

import pytest

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import pretrained_digest
from leakscope.commands.report import report
from leakscope.leakage.pipeline import audit
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from saved_causal import saved, saved_adapter
from small_models import repeated_by, sharp_model
from subjects import subject_of

ASKED = ReportSettings(top_k=2, least_context=0)


@pytest.fixture
def corpus(make_corpus):
    return make_corpus([("ann", "the cat sat on the mat"), ("bob", "the dog sat")] * 3)


def manifest(out):
    return json.loads((out / "manifest.json").read_text())


def test_a_causal_model_names_its_packages(corpus, tmp_path):
    saved(tmp_path / "m")
    report(tmp_path / "m", corpus.path, tmp_path / "r", ASKED, threads=1)
    found = manifest(tmp_path / "r")
    assert found["versions"]["transformers"] == version("transformers")
    assert found["versions"]["tokenizers"] == version("tokenizers")
    assert "peft" not in found["versions"] and "base" not in found["model"]


@pytest.mark.parametrize("given", [True, False], ids=["base given", "base named"])
def test_an_adapter_names_its_base(corpus, tmp_path, given):
    adapter, _, _ = saved_adapter(tmp_path)
    how = LoadingSettings(base=tmp_path / "base" if given else None)
    report(adapter, corpus.path, tmp_path / "r", ASKED, how, threads=1)
    found = manifest(tmp_path / "r")
    assert found["versions"]["peft"] == version("peft")
    assert found["model"]["base"] == "base"
    assert found["model"]["base_digest"] == pretrained_digest(tmp_path / "base", None)


def test_a_damaged_adapter_config_is_named(corpus, tmp_path):
    adapter, _, _ = saved_adapter(tmp_path)
    (adapter / "adapter_config.json").write_text("[1]")
    with pytest.raises(LeakscopeError, match=r"adapter_config\.json is"):
        report(adapter, corpus.path, tmp_path / "r", ASKED, threads=1)


def test_a_word_model_names_none_of_them(make_corpus, tmp_path):
    model = sharp_model("gru", ["a", "b", "c", "d"], 3)
    corpus = make_corpus(repeated_by(model, 3, 9, 8))
    audit(subject_of(lambda: model.reading(corpus.lexicon)), corpus, tmp_path / "r", ASKED)
    assert not {"transformers", "tokenizers", "peft"} & set(manifest(tmp_path / "r")["versions"])
