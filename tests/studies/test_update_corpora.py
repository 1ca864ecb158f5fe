"""The corpora of a study of updates keep where their documents come from."""

from itertools import count

import pytest

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.commands.canary_plant import plant
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build
from leakscope.corpus.document_lookup import find_documents
from leakscope.corpus.split import ALL
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import silent
from leakscope.studies.kept_results import KeptResults
from leakscope.studies.updates.update_corpora import canaries_of, corpus_step, without
from remote_artifacts import files_of


def by_place(corpus):
    numbers = list(range(corpus.counts(ALL).documents))
    return {
        (each.file, each.row): each.text for each in find_documents(corpus, numbers, texts=True)
    }


def test_parts_of_several_corpora_keep_their_origins(tmp_path):
    lines = [f'{{"user": "u{i % 4}", "text": "plain words of {i}"}}\n' for i in range(30)]
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text("".join(lines[name == "two" :: 2]))
    sources = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    base = build(sources, tmp_path / "c", settings=BuildSettings(validation=0))
    plant(tmp_path / "c", tmp_path / "p", PlantSettings(schedule="2", controls=2))
    planted = by_place(Corpus.open(tmp_path / "p" / "corpus"))
    step = corpus_step([canaries_of(tmp_path / "p"), without(base, ["u1"])], silent)
    step.make(tmp_path / "made")
    made = Corpus.open(tmp_path / "made")
    places = by_place(made)
    assert [file.name for file in made.manifest.origins] == [
        "one.jsonl", "two.jsonl", "planted.jsonl",
    ]  # fmt: skip
    assert len(places) == made.manifest.train.documents > 22
    assert places.items() <= planted.items()
    assert {file for file, _ in places} == {"one.jsonl", "two.jsonl", "planted.jsonl"}


@pytest.mark.parametrize("words", ["", '{"unfinished":"corpus build","version":1}'])
def test_a_corpus_whose_build_was_killed_at_its_end_is_not_refused(tmp_path, words):
    (tmp_path / "one.jsonl").write_text('{"user": "a", "text": "one two"}\n' * 3)
    base = build([tmp_path / "one.jsonl"], tmp_path / "c", settings=BuildSettings(validation=0))
    step = corpus_step([without(base, [])], silent)
    first = files_of(KeptResults(tmp_path / "quiet", count(0.0).__next__)[step])
    path = tmp_path / "steps" / step.name
    step.make(path)
    (path / ".leakscope").write_text(words)
    if words:
        (path / ".building").mkdir()
        (path / ".building" / "part").write_text("text")
    assert files_of(KeptResults(tmp_path / "steps", count(0.0).__next__)[step]) == first
    assert not (path / ".building").exists()
