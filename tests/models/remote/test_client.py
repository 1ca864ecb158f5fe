"""Asking an endpoint: retries, limits, the budget, and what is kept."""

import json
import os
import signal
import sqlite3
import threading
import time

import pytest

from leakscope.models.remote.answer_cache import Answers
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.models.remote.handshake import remote_model
from leakscope.records.errors import LeakscopeError
from served import KEY, serving
from tiny_causal import documents


def prompt(text):
    return {"prompt": text, "max_tokens": 1, "temperature": 0}


def test_what_fails_in_passing_is_sent_again_after_a_pause(plain, connect):
    served = plain.served(failures=[(503, None), (429, "0.3"), (500, None)])
    with serving(served) as url:
        client = connect(url)
        begin = time.monotonic()
        client.ask(prompt("the cat"))
    assert client.sent == 4 and len(served.asked) == 1
    assert time.monotonic() - begin > 0.3 + 0.01
    assert served.times[2] - served.times[1] >= 0.3


def test_pauses_become_longer(plain, connect):
    served = plain.served(status=500)
    with serving(served) as url, pytest.raises(LeakscopeError) as failed:
        connect(url, pause=0.05).ask(prompt("the secret cat"))
    gaps = [b - a for a, b in zip(served.times, served.times[1:], strict=False)]
    assert len(gaps) == 3 and gaps[1] > 0.1 and gaps[2] > 0.2
    assert "HTTP 500, 4 times" in str(failed.value) and "secret" not in str(failed.value)


def test_nothing_is_asked_twice(plain, connect):
    served = plain.served(seconds=0.05)
    with serving(served) as url:
        client = connect(url)
        first = client.map(client.ask, [prompt("the cat")] * 6 + [prompt("the dog")] * 6)
        assert len(served.asked) == 2 == client.sent
        client.close()
        again = connect(url)
        assert again.map(again.ask, [prompt("the cat"), prompt("the dog")]) == [first[0], first[6]]
        assert again.sent == 0 and again.kept == 2
        other = connect(url, model="another")
        other.ask(prompt("the cat"))
        assert other.sent == 1, "another model's answers are not this one's"


def test_requests_at_a_time_and_a_minute_are_limited(plain, connect):
    served = plain.served(seconds=0.03)
    many = [prompt(f"the cat {n}") for n in range(24)]
    with serving(served) as url:
        client = connect(url, concurrency=3)
        client.map(client.ask, many)
        assert 1 < served.most_at_once <= 3
        served.times.clear()
        slow = connect(url, folder="slow", concurrency=8, per_minute=1200)
        slow.map(slow.ask, many[:10])
    # Sent at least 0.05 seconds apart; a loaded machine can only make them later or bunched up.
    assert served.times[-1] - served.times[0] > 9 * 0.05 - 0.1


def test_the_budget_holds_for_failed_requests_too(plain, connect):
    served = plain.served(failures=[(503, None)])
    with serving(served) as url:
        client = connect(url, max_requests=3)
        client.ask(prompt("a"))
        client.ask(prompt("b"))
        client.ask(prompt("a"))
        with pytest.raises(LeakscopeError, match="budget of 3 requests is spent"):
            client.ask(prompt("c"))
    assert len(served.times) == 3


def test_the_first_failure_ends_all_without_waiting(plain, connect):
    served = plain.served(status=401)
    with serving(served) as url:
        client = connect(url, concurrency=2)
        with pytest.raises(LeakscopeError, match="refuses the key"):
            client.map(client.ask, [prompt(str(n)) for n in range(50)])
    assert len(served.times) < 10


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"status": 404}, "no model tiny"),
        ({"status": 403}, "refuses the key"),
        ({"status": 400}, "--prompt-words"),
        ({"status": 302}, "HTTP 302"),
    ],
)
def test_final_answers_are_told_in_a_sentence(plain, connect, fault, says):
    served = plain.served(**fault)
    with serving(served) as url, pytest.raises(LeakscopeError, match=says) as failed:
        connect(url).ask(prompt("the secret cat"))
    assert len(served.times) == 1, "it is not tried again"
    assert "secret" not in str(failed.value) and KEY not in str(failed.value)


def test_a_wrong_key_and_a_refused_connection(plain, connect):
    with serving(plain.served()) as url:
        with pytest.raises(LeakscopeError, match=r"refuses the key .HTTP 401.") as failed:
            connect(url, key="sk-wrong").ask(prompt("a"))
        assert "sk-wrong" not in str(failed.value)
    with pytest.raises(LeakscopeError, match="connection was refused or broke off"):
        connect(url, folder="other").ask(prompt("a"))


def test_an_endpoint_that_does_not_tell_log_probabilities(plain, connect):
    with (
        serving(plain.served(logprobs=False)) as url,
        pytest.raises(LeakscopeError, match=r"returns no log-probabilities.*--text-only"),
    ):
        remote_model(connect(url))


def test_misplaced_log_probabilities_are_noticed(plain, connect):
    with (
        serving(plain.served(misplaced=True)) as url,
        pytest.raises(LeakscopeError, match="do not belong to its tokens"),
    ):
        remote_model(connect(url))


def test_stripped_continuations_are_noticed(plain, connect):
    with serving(plain.served(strips=True)) as url:
        model = remote_model(connect(url, "text"))
        with pytest.raises(LeakscopeError, match="strips the white space"):
            model.score(documents(plain.texts), top_k=1)


