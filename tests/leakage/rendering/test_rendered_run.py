"""A run rendered again is, byte for byte, what the report would have written."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from leakscope.auditing.integrity.verification import all_intact, verify_path
from leakscope.leakage.pipeline import audit
from leakscope.leakage.rendering.rendered_run import render_run
from leakscope.leakage.scrutiny.public_surprise import PublicModel
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.artifacts import digest_of_file
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.pages.report_page import write_page
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "é", "東", "!", "rare", "rarer"]
SETTINGS = {
    "plain": ReportSettings(top_k=2),
    "few contexts": ReportSettings(contexts=2, context_words=3),
    "no context words": ReportSettings(top_k=3, context_words=0),
    "filtered": ReportSettings(top_k=2, user_threshold=2),
    "all": ReportSettings(top_k=2, trained_on="all"),
}
BYTES = (
    "metrics.json", "occurrences.parquet", "report.html", "sequences.parquet", "users.parquet",
)  # fmt: skip


@pytest.fixture
def both(make_corpus, tmp_path, monkeypatch):
    """A function that reports with these settings, redacted and revealed, in many row groups."""
    monkeypatch.setattr("leakscope.leakage.run_tables.sequence_table.ROWS", 7)
    model = sharp_model("gru", WORDS)
    rows = repeated_by(model, users=7, documents=40, length=12)
    corpus = make_corpus(rows, validation=0.2, shard_words=150)
    other = sharp_model("gru", WORDS, seed=5).reading(corpus.lexicon)
    record = GivenModelRecord(name="other", digests=("d",))

    def make(settings):
        for reveal in (False, True):
            audit(
                subject_of(lambda: model.reading(corpus.lexicon)),
                corpus,
                tmp_path / f"reported-{reveal}",
                replace(settings, reveal=reveal),
                public=lambda _: PublicModel(record, lambda: other, AnswerIdentity("other")),
                page=write_page,
            )
        return corpus, tmp_path / "reported-False", tmp_path / "reported-True"

    assert len(corpus.shards) > 1
    return make


@pytest.mark.parametrize("name", SETTINGS)
def test_each_way_gives_what_the_report_would_have_written(name, both, tmp_path):
    corpus, redacted, revealed = both(SETTINGS[name])
    render_run(revealed, tmp_path / "shared", None, write_page)
    render_run(redacted, tmp_path / "private", corpus, write_page)
    for made, wanted, source in (
        (tmp_path / "shared", redacted, revealed),
        (tmp_path / "private", revealed, redacted),
    ):
        names = sorted(path.name for path in made.iterdir())
        assert names == sorted(path.name for path in wanted.iterdir())
        for file in {*names, *BYTES} - {"manifest.json", "seal.txt"}:
            assert (made / file).read_bytes() == (wanted / file).read_bytes(), (made, file)
        said = json.loads((made / "manifest.json").read_text())
        assert said.pop("rendered_from") == {
            "manifest": digest_of_file(source / "manifest.json"),
            "seal": digest_of_file(source / "seal.txt"),
        }
        known = json.loads((wanted / "manifest.json").read_text())
        assert known.pop("rendered_from") is None
        assert said == known | {"options": {"reveal": True} if made.name == "private" else {}}
        (found,) = verify_path(made)
        assert found.kind == "run" and all_intact([found]) and not found.extra
        assert made.stat().st_mode & 0o777 == 0o700
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in made.iterdir())


def test_there_and_back_is_the_same(both, tmp_path):
    corpus, _, revealed = both(ReportSettings(top_k=2))
    render_run(revealed, tmp_path / "shared", None, write_page)
    render_run(tmp_path / "shared", tmp_path / "back", corpus, write_page)
    for file in BYTES:
        assert (tmp_path / "back" / file).read_bytes() == (revealed / file).read_bytes()


def test_a_redacted_copy_has_no_word_and_no_key(both, tmp_path):
    _, _, revealed = both(ReportSettings(top_k=2))
    render_run(revealed, tmp_path / "shared", None, write_page)
    for word in ("u3", "東"):
        assert word in (revealed / "report.html").read_text()
        for path in (tmp_path / "shared").iterdir():
            if path.suffix != ".parquet":
                assert word not in path.read_text(), path
            else:
                assert f"'{word}'" not in str(pq.read_table(path).to_pylist()), path
        assert f"'{word}'" in str(
            [pq.read_table(revealed / name).to_pylist() for name in BYTES if "s.parquet" in name]
        )


def test_another_corpus_cannot_fill_it_in(both, make_corpus, tmp_path):
    _, redacted, _ = both(ReportSettings())
    other = make_corpus([("u1", "a b c d")])
    with pytest.raises(LeakscopeError, match="another corpus"):
        render_run(redacted, tmp_path / "out", other, write_page)
    assert not (tmp_path / "out").exists()


def test_a_changed_table_is_refused_and_nothing_is_left(both, tmp_path):
    corpus, redacted, _ = both(ReportSettings())
    table = redacted / "occurrences.parquet"
    table.write_bytes(table.read_bytes()[:-9] + b"\0" * 9)
    for given in (None, corpus):
        with pytest.raises(LeakscopeError, match="damaged"):
            render_run(redacted, tmp_path / "out", given, write_page)
        assert not (tmp_path / "out").exists()


def test_what_a_seal_has_must_be_there(both, tmp_path):
    _, redacted, _ = both(ReportSettings())
    (redacted / "validation.parquet").unlink()
    with pytest.raises(LeakscopeError, match=r"validation\.parquet is missing"):
        render_run(redacted, tmp_path / "out", None, write_page)
