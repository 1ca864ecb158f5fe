"""Exposure by samples and by fit against the whole space, and what gets no number."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

import leakscope
from leakscope.canaries.canary_settings import ExposureSettings
from leakscope.canaries.exposure import (
    exact_exposure,
    fit_space,
    fitted_exposure,
    sampled_exposure,
)
from leakscope.canaries.exposure_run import (
    NO_SPACE,
    UNKNOWN_WORD,
    measure_exposure,
    stream_of,
)
from leakscope.canaries.random_space import Digits, make_space, space_of
from leakscope.canaries.score_batches import documents_of
from leakscope.canaries.surprise import lexicon_of, surprise_of
from leakscope.models.word.word_model import WordModel
from leakscope.records.documents import Documents

SAMPLED = ExposureSettings(method="sample", samples=20_000, bootstrap=50)


@pytest.mark.parametrize("name", ["plain", "overfitted"])
def test_samples_and_fit_are_right_within_their_intervals(planted, name):
    model = planted.model(name)
    exact = measure_exposure(model, planted.manifest, ExposureSettings(method="exact"))
    sampled = measure_exposure(model, planted.manifest, SAMPLED)
    assert exact.spaces[0].enumerated and not sampled.spaces[0].enumerated
    limit = math.log2(50**3)
    for truth, guess in zip(exact.canaries, sampled.canaries, strict=True):
        if truth.state == "real":
            assert truth.reason == guess.reason == NO_SPACE and truth.exposure is None
            continue
        assert 0 <= truth.exact <= limit and truth.exact == truth.exposure
        assert guess.surprise == pytest.approx(truth.surprise, abs=1e-3)
        assert guess.fitted_low - 1e-6 <= truth.exact <= guess.fitted_high + 1e-6
        assert 0 < guess.fitted <= limit and guess.sampled <= limit
        if guess.censored:
            assert guess.sampled == math.log2(SAMPLED.samples) and guess.sampled_high == limit


@pytest.mark.parametrize("name", ["plain", "overfitted"])
def test_the_interval_of_samples_holds_in_95_of_100_cases(planted, name):
    """Over many samples: canaries that are measured on one share its luck."""
    space = space_of(planted.manifest, planted.manifest.spaces[0])
    everything = surprise_of(planted.model(name), space, space.everything())
    canaries = [canary for canary in planted.manifest.canaries if canary.space == 0]
    at = np.array([space.index_of(np.array(canary.choices)) for canary in canaries])
    truth, rng, held = exact_exposure(everything, at), np.random.default_rng(0), []
    for _ in range(200):
        found = sampled_exposure(everything[at], rng.choice(everything, 5000), space.bits)
        held.append(((found.low <= truth) & (truth <= found.high)).mean())
    assert 0.93 <= np.mean(held) <= 0.99


def test_what_is_known_by_heart_has_all_the_bits(planted):
    found = measure_exposure(planted.model("overfitted"), planted.manifest)
    limit = math.log2(50**3)
    often = [c for c in found.canaries if c.state == "planted" and c.repetitions == 20]
    assert max(each.exposure for each in often) == limit  # rank 1
    assert np.mean([each.exposure for each in often]) > limit - 3
    by = {(g.state, g.repetitions): g for g in found.by_repetitions}
    assert by["control", 0].mean < 4 < by["planted", 20].mean
    assert by["planted", 20].low <= by["planted", 20].mean <= by["planted", 20].high
    by_fit = measure_exposure(planted.model("overfitted"), planted.manifest, SAMPLED)
    top = [each for each in by_fit.canaries if each.clipped]
    assert top and all(each.fitted == limit for each in top)
    assert any(each.censored and each.exposure == limit for each in top)


def test_ranks_are_counted_in_the_whole_space():
    everything = np.array([3.0, 1.0, 2.0, 2.0, 9.0, 0.5, 7.0, 8.0])
    found = exact_exposure(everything, np.arange(8))
    assert found.tolist() == [3 - math.log2(r) for r in (5, 2, 3, 3, 8, 1, 6, 7)]


def test_samples_are_censored_where_none_is_as_good():
    samples = np.arange(1.0, 1025.0)
    found = sampled_exposure(np.array([0.0, 1.0, 512.0, 2000.0]), samples, 40.0)
    assert found.value.tolist() == [10.0, 10.0, 1.0, 0.0]
    assert found.censored.tolist() == [True, False, False, False]
    assert found.high[0] == 40.0 and found.low[0] < 10.0
    for at, good in ((1, 1), (2, 512)):
        interval = stats.binomtest(good, 1024).proportion_ci(0.95, "exact")
        ends = -math.log2(interval.high), -math.log2(interval.low)
        assert (found.low[at], found.high[at]) == pytest.approx(ends)
    assert sampled_exposure(np.array([0.0]), samples, 8.0).value[0] == 8.0


def test_the_fit_extrapolates_in_log_space_and_is_clipped():
    samples = stats.skewnorm.rvs(3, 80, 6, size=20_000, random_state=0)
    space = fit_space(samples, 20, np.random.default_rng(0))
    assert not space.poor and space.ks_p_value > 0.01
    surprise = np.array([60.0, 10.0, -400.0, 200.0])
    found = fitted_exposure(surprise, space, 66.0)
    assert found.value[1] == found.value[2] == 66.0 and found.clipped.tolist()[1:3] == [True, True]
    assert 0 <= found.value[3] < 1e-6 and 10 < found.value[0] <= 66
    assert (found.low <= found.value).all() and (found.value <= found.high).all()
    humps = np.concatenate([samples, samples + 40])
    assert fit_space(humps, 10, np.random.default_rng(0)).poor


def test_prefixes_are_shared_and_nothing_else_changes(planted):
    model = planted.model("overfitted")
    words = planted.manifest.vocabularies[0]
    space = make_space("{words:3}", [words[:9], words[3:20], words], lowercase=False)
    rows = space.draw(np.random.default_rng(4), 500)
    lexicon = lexicon_of(planted.manifest)
    documents = Documents.of([(0, [lexicon.ids[w] for w in said]) for said in space.words(rows)])
    logs = model.log_probs(documents, np.ones(len(documents.ids), bool)).reshape(500, 3).sum(1)
    np.testing.assert_allclose(surprise_of(model, space, rows), -logs / math.log(2), rtol=1e-4)


def test_a_word_that_the_model_does_not_know_gets_no_number(planted):
    """A smaller vocabulary makes the space smaller, and says so."""
    model = planted.model("plain")
    fewer = WordModel(model.network, ["?", *model.vocabulary[1:]])
    found = measure_exposure(
        fewer.reading(lexicon_of(planted.manifest)), planted.manifest,
        ExposureSettings(method="exact"),
    )  # fmt: skip
    lost = model.vocabulary[0]
    for canary, told in zip(planted.manifest.canaries, found.canaries, strict=True):
        if canary.state != "real":
            assert (told.reason == UNKNOWN_WORD) == (lost in canary.words)
            assert (told.exposure is None) == (lost in canary.words)
    assert any("does not know" in warning for warning in found.warnings)
    assert found.spaces[0].log2_size == pytest.approx(3 * math.log2(49))
    assert found.spaces[0].log2_whole_size == pytest.approx(3 * math.log2(50))


@dataclass(frozen=True)
class Broken:
    """A model of texts whose every answer is the same."""

    answer: float
    needs_text = True

    def knows(self, ids):
        return None

    def log_probs(self, documents, wanted):
        return np.full(int(wanted.sum()), self.answer, np.float32)


def test_nan_is_refused(planted):
    with pytest.raises(leakscope.LeakscopeError, match="NaN"):
        measure_exposure(Broken(math.nan), planted.manifest, SAMPLED)


def test_a_model_that_tells_all_alike_has_no_fit(planted):
    found = measure_exposure(Broken(-1.0), planted.manifest, SAMPLED)
    assert found.spaces[0].shape is None and "equally probable" in found.spaces[0].reason
    assert {each.exposure for each in found.canaries if each.space == 0} == {0.0}
    none = measure_exposure(Broken(-math.inf), planted.manifest, SAMPLED)
    assert "probability 0" in none.spaces[0].reason


def test_a_space_smaller_than_the_sample_is_refused(planted):
    how = ExposureSettings(method="sample", samples=200_000)
    with pytest.raises(leakscope.LeakscopeError, match="125000 texts"):
        measure_exposure(planted.model("plain"), planted.manifest, how)
    enumerated = replace(how, method="auto", exact_up_to=1)
    found = measure_exposure(planted.model("plain"), planted.manifest, enumerated)
    assert found.spaces[0].enumerated


def test_texts_are_read_by_models_with_tokenizers(planted):
    from leakscope.models.subword.causal_model import causal_model
    from tiny_causal import network, tokenizer

    tok = tokenizer("bytes")
    model = causal_model(network("gpt2", len(tok), seed=2), tok).reading(
        lexicon_of(planted.manifest)
    )
    space = space_of(planted.manifest, planted.manifest.spaces[0])
    rows = space.draw(np.random.default_rng(0), 40)
    texts = space.texts(rows)
    documents = documents_of(texts, [3] * 40)
    logs = model.score(documents, top_k=1, every_probability=True).log_prob.reshape(40, 3).sum(1)
    np.testing.assert_allclose(surprise_of(model, space, rows), -logs / math.log(2), rtol=1e-3)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_samples_are_not_the_canaries_that_the_same_seed_planted(seed):
    """NumPy takes the seeds [seed, 0] and seed for the same."""
    space = make_space("{digits:6}", [Digits(6)], lowercase=False)
    planted = {tuple(row) for row in space.draw(np.random.default_rng(seed), 200).tolist()}
    for number in range(3):
        samples = space.draw(stream_of(ExposureSettings(seed=seed), number), 5000).tolist()
        assert sum(tuple(row) in planted for row in samples) <= 8  # 1 by chance


@pytest.mark.parametrize("name", ["plain", "overfitted"])
def test_no_exposure_is_below_what_the_probability_proves(planted, name, monkeypatch):
    """Whatever the fit says."""
    low = lambda *given: replace(fitted_exposure(*given), value=np.zeros(len(given[0])))  # noqa: E731
    monkeypatch.setattr("leakscope.canaries.exposure_run.fitted_exposure", low)
    how = ExposureSettings(method="sample", samples=300)
    found = measure_exposure(planted.model(name), planted.manifest, how)
    bits = found.spaces[0].log2_size
    measured = [each for each in found.canaries if each.exposure is not None]
    fitted = [each for each in measured if each.method == "fit"]
    assert fitted and all(each.exposure >= bits - each.surprise - 1e-9 for each in fitted)
    for row in found.by_repetitions:
        mine = [each for each in measured if each.repetitions == row.repetitions
                and each.state == row.state]  # fmt: skip
        assert row.beyond_samples == sum(each.censored for each in mine)
