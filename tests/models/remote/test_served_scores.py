"""Both ways to ask an endpoint give what the model itself says."""

import numpy as np
import pytest

from leakscope.corpus.words import spans
from leakscope.models.ranking.windows import windows
from leakscope.models.remote.handshake import remote_model
from leakscope.models.remote.prompt_log_probs import EchoModel
from leakscope.models.remote.tab_attack import TOKENS, TabModel
from served import serving
from tiny_causal import documents


def cuttable(known):
    """Texts in which no token spans the end of a word: cut there, a prompt has the tokens that
    the whole text has.
    """
    kept = []
    for text in known.texts:
        whole = known.tokenizer(text)["input_ids"]
        cuts = [known.tokenizer(text[:end])["input_ids"] for _, end in spans(text)]
        if all(whole[: len(cut)] == cut for cut in cuts):
            kept.append(text)
    return list(dict.fromkeys(kept))


def disagreements(ours, local, top_k):
    """Words on which two scores differ, near ties of either aside."""
    differ = (ours.rank < top_k) != (local.rank < top_k)
    return np.flatnonzero(differ & ~ours.near_tie & ~local.near_tie).tolist()


@pytest.mark.parametrize("top_k", [1, 3])
def test_log_probabilities_give_the_local_scores(known, connect, top_k):
    docs = documents(known.texts)
    local = known.local.score(docs, top_k=top_k, every_probability=True)
    with serving(known.served()) as url:
        model = remote_model(connect(url))
        found = model.score(docs, top_k=top_k, every_probability=True)
        hits = model.score(docs, top_k=top_k)
    assert isinstance(model, EchoModel)
    assert disagreements(found, local, top_k) == []
    assert (local.rank < top_k).sum() > 50 and (local.rank >= top_k).sum() > 50
    # Which word counts a token that is part of a character is not told; the sum is the same.
    sums = [np.add.reduceat(each, docs.offsets[:-1]) for each in (found.log_prob, local.log_prob)]
    np.testing.assert_allclose(*sums, rtol=1e-5)
    spelled = np.repeat([text.isascii() for text in known.texts], docs.lengths())
    for ours, theirs in (
        (found.log_prob, local.log_prob),
        (found.top_log_prob, local.top_log_prob),
    ):
        np.testing.assert_allclose(ours[spelled], theirs[spelled], atol=2e-4)
    assert spelled.sum() > 50
    np.testing.assert_array_equal(hits.rank, found.rank)
    np.testing.assert_array_equal(np.isnan(hits.log_prob), found.rank >= top_k)


def test_continuations_give_the_local_hits_at_one_request_a_miss(plain, connect):
    docs = documents(cuttable(plain))
    local = plain.local.score(docs, top_k=1)
    with serving(plain.served()) as url:
        client = connect(url, "text", begin="")
        model = remote_model(client)
        found = model.score(docs, top_k=1)
    assert isinstance(model, TabModel)
    assert disagreements(found, local, 1) == []
    assert np.isnan(found.log_prob).all() and np.isnan(found.top_log_prob).all()
    misses, hits = int((found.rank > 0).sum()), int((found.rank == 0).sum())
    assert hits > 100 and misses > 100
    # One request checks the model; where a continuation is right to its end, one more is made.
    assert misses * 0.6 < client.sent + client.kept - 1 < misses + 0.2 * hits


def test_continuations_are_compared_as_one_request_a_word_would_be(plain, connect):
    texts = cuttable(plain)[:12]
    with serving(plain.served()) as url:
        model = remote_model(connect(url, "text", begin=""))
        found = model.score(documents(texts), top_k=1).rank == 0
        asked = []
        for text in texts:
            for low, high in spans(text):
                end = max((stop for _, stop in spans(text) if stop <= low), default=0)
                wanted, said = text[end:high], ""
                for tokens in range(1, 4 * len(wanted) + 2):
                    prompt = {"prompt": text[:end], "max_tokens": tokens, "temperature": 0}
                    said = model.client.ask(prompt)["text"]
                    if said == wanted or not wanted.startswith(said):
                        break
                asked.append(said == wanted)
    assert found.tolist() == asked


def test_without_a_begin_mark_first_words_are_never_correct(plain, connect):
    docs = documents(plain.texts)
    with serving(plain.served(begins=False)) as url:
        echo = remote_model(connect(url)).score(docs, top_k=3, every_probability=True)
        tabs = remote_model(connect(url, "text")).score(docs, top_k=1)
    first = docs.offsets[:-1]
    assert (echo.rank[first] == 3).all() and (tabs.rank[first] == 1).all()
    assert (echo.rank < 3).any() and (tabs.rank < 1).any()


def test_a_given_begin_mark_stands_before_documents(plain, connect):
    docs = documents(cuttable(plain))
    local = plain.local.score(docs, top_k=1)
    mark = plain.tokenizer.bos_token
    with serving(plain.served(begins=False)) as url:
        tabs = remote_model(connect(url, "text", begin=mark)).score(docs, top_k=1)
        echo = remote_model(connect(url, begin=mark)).score(docs, top_k=1)
    assert disagreements(tabs, local, 1) == [] == disagreements(echo, local, 1)


def test_long_documents_are_read_in_windows_of_words(plain, connect):
    text = " ".join(plain.texts[:12])
    words, most = spans(text), 10
    expected = []
    for _, first, start, stop in windows(0, len(words), most):
        begin = 0 if first == 0 else words[first][0]
        end = len(text) if stop == len(words) else words[stop - 1][1]
        part = plain.local.score(documents([text[begin:end]]), top_k=2)
        expected.extend((part.rank < 2)[start - first :].tolist())
    with serving(plain.served()) as url:
        found = remote_model(connect(url, prompt_words=most)).score(documents([text]), top_k=2)
    agree = (found.rank < 2) == np.array(expected)
    assert (agree | found.near_tie).all() and len(words) > 3 * most


def test_a_word_longer_than_any_continuation_is_decided(plain, connect):
    text = "the " + "q" * 90 + " cat"
    with serving(plain.served()) as url:
        found = remote_model(connect(url, "text")).score(documents([text]), top_k=1)
    local = plain.local.score(documents([text]), top_k=1)
    assert found.rank[1:].tolist() == local.rank[1:].tolist() and len("q" * 90) > TOKENS
