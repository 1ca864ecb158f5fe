"""Every model kind and every wrapper keeps the contract of `LanguageModel`: the same text in, and
`score`, `log_probs`, `next`, `begin`, `next_words` and `hidden_states` agree with each other.
"""

import math

import numpy as np
import pytest
import torch

from leakscope.corpus.words import words
from leakscope.models.wrappers.hardened import HardenedModel
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from model_kinds import KINDS, SERVED, THRESHOLD, VOCABULARY, served_subject

TOLERANCE = {"rtol": 1e-4, "atol": 2e-4}
PREDICTING = [name for name in KINDS if name != "by user"]
WORD_LEVEL = [name for name in KINDS if any(part in name for part in ("lstm", "gru", "transf"))]
WORD_LEVEL.append("hardened blocked")


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    """Makes subjects by name, each once."""
    made, open_servers = {}, []

    def subject(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("kind")
            if name in SERVED:
                server = served_subject(name, folder)
                made[name] = server.__enter__()
                open_servers.append(server)
            else:
                made[name] = KINDS[name](folder)
        return made[name]

    yield subject
    for server in open_servers:
        server.__exit__(None, None, None)


def last_words(documents: Documents):
    return documents.offsets[1:] - 1


@pytest.mark.parametrize("name", [*KINDS, *SERVED])
def test_scores_of_every_k_and_log_probs_agree(subjects, name):
    subject = subjects(name)
    documents = subject.documents()
    scores = {k: subject.model.score(documents, top_k=k) for k in subject.top_ks}
    for k, found in scores.items():
        assert len(found.rank) == len(documents.ids) and (found.rank <= k).all()
        assert (found.rank < k).any() and (found.rank >= k).any()
    if not subject.sure:
        assert np.isnan(scores[1].log_prob).all()
        with pytest.raises(LeakscopeError, match="no probabilities"):
            subject.model.log_probs(documents, np.ones(len(documents.ids), np.bool_))
        return
    everywhere = {
        k: subject.model.score(documents, top_k=k, every_probability=True) for k in subject.top_ks
    }
    wanted = np.arange(len(documents.ids)) % 3 != 1
    for k, found in scores.items():
        hit = found.rank < k
        # Silence is told from the top entry's probability, which only hits have at k.
        assert np.array_equal(everywhere[k].rank < k, hit)
        np.testing.assert_allclose(found.log_prob[hit], everywhere[k].log_prob[hit], **TOLERANCE)
        np.testing.assert_allclose(
            found.top_log_prob[hit], everywhere[k].top_log_prob[hit], **TOLERANCE
        )
    assert np.array_equal(scores[1].rank < 1, scores[3].rank < 1)
    asked = subject.model.log_probs(documents, wanted)
    np.testing.assert_allclose(asked, everywhere[1].log_prob[wanted], **TOLERANCE)


@pytest.mark.parametrize("name", WORD_LEVEL)
@pytest.mark.parametrize("k", [1, 3])
def test_score_says_what_next_says_word_by_word(subjects, name, k):
    model, texts = subjects(name).model, subjects(name).texts
    scores = model.score(subjects(name).documents(), top_k=k, every_probability=True)
    own = subjects(name).plain
    place = silent = 0
    for text in texts:
        said = words(text)
        for at, word in enumerate(said):
            after = model.next(said[:at])
            entry = VOCABULARY.index(word) if word in VOCABULARY else len(VOCABULARY)
            rank = after.order(len(after.entries)).index(entry)
            never = after.silent or word not in VOCABULARY or after.log_probs[entry] == -math.inf
            assert scores.rank[place] == (k if never else min(rank, k))
            # Blocked words keep the model's own probability.
            expected = own.next(said[:at]).log_probs[entry]
            assert scores.log_prob[place] == pytest.approx(expected, rel=1e-4, abs=2e-4)
            top = after.log_probs.max()
            assert scores.top_log_prob[place] == pytest.approx(top, rel=1e-4, abs=2e-4)
            place, silent = place + 1, silent + after.silent
    assert place == len(scores.rank)
    assert (0 < silent < place) == name.startswith("hardened")


@pytest.mark.parametrize("name", [name for name in PREDICTING if name not in WORD_LEVEL])
@pytest.mark.parametrize("k", [1, 3])
def test_score_says_what_next_says_token_by_token(subjects, name, k):
    subject = subjects(name)
    model, documents = subject.plain, subject.documents()
    scores = subject.model.score(documents, top_k=k, every_probability=True)
    tokens, entry_of = model.tokenizer.read(documents), np.argsort(model.entries.ids)
    rank, own, top = [], [], []
    for index in range(len(documents)):
        stream = tokens.stream[tokens.starts[index] : tokens.starts[index + 1]].tolist()
        labels = tokens.labels[tokens.offsets[index] : tokens.offsets[index + 1]]
        for at, label in enumerate(labels):
            after, entry = model.after(stream[: at + 1]), entry_of[label]
            # Equal logits are ordered by token id in a score, and there are none here.
            rank.append(int((after.log_probs > after.log_probs[entry]).sum()))
            own.append(after.log_probs[entry])
            top.append(after.log_probs.max())
    worst = np.minimum(tokens.alignment.worst_of(np.array(rank, np.int32)), k)
    expected = np.where(tokens.never, k, worst)
    tops = tokens.alignment.sums_of(np.array(top, np.float32))
    if isinstance(subject.model, HardenedModel):
        silent = tops < -math.log(THRESHOLD)
        assert silent.any() and not silent.all()
        expected = np.where(silent, k, expected)
    assert np.array_equal(scores.rank, expected)
    sums = tokens.alignment.sums_of(np.array(own, np.float32))
    np.testing.assert_allclose(scores.log_prob, sums, **TOLERANCE)
    np.testing.assert_allclose(scores.top_log_prob, tops, **TOLERANCE)


def after_tokens(subject, ids):
    """What the subject says after tokens, one call for each."""
    found = subject.plain.after(ids)
    silent = found.log_probs.max() < -math.log(THRESHOLD)
    return found.log_probs, isinstance(subject.model, HardenedModel) and silent


def after_words(subject, prefix):
    found = subject.model.next(prefix)
    return found.log_probs, found.silent


@pytest.mark.parametrize("name", PREDICTING)
def test_continuations_say_what_next_says(subjects, name):
    subject = subjects(name)
    rng = np.random.default_rng(0)
    prefixes = subject.prefixes()
    after = subject.model.begin(prefixes)
    for prefix, row in zip(prefixes, after.log_probs(), strict=True):
        np.testing.assert_allclose(row, subject.model.next(prefix).log_probs, **TOLERANCE)
    in_words = subject.unit == "word"
    said = prefixes if in_words else subject.plain.tokenizer.all_ids(map(" ".join, prefixes))
    ask = after_words if in_words else after_tokens
    for _ in range(9):  # beyond the context of some
        assert len(after) == len(said) and after.words < len(after.entries)
        plain = [ask(subject, each) for each in said]
        log_probs = np.stack([each for each, _ in plain])
        np.testing.assert_allclose(after.log_probs(), log_probs, **TOLERANCE)
        assert after.silent().tolist() == [silent for _, silent in plain]
        some = rng.integers(0, len(said), 3)
        np.testing.assert_allclose(after.log_probs(some), log_probs[some], **TOLERANCE)
        entries, logs = after.top(3)
        best = np.argsort(-log_probs, axis=1, kind="stable")[:, :3]
        assert np.array_equal(entries, best)
        np.testing.assert_allclose(logs, np.take_along_axis(log_probs, best, 1), **TOLERANCE)
        rows = rng.integers(0, len(said), len(said))
        added = rng.integers(0, after.words + in_words, len(said))  # `<unk>` of a word-level model
        longer = after.extended(rows, added)
        again = after.extended(rows[::-1].copy(), added[::-1].copy())
        np.testing.assert_allclose(longer.log_probs(), again.log_probs()[::-1], **TOLERANCE)
        ids = after.entries if in_words else subject.plain.entries.ids
        said = [[*said[row], ids[entry]] for row, entry in zip(rows, added, strict=True)]
        after = longer
    none = np.zeros(0, np.int64)
    assert len(after.extended(none, none)) == 0 and len(subject.model.begin([])) == 0
    with pytest.raises(LeakscopeError, match="mark cannot continue"):
        after.extended(np.array([0]), np.array([len(after.entries) - 1]))


@pytest.mark.parametrize("name", [*PREDICTING, *SERVED])
def test_next_words_have_the_scores_of_their_texts(subjects, name):
    subject = subjects(name)
    count = max(subject.top_ks)
    prefixes = subject.prefixes()
    found = subject.model.next_words(prefixes, count)
    assert len(found) == len(prefixes)
    hardened = isinstance(subject.model, HardenedModel)
    assert sum(len(each.words) for each in found) > (0 if hardened else len(prefixes) / 3)
    for prefix, each in zip(prefixes, found, strict=True):
        sizes = {len(part) for part in (each.words, each.texts, each.log_probs, each.top_log_probs)}
        assert sizes == {len(each.words)} and len(set(each.words)) == len(each.words) <= count
        texts = [" ".join(prefix) + text for text in each.texts]
        for text, word in zip(texts, each.words, strict=True):
            assert words(text) == [*prefix, word]
        if not texts:
            continue
        documents = subject.documents(texts)
        scores = subject.model.score(documents, top_k=count, every_probability=subject.sure)
        last = last_words(documents)
        if not subject.sure:
            assert (scores.rank[last] == 0).all() and np.isnan(each.log_probs).all()
            continue
        assert (np.diff(each.log_probs) <= 0).all()
        np.testing.assert_allclose(each.log_probs, scores.log_prob[last], **TOLERANCE)
        np.testing.assert_allclose(each.top_log_probs, scores.top_log_prob[last], **TOLERANCE)
        if hardened:
            assert (each.top_log_probs >= -math.log(THRESHOLD)).all()
    first = subject.model.next_words(prefixes, 1)
    for one, several in zip(first, found, strict=True):
        if one.exact and several.exact:
            assert one.words == several.words[:1]


@pytest.mark.parametrize("name", [name for name in WORD_LEVEL if "hardened" not in name])
def test_no_word_is_more_probable_than_the_next_words(subjects, name):
    subject = subjects(name)
    for prefix in [*subject.prefixes(), []]:
        after = subject.model.next(prefix)
        order = [entry for entry in after.order(99) if entry < after.words]
        left = [VOCABULARY[entry] for entry in order if np.isfinite(after.log_probs[entry])]
        found = subject.model.next_words([prefix], 3)[0]
        assert found.words == left[:3] and found.exact


def is_whole(model, text):
    """Whether the most probable next token makes the last word of a text no longer."""
    ids = model.tokenizer.ids(text)
    best = model.after(ids).order(1)[0]
    if best >= model.entries.words:
        return True
    typed, decode = ids[len(model.tokenizer.lead) :], model.tokenizer.tokenizer.decode
    longer = decode([*typed, model.entries.ids[best]])
    cut = longer.removeprefix(decode(typed)).startswith("\ufffd")
    return words(longer)[: len(words(text))] == words(text) and not cut


@pytest.mark.parametrize("name", [name for name in PREDICTING if name not in WORD_LEVEL])
def test_no_whole_word_of_the_vocabulary_is_more_probable(subjects, name):
    subject = subjects(name)
    model = subject.plain
    exact = 0
    for prefix in subject.prefixes()[:3]:
        found = model.next_words([prefix], 3)[0]
        exact += found.exact
        text = " ".join(prefix)
        before = model.tokenizer.ids(text)
        tried = [
            tail
            for name in subject.pool
            for tail in dict.fromkeys([name, f" {name.strip()}"])
            if len(words(text + tail)) == len(prefix) + 1 and words(text + tail)[:-1] == prefix
        ]
        kept = [t for t in tried if model.tokenizer.ids(text + t)[: len(before)] == before]
        documents = subject.documents([text + tail for tail in kept])
        logs = model.score(documents, top_k=1, every_probability=True).log_prob
        better = [
            tail
            for tail, log in zip(kept, logs[last_words(documents)], strict=True)
            if log > found.log_probs[-1] + 1e-3 and words(tail)[0] not in found.words
        ]
        assert all(is_whole(model, text + tail) for tail in found.texts)
        # What is more probable is only the beginning of what the model would say.
        assert not any(is_whole(model, text + tail) for tail in better)
    assert exact


@pytest.mark.parametrize("name", PREDICTING)
def test_hidden_states_predict_what_follows_the_document(subjects, name):
    subject = subjects(name)
    documents = subject.documents()
    states = subject.model.hidden_states(documents)
    assert states.shape[0] == len(subject.texts) and states.dtype == np.float32
    if name == "capped":  # the body's states, before the logits are capped
        logits = torch.from_numpy(states) @ subject.plain.network.lm_head.weight.T
        logits = 9 * (logits / 9).tanh()
    elif subject.unit == "token":
        logits = subject.plain.head.logits(torch.from_numpy(states))
    else:
        logits = subject.plain.network.output(torch.from_numpy(states))
    found = torch.log_softmax(logits, 1).numpy()
    for text, row in zip(subject.texts, found, strict=True):
        expected = subject.plain.next(words(text)).log_probs
        order = subject.plain.entries.ids if subject.unit == "token" else slice(None)
        np.testing.assert_allclose(row[order], expected, **TOLERANCE)


@pytest.mark.parametrize("name", ["by user", *SERVED])
def test_what_cannot_be_told_is_refused(subjects, name):
    model = subjects(name).model
    for asked in (lambda: model.next(["the"]), lambda: model.begin([["the"]])):
        with pytest.raises(LeakscopeError):
            asked()
    if name in SERVED:
        assert model.hidden_states(subjects(name).documents()) is None
        with pytest.raises(LeakscopeError, match="give at least one word"):
            model.next_words([[]], 1)
    else:
        with pytest.raises(LeakscopeError, match="cannot be probed"):
            model.next_words([["w1"]], 1)


def test_each_user_has_the_states_of_its_own_model(subjects):
    subject = subjects("by user")
    documents = subject.documents()
    found = subject.model.hidden_states(documents)
    each = [model.hidden_states(documents) for model in subject.model.models]
    for row, user in enumerate(documents.users.tolist()):
        np.testing.assert_allclose(found[row], each[user][row], **TOLERANCE)
    assert not np.allclose(each[0], each[1])


@pytest.mark.parametrize("name", [name for name in KINDS if " " in name and name != "by user"])
def test_wrappers_need_and_know_what_their_model_does(subjects, name):
    subject = subjects(name)
    assert subject.model.needs_text == subject.plain.needs_text
    ids = np.arange(11, dtype=np.int32)
    known, beneath = subject.model.knows(ids), subject.plain.knows(ids)
    assert known is beneath is None or known.tolist() == beneath.tolist() == [i < 9 for i in ids]
