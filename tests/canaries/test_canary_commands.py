"""The commands about canaries as somebody would use them: files, tables, pages, refusals."""

import json

import pyarrow.parquet as pq
import pytest

import leakscope
from planted import WORDS, data_rows, write_jsonl


def test_exposure_is_written_and_joined_to_canary_and_user(planted, tmp_path):
    report = leakscope.canary.exposure(planted.overfitted, planted.folder / "out", tmp_path / "e")
    table = pq.read_table(tmp_path / "e" / "exposure.parquet").to_pylist()
    assert [row["canary"] for row in table] == list(range(len(planted.manifest.canaries)))
    for row, canary in zip(table, planted.manifest.canaries, strict=True):
        assert (row["user"], row["repetitions"]) == (canary.user, canary.repetitions)
        assert (row["exposure"] is None) == (canary.state == "real") == (row["reason"] is not None)
    stored = json.loads((tmp_path / "e" / "exposure.json").read_text())
    assert stored["by_repetitions"] == [each.model_dump() for each in report.by_repetitions]
    page = (tmp_path / "e" / "exposure.html").read_text()
    assert "<svg" in page and "20 repetitions" in page
    said = {word for canary in planted.manifest.canaries for word in canary.words}
    assert not any(f"{word} " in page for word in said) and '"u0"' not in page
    assert (tmp_path / "e" / "exposure.parquet").stat().st_mode & 0o777 == 0o600


def test_a_manifest_of_another_corpus_is_refused(planted, tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows(users=4, words=WORDS[:50]))
    leakscope.canary.plant(source, tmp_path / "out", template="{words:3}", schedule="1", seed=9)
    with pytest.raises(leakscope.LeakscopeError, match="not trained on the corpus"):
        leakscope.canary.exposure(planted.plain, tmp_path / "out", tmp_path / "e")
    assert not (tmp_path / "e").exists()
    found = leakscope.canary.exposure(
        planted.plain, tmp_path / "out", tmp_path / "e", other_corpus=True, samples=500,
        exact_up_to=1,
    )  # fmt: skip
    assert found.by_repetitions


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 9},
        {"spaces": []},
        {"vocabularies": [["one"]]},
        {"canaries": [{"id": 0}]},
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(planted, tmp_path, change):
    content = json.loads((planted.folder / "out" / "canaries.json").read_text())
    (tmp_path / "canaries.json").write_text(json.dumps(content | change))
    with pytest.raises(leakscope.LeakscopeError, match="canar"):
        leakscope.canary.exposure(planted.plain, tmp_path, tmp_path / "e")


def test_a_directory_without_canaries_is_refused(planted, tmp_path):
    with pytest.raises(leakscope.LeakscopeError, match="canary plant"):
        leakscope.canary.exposure(planted.plain, tmp_path, tmp_path / "e")
