"""The value of an insecure seed is nowhere in what is kept or shared; that there was one, is."""

import json

import pytest

from leakscope.auditing.public_settings import PublicSettings
from leakscope.commands.compare import compare
from leakscope.commands.harden import harden
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_config
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.pages.report_page import write_page
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.train_settings import TrainSettings
from resealed import reseal

SEED = 1_834_729_561  # such that no other number is likely to look like it
TERMS = PrivacySettings(rate=0.5, noise_multiplier=0.5, insecure_seed=SEED)
TINY = TrainSettings(
    Architecture("gru", 1, 4, 6), vocabulary=20, epochs=2, learning_rate=0.05, mitigation=TERMS
)


@pytest.fixture
def corpus(tmp_path):
    rows = [Row(f"u{i}", " ".join("abcdefg"[(i * k) % 7] for k in range(9))) for i in range(8)]
    return build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.1))


def files_with(text, folder):
    """Files that have a text, also where digits of JSON or pages would be grouped."""
    found = []
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        if any(form.encode() in data for form in (str(text), f"{text:,}")):
            found.append(path.name)
    return found


def test_the_seed_is_in_no_model_report_or_comparison(corpus, tmp_path):
    train(corpus.path, tmp_path / "m", TINY)
    for name, public in (("r", None), ("s", PublicSettings("retrain"))):
        report(tmp_path / "m", corpus.path, tmp_path / name, public, threads=1)
    compare([tmp_path / "r", tmp_path / "s"], tmp_path / "c", allow_mixed=True)
    harden(tmp_path / "r", corpus.path, tmp_path / "h", threads=1)
    assert files_with(SEED, tmp_path) == []
    config = load_config(tmp_path / "m")
    assert config.training["mitigation"]["insecure_seed"] == "given"
    assert config.privacy.insecure_seed
    assert open_run(tmp_path / "r")[0].model.training == config.training
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Insecure seed." in page and "mitigation.insecure_seed" in page and "given" in page


def test_models_and_runs_of_older_versions_do_not_give_it_away(corpus, tmp_path):
    train(corpus.path, tmp_path / "m", TINY)
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["training"]["mitigation"]["insecure_seed"] = SEED
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    reseal(tmp_path / "m")
    report(
        tmp_path / "m", corpus.path, tmp_path / "r", PublicSettings("crossfit", folds=2),
        threads=1,
    )  # fmt: skip
    assert files_with(SEED, tmp_path / "r") == []
    assert files_with(SEED, tmp_path / "m") == ["config.json"]
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    manifest["model"]["training"]["mitigation"]["insecure_seed"] = SEED
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(manifest))
    reseal(tmp_path / "r")
    write_page(tmp_path / "r")
    assert files_with(SEED, tmp_path / "r") == ["manifest.json"]
