"""The commands about canaries as somebody would use them: files, tables, pages, refusals."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

import leakscope
from planted import WORDS, data_rows, write_jsonl
from served import KEY, Served, serving
from tiny_causal import fluent, network, tokenizer


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
    (tmp_path / "canaries.json").write_text(json.dumps(content | {"sealed": False} | change))
    with pytest.raises(leakscope.LeakscopeError, match="canar"):
        leakscope.canary.exposure(planted.plain, tmp_path, tmp_path / "e")


def test_a_directory_without_canaries_is_refused(planted, tmp_path):
    with pytest.raises(leakscope.LeakscopeError, match="canary plant"):
        leakscope.canary.exposure(planted.plain, tmp_path, tmp_path / "e")


def test_an_endpoint_and_the_same_model_here_agree(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    tok = tokenizer("bytes")
    made = fluent(network("gpt2", len(tok), seed=3, context=512), tok)
    for part in (made, tok):
        part.save_pretrained(tmp_path / "local")
    source = write_jsonl(tmp_path / "data.jsonl", data_rows(users=2, documents=4))
    leakscope.canary.plant(
        source, tmp_path / "out", template="the number {digits:1} of {words:1}", vocabulary=12,
        schedule="1", controls=1, validation=0.0,
    )  # fmt: skip
    with serving(Served(made, tok)) as url:
        remote = leakscope.canary.exposure(url, tmp_path / "out", tmp_path / "far", samples=110,
                                           exact_up_to=1, method="sample")  # fmt: skip
        attack = leakscope.canary.attack(url, tmp_path / "out", tmp_path / "tab", text_only=True)
    here = leakscope.canary.exposure(tmp_path / "local", tmp_path / "out", tmp_path / "near",
                                     samples=110, exact_up_to=1, method="sample")  # fmt: skip
    for far, near in zip(rows_of(tmp_path / "far"), rows_of(tmp_path / "near"), strict=True):
        assert far["surprise"] == pytest.approx(near["surprise"], abs=0.01)
        assert far["sampled"] == pytest.approx(near["sampled"], abs=0.2)
    assert remote.spaces[0].samples == here.spaces[0].samples == 110
    assert sum(each.attacked for each in attack.rates) == 3
    assert not (tmp_path / "far" / ".answers").exists()


def rows_of(folder):
    return pq.read_table(folder / "exposure.parquet").to_pylist()


@pytest.fixture(scope="module")
def tossed(tmp_path_factory):
    """Canaries with coins."""
    folder = tmp_path_factory.mktemp("coins")
    source = write_jsonl(folder / "data.jsonl", data_rows(users=4))
    leakscope.canary.plant(
        source, folder / "out", coins="user", canaries=24, schedule="1", template="{words:3}",
        controls=0,
    )  # fmt: skip
    return folder / "out"


@pytest.mark.parametrize("given", [False, True])
def test_an_interrupted_bound_says_where_answers_are_kept(tossed, tmp_path, given):
    """At an endpoint, in --answers or --out, and the same command does not ask again."""
    tok = tokenizer("bytes")
    served = Served(fluent(network("gpt2", len(tok)), tok), tok)
    asked = "--api-key-env OPENAI_API_KEY --claimed 3 --delta 0.001 --concurrency 1 --out"
    words = [tossed, *asked.split(), tmp_path / "b"]
    more = ["--answers", tmp_path / "a"] if given else []
    with serving(served) as url:
        begun = [sys.executable, "-m", "leakscope", "canary", "bound", url, *words, *more]
        served.seconds = 0.1
        process = started(begun)
        while len(served.asked) < 10:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        kept = tmp_path / ("a" if given else "b")
        assert f"Interrupted; the endpoint's answers are kept in {kept}, and the same" in said
        served.seconds, before = 0.0, [each["prompt"] for each in served.asked]
        process = started(begun)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    again = {each["prompt"] for each in served.asked[len(before) :]}
    assert len(again) > 3 and len(again & set(before)) <= 4  # it is made sure what is asked
    assert not (tmp_path / "b" / ".answers").exists() and (tmp_path / "a").exists() == given


def started(words):
    return subprocess.Popen(
        [str(word) for word in words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENAI_API_KEY": KEY},
        # A shell's background job ignores the signal, and so would this child of it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
