"""`train --workers` on the command line; `tests/training/distributed` has the rest."""

from leakscope.models.word.model_directory import load_config
from private_training import tiny_corpus

SMALL = (
    "--arch", "gru", "--hidden", 8, "--embedding", 6, "--vocabulary", 50, "--epochs", 1,
)  # fmt: skip


def test_a_private_model_by_two_workers_without_a_seed(leakscope, tmp_path):
    """At the checkpoint after every second step, the workers' weights are compared."""
    corpus, out = tiny_corpus(tmp_path / "corpus"), tmp_path / "m"
    private = ("--mitigation", "dp", "--noise-multiplier", 0.7, "--sampling-rate", 0.1)
    often = ("--checkpoint-steps", 2, "--workers", 2, "--threads", 2)
    ran = leakscope("train", corpus.path, *SMALL, *private, *often, "--out", out)
    assert ran.code == 0 and "validation perplexity" in ran.out, ran.err
    found = load_config(out).privacy
    assert found.steps == 10 and found.lost_steps == 0 and found.epsilon > 0


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
