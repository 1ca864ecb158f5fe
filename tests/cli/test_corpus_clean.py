"""`leakscope corpus clean` on a synthetic corpus with a bot, as a user would give it."""

import json

import pyarrow.parquet as pq
import pytest

from leakscope.corpus.store import Corpus


@pytest.fixture
def synthetic(leakscope, tmp_path):
    for command in (
        ("corpus", "synth", "--users", 20, "--words", 8000, "--out", tmp_path / "s"),
        ("corpus", "build", tmp_path / "s" / "data.parquet", "--out", tmp_path / "c"),
    ):
        ran = leakscope(*command)
        assert ran.code == 0, ran.err
    return tmp_path


def training_texts(path):
    return [text for part in Corpus.open(path).documents(texts=True) for text in part.texts]


def planted(path, *kinds):
    rows = pq.read_table(path / "s" / "truth.parquet").to_pylist()
    return [row["text"] for row in rows if row["kind"] in kinds]


def test_the_bot_says_it_once(synthetic, leakscope):
    ran = leakscope(
        *("corpus", "clean", synthetic / "c", "--out", synthetic / "c2"),
        *("--documents", "exact", "--across-users"),
    )
    assert ran.code == 0, ran.err
    (notice,) = planted(synthetic, "bot")
    assert training_texts(synthetic / "c").count(notice) > 100
    assert training_texts(synthetic / "c2").count(notice) == 1
    summary = json.loads((synthetic / "c2" / "clean.json").read_text())
    told = summary["documents"]["exact"]
    assert f"({told['within']:,} within a user, {told['across']:,} across) exact" in ran.out
    assert told["within"] >= training_texts(synthetic / "c").count(notice) - 1
    assert "sentences" not in ran.out and "scrub" not in ran.out
    info = leakscope("corpus", "info", synthetic / "c2", "--json")
    (origin,) = json.loads(info.out)["inputs"]
    old = Corpus.open(synthetic / "c").manifest
    assert origin == {"name": "c", "format": "corpus", "digest": old.digest}


def test_planted_secrets_go_and_every_step_tells(synthetic, leakscope):
    command = ("corpus", "clean", synthetic / "c", "--out", synthetic / "c2", "--scrub", "all")
    ran = leakscope(*command, "--documents", "near", "--sentences", "exact", "--min-users", 2)
    assert ran.code == 0, ran.err
    for line in ("documents ", "near duplicates", "sentences ", "scrub ", "rare words "):
        assert line in ran.out
    left = "\n".join(training_texts(synthetic / "c2"))
    secrets = planted(synthetic, "address", "phone", "account")
    assert len(secrets) > 10 and not [secret for secret in secrets if secret in left]
    assert "xxADDRESSxx" in left and "xxRARExx" in left
    lexicon = Corpus.open(synthetic / "c2").lexicon
    common = [
        users
        for word, users in zip(lexicon.words, lexicon.users, strict=True)
        if not word.startswith("xx")
    ]
    assert min(common) >= 2
    assert not [secret for secret in secrets if secret in ran.out + ran.err]


def test_json_and_errors(synthetic, leakscope, fails):
    command = ("corpus", "clean", synthetic / "c", "--out", synthetic / "c2")
    assert "choose among --documents" in fails(*command)
    assert "email, phone, card, account, address, url, ip or all" in fails(
        *command, "--scrub", "names"
    )
    assert "not a corpus directory" in fails(
        *("corpus", "clean", synthetic / "nowhere", "--out", synthetic / "c2", "--scrub", "ip")
    )
    assert not (synthetic / "c2").exists()
    ran = leakscope(*command, "--scrub", "phone", "--scrub", "email", "--json")
    summary = json.loads(ran.out)
    assert summary["settings"]["scrub"] == ["phone", "email"]
    assert summary["scrub"]["replaced"]["phone"] > 0 and summary["documents"] is None
    assert json.loads((synthetic / "c2" / "clean.json").read_text()) == summary
    assert "already exists" in fails(*command, "--scrub", "phone")
