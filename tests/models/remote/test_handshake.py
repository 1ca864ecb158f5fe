"""Whether the model is the same from the first request to the last."""

import pytest

from leakscope.models.remote import client as clients
from leakscope.models.remote.handshake import remote_model
from leakscope.records.errors import LeakscopeError
from served import serving
from tiny_causal import documents

CHANGED = "has changed its model while it was asked"


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(clients, "WATCHED", 5)


def another(known):
    return type(known.network)(known.network.config).eval()


@pytest.mark.parametrize("mode", ["text", "log-probs"])
def test_a_change_is_noticed_on_the_way(plain, connect, mode):
    served = plain.served()
    with serving(served) as url:
        model = remote_model(connect(url, mode, concurrency=1))
        served.next_network = (12, another(plain))
        with pytest.raises(LeakscopeError, match=CHANGED):
            model.score(documents(plain.texts), top_k=1)
        assert len(served.asked) < 22
        served.network, served.next_network = plain.network, None
        with pytest.raises(LeakscopeError, match="does not serve the model that the kept"):
            remote_model(connect(url, mode))


@pytest.mark.parametrize("mode", ["text", "log-probs"])
def test_a_change_is_noticed_at_the_end(plain, connect, mode):
    served = plain.served()
    with serving(served) as url:
        client = connect(url, mode)
        remote_model(client).client.ask({"prompt": "the cat", "max_tokens": 1, "temperature": 0})
        client.confirm()
        before = len(served.asked)
        client.confirm()
        assert len(served.asked) == before, "nothing was asked since"
        client.ask({"prompt": "the dog", "max_tokens": 1, "temperature": 0})
        served.network = another(plain)
        with pytest.raises(LeakscopeError, match=CHANGED):
            client.confirm()


@pytest.mark.parametrize("mode", ["text", "log-probs"])
def test_kept_answers_of_another_model_are_noticed(plain, connect, mode, monkeypatch):
    served = plain.served()
    docs = documents(plain.texts[: 20 if mode == "log-probs" else 3])
    with serving(served) as url:
        with monkeypatch.context() as patch:
            patch.setattr(clients, "WATCHED", 10**9)
            model = remote_model(connect(url, mode))
            served.network = another(plain)
            model.score(docs, top_k=1)  # and then the run is killed
        served.network = plain.network
        again = remote_model(connect(url, mode))
        with pytest.raises(LeakscopeError, match=CHANGED):
            again.score(docs, top_k=1)


def test_kept_answers_of_the_same_model_are_used(plain, connect):
    docs = documents(plain.texts)
    with serving(plain.served()) as url:
        first = remote_model(connect(url)).score(docs, top_k=1)
        client = connect(url)
        again = remote_model(client).score(docs, top_k=1)
        assert client.kept > 20 and (first.rank == again.rank).all()
        assert client.sent <= 1 + 2 * (client.kept // 5 + 1)


@pytest.mark.parametrize("shift", [0.5, 50.0, float("inf"), float("-inf"), float("nan")])
def test_what_is_no_log_probability_is_refused(plain, connect, shift):
    served = plain.served(shift=shift)
    with serving(served) as url:
        with pytest.raises(LeakscopeError, match="log-probabilities above 0 or not finite"):
            remote_model(connect(url))
        served.shift = 0.0
        model = remote_model(connect(url, folder="late"))
        served.shift = max(shift, 20.0) if shift == shift else shift
        with pytest.raises(LeakscopeError, match="log-probabilities above 0 or not finite"):
            model.score(documents(plain.texts[:3]), top_k=1)


def test_rounding_above_zero_is_no_reason(plain, connect):
    served = plain.served(shift=5e-5)
    with serving(served) as url:
        assert remote_model(connect(url)).score(documents(plain.texts[:3]), top_k=1)
