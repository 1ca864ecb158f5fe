"""`train --workers` on the command line; `tests/training/distributed` has the rest."""

from leakscope.models.word.model_directory import load_config
from private_training import tiny_corpus

SMALL = (
    "--arch", "gru", "--hidden", 8, "--embedding", 6, "--vocabulary", 50, "--epochs", 1,
)  # fmt: skip


def test_a_model_by_two_workers(leakscope, tmp_path):
    corpus = tiny_corpus(tmp_path / "corpus")
    ran = leakscope("train", corpus.path, *SMALL, "--workers", 2, "--out", tmp_path / "m")
    assert ran.code == 0 and "validation perplexity" in ran.out
    assert load_config(tmp_path / "m").progress["epoch"] == 1.0


def test_what_is_refused(fails, tmp_path, monkeypatch):
    corpus, out = tiny_corpus(tmp_path / "corpus"), tmp_path / "m"
    asked = ("train", corpus.path, *SMALL, "--out", out)
    assert "must be at least 1" in fails(*asked, "--workers", 0)
    said = fails(*asked, "--workers", 2, "--mitigation", "triplet")
    assert "A step with the triplet regularizer needs all its texts in one process" in said
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "leave out torchrun, and give --workers." in fails(*asked)
    assert not out.exists()
