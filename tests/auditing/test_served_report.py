"""Reports on models behind an endpoint, as a user makes them."""

import json
import re
from collections import Counter

import pyarrow.parquet as pq
import pytest

from leakscope.auditing.running_settings import EndpointAccess
from leakscope.commands.compare import compare
from leakscope.commands.harden import harden
from leakscope.commands.report import report
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.words import spans
from leakscope.models.remote import client as clients
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from served import KEY, Served, serving
from tiny_causal import fluent, network, spoken, tokenizer

ASKED = ReportSettings(reveal=True, least_context=5, validation_words=100)


@pytest.fixture(scope="module")
def model():
    tok = tokenizer("bytes")
    return fluent(network("gpt2", len(tok), seed=3, context=512), tok), tok


@pytest.fixture
def corpus(model, tmp_path):
    texts = [text for text in spoken(*model, documents=30, length=16, seed=9) if spans(text)]
    rows = [Row(f"u{index % 4}", text) for index, text in enumerate([*texts, *texts[:2]])]
    return build_rows(
        rows, tmp_path / "c", settings=BuildSettings(validation=0.2), split_given=True
    )


@pytest.fixture
def local(model, tmp_path):
    for part in model:
        part.save_pretrained(tmp_path / "local")
    return tmp_path / "local"


def asked(url, mode, answers=None, **changes):
    """The settings of an endpoint."""
    limits = RequestLimits(**({"key": KEY, "pause": 0.01, "attempts": 3} | changes))
    return Endpoint(url, "tiny", mode, ""), limits, EndpointAccess(answers)


def rows_of(run, *columns):
    return pq.read_table(run / "sequences.parquet", columns=list(columns)).to_pylist()


COUNTS = ("sequence", "total_in_s", "users_in_s", "total_in_d", "users_in_d", "least_context")


@pytest.mark.parametrize("mode", ["log-probs", "text"])
def test_the_report_is_the_local_models(model, corpus, local, tmp_path, mode):
    report(local, corpus.path, tmp_path / "r", ASKED, threads=1)
    with serving(Served(*model)) as url:
        found = report(
            url, corpus.path, tmp_path / "e", ASKED, *asked(url, mode), threads=1
        ).metrics
    assert rows_of(tmp_path / "e", *COUNTS) == rows_of(tmp_path / "r", *COUNTS)
    assert found.unique_sequences > 3 and found.validation_accuracy is not None
    assert not (tmp_path / "e" / ".work").exists()
    told = pq.read_table(tmp_path / "e" / "occurrences.parquet")
    if mode == "text":
        assert told["perplexity"].null_count == len(told) > 0
        assert found.validation_perplexity is None
        assert found.reasons["train_perplexity"] == "a text-only endpoint tells no probabilities"
        with pytest.raises(LeakscopeError, match="text-only endpoint"):
            harden(tmp_path / "e", corpus.path, tmp_path / "h")
    else:
        assert told["perplexity"].null_count == 0 and found.validation_perplexity > 1
    assert "NaN" not in (tmp_path / "e" / "metrics.json").read_text()
    page = (tmp_path / "e" / "report.html").read_text()
    assert not re.search(r"\b(nan|NaN|None)\b", page)
    assert len(compare([tmp_path / "r", tmp_path / "e"], tmp_path / "cmp")) == 2
    assert "tiny" in (tmp_path / "cmp" / "compare.html").read_text()


@pytest.mark.parametrize("mode", ["log-probs", "text"])
def test_a_killed_server_costs_no_request(model, corpus, tmp_path, mode, monkeypatch):
    monkeypatch.setattr(clients, "WATCHED", 10**9)  # who serves is seen at both ends only
    whole, broken = Served(*model), Served(*model)
    with serving(whole) as url:
        report(url, corpus.path, tmp_path / "whole", ASKED, *asked(url, mode), threads=1)
    broken.dies_after = len(whole.asked) // 2
    answers = tmp_path / "answers"
    with serving(broken) as url:
        with pytest.raises(LeakscopeError, match=r"broke off, 3 times.*answers so far are kept"):
            report(url, corpus.path, tmp_path / "r", ASKED, *asked(url, mode, answers), threads=1)
        assert len(broken.asked) == broken.dies_after
        broken.dies_after = None  # started again
        report(url, corpus.path, tmp_path / "r", ASKED, *asked(url, mode, answers), threads=1)
        counts = Counter(json.dumps(body) for body in broken.asked)
        check = json.dumps(broken.asked[0])
        assert counts.pop(check) == 3, "who serves is asked anew, and at the end"
        assert set(counts.values()) == {1}
        assert set(counts) | {check} == {json.dumps(body) for body in whole.asked}
        before = len(broken.asked)
        report(url, corpus.path, tmp_path / "again", ASKED, *asked(url, mode, answers), threads=1)
        assert len(broken.asked) == before + 2, "all answers were kept"
    for other in ("r", "again"):
        assert rows_of(tmp_path / other, *COUNTS) == rows_of(tmp_path / "whole", *COUNTS)


@pytest.mark.parametrize("mode", ["log-probs", "text"])
def test_a_model_that_is_changed_before_the_end_is_noticed(model, corpus, tmp_path, mode):
    served = Served(*model)
    with serving(served) as url:
        report(url, corpus.path, tmp_path / "whole", ASKED, *asked(url, mode), threads=1)
        half, answers = len(served.asked) // 2, tmp_path / "answers"
        served.asked.clear()
        served.next_network = (half, type(model[0])(model[0].config).eval())
        with pytest.raises(LeakscopeError, match="has changed its model while it was asked"):
            report(url, corpus.path, tmp_path / "r", ASKED, *asked(url, mode, answers), threads=1)
        assert not (tmp_path / "r" / "metrics.json").exists()
        served.network, served.next_network = model[0], None
        with pytest.raises(LeakscopeError, match="does not serve the model that the kept"):
            report(url, corpus.path, tmp_path / "r", ASKED, *asked(url, mode, answers), threads=1)


def test_a_spent_budget_can_be_raised(model, corpus, tmp_path):
    with serving(Served(*model)) as url:
        few = asked(url, "log-probs", max_requests=10)
        with pytest.raises(LeakscopeError, match="budget of 10 requests is spent"):
            report(url, corpus.path, tmp_path / "r", ASKED, *few, threads=1)
        more = asked(url, "log-probs")
        assert report(url, corpus.path, tmp_path / "r", ASKED, *more, threads=1).metrics.sequences


def test_the_key_and_the_text_are_written_nowhere(model, corpus, tmp_path):
    with serving(Served(*model)) as url:
        settings = ReportSettings(least_context=0, validation_words=0)
        report(url, corpus.path, tmp_path / "r", settings, *asked(url, "text"), threads=1)
    texts = [text for part in corpus.documents(texts=True) for text in part.texts]
    for file in (tmp_path / "r").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert KEY.encode() not in content
        assert not any(text.encode() in content for text in texts if len(text) > 20)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"top_k": 3}, "top-k is 1"),
        ({"confidence": 4.0}, "tells no probabilities"),
        ({"full_perplexity": True}, "tells no probabilities"),
    ],
)
def test_what_a_text_only_endpoint_cannot_tell(corpus, tmp_path, changes, says):
    with pytest.raises(LeakscopeError, match=says):
        settings = asked("http://127.0.0.1:9/v1", "text")
        report(
            "http://127.0.0.1:9/v1",
            corpus.path,
            tmp_path / "r",
            ReportSettings(**changes),
            *settings,
        )
    assert not (tmp_path / "r").exists()
