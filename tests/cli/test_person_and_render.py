"""What one person is told, what can be shared, and a report on some users."""

import json

import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A small corpus and a model trained on it."""
    import leakscope

    where = tmp_path_factory.mktemp("person")
    leakscope.corpus.synth(where / "s", users=12, words=5000)
    leakscope.corpus.build([where / "s" / "data.parquet"], where / "c", shard_words=2000)
    leakscope.train(where / "c", where / "m", arch="gru", embedding=16, hidden=24, epochs=3,
                    batch_size=16, learning_rate=0.02, threads=1)  # fmt: skip
    leakscope.report(where / "m", where / "c", where / "r", top_k=3, reveal=True)
    return where


def key_of(place, number):
    import leakscope

    return leakscope.open_run(place / "r").users()["user_key"].to_pylist()[number]


def test_a_person_by_one_command(place, leakscope, tmp_path):
    ran = leakscope("person", place / "r", "--user", key_of(place, 2), "--out", tmp_path / "p")
    assert ran.code == 0, ran.err
    assert "out of this model that nobody else has" in ran.out
    assert f"page: {tmp_path / 'p' / 'person.html'}" in ran.out
    names = sorted(path.name for path in (tmp_path / "p").iterdir())
    assert names == ["person.csv", "person.html", "person.json", "seal.txt"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "p").iterdir())
    ran = leakscope("person", place / "r", "--number", 2, "--out", tmp_path / "q", "--json")
    said = json.loads(ran.out)
    assert ran.code == 0 and said["user"] == 2 and said["user_key"] == key_of(place, 2)
    (tmp_path / "p" / "person.csv").write_text("changed")
    ran = leakscope("verify", tmp_path / "p")
    assert ran.code == 1 and "(person)" in ran.out and "changed: person.csv" in ran.out


def test_a_wrong_person_is_one_sentence_without_the_key(place, fails, tmp_path):
    out = ("--out", tmp_path / "p")
    said = fails("person", place / "r", "--user", "eve@example.org", "--corpus", place / "c", *out)
    assert "no user with this key" in said and "eve" not in said
    assert "either --user or --number" in fails("person", place / "r", *out)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "thesis.txt").write_text("mine")
    assert "already exists" in fails("person", place / "r", "--number", 2, *out)


def test_a_run_is_redacted_and_revealed_again(place, leakscope, fails, tmp_path):
    ran = leakscope("render", place / "r", "--redact", "--out", tmp_path / "shared")
    assert ran.code == 0 and f"redacted run: {tmp_path / 'shared'}" in ran.out
    back = ("--reveal", "--corpus", place / "c", "--out", tmp_path / "back")
    assert leakscope("render", tmp_path / "shared", *back).code == 0
    for name in ("sequences.parquet", "users.parquet", "report.html", "metrics.json"):
        assert (tmp_path / "back" / name).read_bytes() == (place / "r" / name).read_bytes()
    assert leakscope("verify", tmp_path / "shared", tmp_path / "back").code == 0
    ran = leakscope("compare", place / "r", tmp_path / "shared")
    assert ran.code == 0, ran.err
    out = ("--out", tmp_path / "x")
    assert "either --redact or --reveal" in fails("render", place / "r", *out)
    assert "either" in fails("render", place / "r", "--redact", "--reveal", *out)
    assert "belong together" in fails("render", tmp_path / "shared", "--reveal", *out)
    assert "already exists" in fails("render", place / "r", "--redact", "--out", place / "r")


def test_a_rendered_run_can_be_made_again_from_its_manifest(place, leakscope, tmp_path):
    leakscope("render", place / "r", "--redact", "--out", tmp_path / "shared")
    manifest = tmp_path / "shared" / "manifest.json"
    ran = leakscope("report", "--config", manifest, "--out", tmp_path / "again")
    assert ran.code == 0, ran.err
    for name in ("sequences.parquet", "users.parquet", "report.html", "metrics.json"):
        made = (tmp_path / "again" / name).read_bytes()
        assert made == (tmp_path / "shared" / name).read_bytes()


def test_a_report_on_some_users(place, leakscope, fails, tmp_path):
    chosen = tmp_path / "users.txt"
    chosen.write_text(f"\ufeff{key_of(place, 2)}\r\n\n{key_of(place, 5)}\n{key_of(place, 2)}")
    report = ("report", place / "m", place / "c", "--top-k", 3, "--users", chosen)
    ran = leakscope(*report, "--out", tmp_path / "r", "--fail-on", "unique_sequences>9999")
    assert ran.code == 0, ran.err
    assert "PASS unique_sequences>9999: it is" in ran.err
    assert "only 2 of 12 users were audited" in ran.err
    assert "Only 2 of 12 users were audited" in " ".join(ran.out.split())
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["settings"]["audited"]["users"] == 2
    assert manifest["options"]["users"] == str(chosen)
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["audited"]["users"] == 2 and metrics["users"] == 12
    said = fails("compare", place / "r", tmp_path / "r")
    assert "audited different users" in said
    ran = leakscope(*report, "--out", tmp_path / "r1", "--fail-on", "unique_sequences>0", "--json")
    assert ran.code == 1 and "Only 2 of 12 users" in ran.err

    leakscope("harden", tmp_path / "r", "--corpus", place / "c", "--out", tmp_path / "h")
    assert "Only 2 of 12 users" in (tmp_path / "h" / "harden.html").read_text()

    chosen.write_text(f"{key_of(place, 2)}\nnobody@example.org\n")
    said = fails(*report, "--out", tmp_path / "x")
    assert "1 of 2 keys" in said and "the first is key 2" in said and "nobody" not in said
    chosen.write_text("\n")
    assert "has no user key" in fails(*report, "--out", tmp_path / "x")
    chosen.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in fails(*report, "--out", tmp_path / "x")
    chosen.unlink()
    assert "There is no file" in fails(*report, "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()
