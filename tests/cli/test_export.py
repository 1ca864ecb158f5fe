"""`leakscope export`, and what `leakscope train` says about publishing."""

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row

TINY = ("--arch", "gru", "--embedding", 4, "--hidden", 6, "--epochs", 1, "--threads", 1)
DP = ("--mitigation", "dp", "--noise-multiplier", 1, "--sampling-rate", 0.5)


def test_a_private_training_says_how_it_can_be_published(tmp_path, leakscope, fails):
    rows = [Row(f"u{n}", f"the cat sat on mat {n % 4}") for n in range(20)]
    build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))
    ran = leakscope("train", tmp_path / "c", "--out", tmp_path / "own", *TINY, *DP)
    assert "Do not publish" in ran.err and "train it with --vocabulary-users 5" in ran.err
    assert "words of a single user" in fails(
        "export", tmp_path / "own", "--public", "--out", tmp_path / "no"
    )
    many = ("--vocabulary-users", 5)
    ran = leakscope("train", tmp_path / "c", "--out", tmp_path / "m", *TINY, *DP, *many)
    assert f"leakscope export {tmp_path / 'm'} --public --out DIR" in ran.err
    ran = leakscope("export", tmp_path / "m", "--public", "--out", tmp_path / "copy")
    assert "dp, epsilon" in ran.out and "note: The vocabulary" in ran.err
    assert leakscope("probe", tmp_path / "copy", "the cat").out
    assert "report on the model directory" in fails(
        "report", tmp_path / "copy", tmp_path / "c", "--out", tmp_path / "r"
    )
    plain = leakscope("train", tmp_path / "c", "--out", tmp_path / "plain", *TINY)
    assert "publish" not in plain.err
    assert "--mitigation dp" in fails(
        "export", tmp_path / "plain", "--public", "--out", tmp_path / "no"
    )
    assert not (tmp_path / "no").exists()
