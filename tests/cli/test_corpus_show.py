"""`leakscope corpus show`: single documents, their text only if asked."""

import json
import shutil
from pathlib import Path

import pytest

from leakscope.records.actions.action_list import write_action_list

BEFORE = Path(__file__).parents[1] / "records" / "before" / "corpus-without-origins"


@pytest.fixture
def corpus(leakscope, tmp_path):
    lines = [{"user": f"u{i % 3}", "text": f"word {i} of many"} for i in range(30)]
    lines[4]["text"] = "escape \x1b[31m here"
    source = tmp_path / "chat.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    built = leakscope("corpus", "build", source, "--validation", 0.2, "--out", tmp_path / "c")
    assert built.code == 0
    return tmp_path / "c"


def test_a_document_tells_its_origin_and_not_its_text(corpus, leakscope):
    (told,) = json.loads(leakscope("corpus", "show", corpus, "--document", 7, "--json").out)
    lines = (corpus.parent / "chat.jsonl").read_text().splitlines()
    text = json.loads(lines[told["row"] - 1])["text"]
    assert told["file"] == "chat.jsonl" and told["document"] == 7 and told["text"] is None
    assert told["characters"] == len(text) and told["split"] in ("train", "validation")
    shown = leakscope("corpus", "show", corpus, "--document", 7)
    assert f"chat.jsonl, row {told['row']}" in shown.out and "many" not in shown.out
    assert f"{told['words']} words, {len(text)} characters" in shown.out
    revealed = leakscope("corpus", "show", corpus, "--document", 7, "--reveal")
    assert text in revealed.out


def test_a_list_is_shown_and_nothing_steers_the_terminal(corpus, leakscope):
    digest = json.loads((corpus / "manifest.json").read_text())["digest"]
    path = corpus.parent / "list.jsonl"
    actions = [("drop", "document", {"document": 2}), ("drop", "user", {"user": "u1"})]
    write_action_list(path, digest, actions)
    asked = ("corpus", "show", corpus, "--drop", path, "--document", 5)
    rows = json.loads(leakscope(*asked, "--reveal", "--json").out)
    numbers = [row["document"] for row in rows]
    assert numbers == sorted(set(numbers)) and {2, 5} <= set(numbers)
    assert sum(row["row"] % 3 == 2 for row in rows) == 10  # all that u1 wrote, in both parts
    assert {row["split"] for row in rows} == {"train", "validation"}
    shown = leakscope(*asked, "--reveal").out
    assert "escape" in shown and "\x1b" not in shown


def test_what_cannot_be_shown_is_one_sentence(corpus, leakscope, fails, tmp_path):
    assert "documents are 0 to 29" in fails("corpus", "show", corpus, "--document", 30)
    assert "documents are 0 to 29" in fails("corpus", "show", corpus, "--document", -1)
    assert "--document N or --drop FILE" in fails("corpus", "show", corpus)
    assert "is not a file" in fails("corpus", "show", corpus, "--drop", tmp_path / "no")
    shutil.copytree(BEFORE, tmp_path / "old")
    assert (
        "origin      not known"
        in leakscope("corpus", "show", tmp_path / "old", "--document", 0).out
    )
