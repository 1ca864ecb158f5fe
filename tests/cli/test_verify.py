"""`leakscope verify`: what it says, its exit codes, and signatures by real keys."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from resealed import reseal

BEFORE = Path(__file__).parents[1] / "records" / "before"


@pytest.fixture
def corpus(tmp_path):
    rows = [Row(f"u{i}", f"some words of {i}") for i in range(9)]
    return build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0.0)).path


def test_what_is_intact_and_what_is_not(corpus, tmp_path, leakscope):
    ran = leakscope("verify", corpus)
    assert ran.code == 0 and ran.out.startswith(f"intact: {corpus} (corpus): 3 files")
    (corpus / "notes.txt").write_text("mine")
    ran = leakscope("verify", corpus)
    assert ran.code == 0 and "extra: notes.txt" in ran.out
    (corpus / "shards" / "00000.parquet").write_bytes(b"PAR1")
    (corpus / "lexicon.parquet").unlink()
    ran = leakscope("verify", corpus)
    assert ran.code == 1 and "DAMAGED" in ran.out
    assert "changed: shards/00000.parquet" in ran.out and "missing: lexicon.parquet" in ran.out
    (found,) = json.loads(leakscope("verify", corpus, "--json").out)
    assert found["path"] == str(corpus) and found["kind"] == "corpus" and found["checked"] == 1
    assert found["changed"] == ["shards/00000.parquet"] and found["extra"] == ["notes.txt"]


def test_others_find_the_same(corpus):
    """The seal is one that coreutils can check."""
    words = ["b2sum", "--check", "--strict", "seal.txt"]
    assert subprocess.run(words, cwd=corpus, check=False).returncode == 0
    (corpus / "lexicon.parquet").write_bytes(b"PAR1")
    assert subprocess.run(words, cwd=corpus, check=False).returncode == 1


@pytest.mark.parametrize("name", ["gru", "dprun", "snaps"])
def test_what_an_earlier_version_made_is_not_checked(tmp_path, leakscope, name):
    shutil.copytree(BEFORE / name, tmp_path / name)
    if name == "gru":
        (tmp_path / name / "vocabulary.json").write_text("[]")
    ran = leakscope("verify", tmp_path / name)
    assert ran.code == 2 and "made by an earlier version, not checked" in ran.out


def test_a_name_in_a_seal_leads_nowhere_else(corpus, tmp_path, leakscope):
    """Somebody else's seal must not make us read, or tell of, files elsewhere."""
    from leakscope.records.seal import render_seal

    for name in ("../c2/secret", "/etc/passwd", "a/../../b", "./x"):
        (corpus / "seal.txt").write_text(render_seal({name: "0" * 32}))
        ran = leakscope("verify", corpus)
        assert ran.code == 1 and "changed: seal.txt" in ran.out and "passwd" not in ran.out


def test_what_is_not_ours(tmp_path, fails):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.txt").write_text("mine")
    assert "nothing that leakscope has made" in fails("verify", tmp_path / "x")
    assert "is not a block list" in fails("verify", tmp_path / "x" / "thesis.txt")
    assert "There is no" in fails("verify", tmp_path / "y")
    assert "belong together" in fails("verify", tmp_path / "x", "--signer", "ada")


@pytest.fixture
def key(tmp_path):
    """A key, and the file that allows it to ada."""
    for name in ("key", "other"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(words, check=True)
    public = (tmp_path / "key.pub").read_text()
    (tmp_path / "signers").write_text(f"ada {public}")
    return tmp_path / "key"


def test_a_signature_is_made_and_checked(corpus, key, tmp_path, leakscope):
    ask = ("verify", corpus, "--signers", tmp_path / "signers", "--signer")
    assert leakscope(*ask, "ada").code == 1, "not signed yet"
    ran = leakscope("verify", corpus, "--sign", key)
    assert ran.code == 0 and "signature made now" in ran.out
    ran = leakscope(*ask, "ada")
    assert ran.code == 0 and "signature good by ada" in ran.out
    assert leakscope(*ask, "bob").code == 1, "nobody has allowed bob"
    assert "signature not checked" in leakscope("verify", corpus).out
    leakscope("verify", corpus, "--sign", tmp_path / "other")
    assert leakscope(*ask, "ada").code == 1, "another key"
    leakscope("verify", corpus, "--sign", key)
    manifest = json.loads((corpus / "manifest.json").read_text())
    (corpus / "manifest.json").write_text(json.dumps(manifest | {"users": 8}))
    reseal(corpus)  # as an attacker would
    assert leakscope("verify", corpus).code == 0
    assert leakscope(*ask, "ada").code == 1


def test_a_signature_for_something_else_is_none(corpus, key, tmp_path, leakscope):
    words = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", "git", str(corpus / "seal.txt")]
    subprocess.run(words, check=True, capture_output=True)
    ask = ("verify", corpus, "--signers", tmp_path / "signers", "--signer", "ada")
    assert leakscope(*ask).code == 1


def test_what_is_damaged_is_not_signed(corpus, key, leakscope, fails, monkeypatch):
    (corpus / "lexicon.parquet").write_bytes(b"PAR1")
    ran = leakscope("verify", corpus, "--sign", key)
    assert ran.code == 1 and "Nothing was signed" in ran.err
    assert not (corpus / "seal.txt.sig").exists()
    reseal(corpus)
    assert "could not sign" in fails("verify", corpus, "--sign", corpus / "manifest.json")
    assert "There is no key" in fails("verify", corpus, "--sign", corpus / "nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "need ssh-keygen" in fails("verify", corpus, "--sign", key)