@pytest.mark.parametrize("mode", ["text", "log-probs"])
def test_another_model_at_the_same_address_is_noticed(plain, connect, mode):
    served = plain.served()
    with serving(served) as url:
        for begin in (None, ""):
            remote_model(connect(url, mode, begin=begin)).client.ask(prompt("the cat"))
            remote_model(connect(url, mode, begin=begin)).client.ask(prompt("the cat"))
        before = len(served.asked)
        assert before == 6, "what was asked behind one mark is not the answer behind another"
        served.network = type(plain.network)(plain.network.config).eval()
        for begin in (None, ""):
            with pytest.raises(LeakscopeError, match="does not serve the model that the kept"):
                remote_model(connect(url, mode, begin=begin))


def test_an_answer_that_cannot_be_used_is_not_kept(plain, connect):
    served = plain.served()
    docs = documents(plain.texts[:2])
    with serving(served) as url:
        model = remote_model(connect(url))
        served.logprobs = False
        with pytest.raises(LeakscopeError, match="returns no log-probabilities"):
            model.score(docs, top_k=1)
        served.logprobs = True
        again = remote_model(connect(url))
        assert len(again.score(docs, top_k=1).rank) == len(docs.ids)


def test_what_was_paid_for_is_kept_when_another_request_fails(plain, connect):
    served = plain.served(seconds=0.3)
    with serving(served) as url:
        client = connect(url, concurrency=4, max_requests=3)
        with pytest.raises(LeakscopeError, match="budget"):
            client.map(client.ask, [prompt(f"the cat {n}") for n in range(9)])
        assert len(served.asked) == 3 == len(client.answers)


@pytest.fixture
def interruptible():
    """Processes in the background of a shell ignore interruptions."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_waits_for_nothing(plain, connect):
    served = plain.served(seconds=5.0)
    with serving(served) as url:
        client = connect(url, concurrency=2)
        begin = time.monotonic()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            client.map(client.ask, [prompt(f"the cat {n}") for n in range(4)])
        assert time.monotonic() - begin < 4


def test_a_key_that_no_header_can_carry():
    with pytest.raises(LeakscopeError, match="ASCII") as failed:
        RequestLimits(key="sk-secret\n")
    assert "secret" not in str(failed.value)


def test_no_flip_in_an_answer_is_silent(tmp_path):
    kept, answer = Answers(tmp_path / "a"), {"log_probs": [-1.25 * i for i in range(30)]}
    kept.keep("k", answer)
    with sqlite3.connect(tmp_path / "a" / "answers.sqlite") as store:
        (packed,) = store.execute("SELECT answer FROM answers").fetchone()
        for place in range(8 * len(packed)):
            spoilt = bytearray(packed)
            spoilt[place // 8] ^= 1 << place % 8
            store.execute("UPDATE answers SET answer = ?", [bytes(spoilt)])
            store.commit()
            try:
                assert kept.find("k") == answer, place
            except LeakscopeError as error:
                assert "damaged" in str(error)
    store.close()
    kept.close()


def test_no_flip_in_a_fact_is_silent_and_facts_of_before_are_read(tmp_path):
    fact = {"name": "served", "log_probs": [-1.5, -0.25]}
    kept = Answers(tmp_path / "a")
    kept.note("model", fact)
    with sqlite3.connect(tmp_path / "a" / "answers.sqlite") as store:
        (told,) = store.execute("SELECT value FROM facts").fetchone()
        for place in range(7 * len(told)):
            at, bit = divmod(place, 7)
            changed = told[:at] + chr(ord(told[at]) ^ 1 << bit) + told[at + 1 :]
            store.execute("UPDATE facts SET value = ?", [changed])
            store.commit()
            with pytest.raises(LeakscopeError, match="damaged"):
                kept.fact("model")
        store.execute("UPDATE facts SET value = ?", [json.dumps(fact)])
        store.commit()
    assert kept.fact("model") == fact
    store.close()
    kept.close()


def test_answers_are_private_and_damage_is_told(tmp_path):
    kept = Answers(tmp_path / "a")
    kept.keep("k", {"text": "é"})
    assert kept.find("k") == {"text": "é"} and kept.find("other") is None and len(kept) == 1
    for file in (tmp_path / "a").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file
    assert (tmp_path / "a").stat().st_mode & 0o077 == 0
    kept.close()
    path = tmp_path / "a" / "answers.sqlite"
    with sqlite3.connect(path) as store:
        store.execute("UPDATE answers SET answer = x'00'")
    store.close()
    kept = Answers(tmp_path / "a")
    with pytest.raises(LeakscopeError, match="damaged"):
        kept.find("k")
    kept.close()
    path.write_bytes(b"no database" * 500)
    with pytest.raises(LeakscopeError, match="damaged"):
        Answers(tmp_path / "a")


def test_answers_survive_many_threads(tmp_path):
    kept = Answers(tmp_path / "a")
    threads = [
        threading.Thread(target=lambda n=n: [kept.keep(f"{n}-{i}", {"n": i}) for i in range(50)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 400
    kept.close()


@pytest.mark.parametrize(
    "url", ["http://me:secret@host/v1", "https://host/v1?key=secret", "ftp://host", "http://[x"]
)
def test_addresses_that_are_refused(url):
    with pytest.raises(LeakscopeError) as failed:
        Endpoint(url, "m")
    assert "secret" not in str(failed.value)


def test_what_is_said_of_an_endpoint_never_has_the_key():
    limits = RequestLimits(key=KEY)
    assert KEY not in repr(limits) and KEY not in str(Endpoint("http://h", "m").record())
    assert Endpoint("http://example.org/v1/", "m").in_clear
    assert not Endpoint("http://127.0.0.1:1/v1", "m").in_clear
    assert not Endpoint("http://[::1]:1/v1", "m").in_clear
    assert not Endpoint("https://example.org/v1", "m").in_clear
    with pytest.raises(LeakscopeError, match="temperature"):
        Endpoint("http://h", "m", extra={"temperature": 1})
