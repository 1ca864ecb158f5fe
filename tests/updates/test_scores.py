"""Scores of given sequences against a plain loop: word-level models, tokens, and two tokenizers."""

import numpy as np
import pytest

import tiny_causal
from leakscope.corpus.lexicon import Lexicon
from leakscope.models.subword.causal_model import causal_model
from leakscope.records.errors import LeakscopeError
from leakscope.updates.beam_search import search
from leakscope.updates.entry_scores import score_entries
from leakscope.updates.model_pair import ModelPair
from leakscope.updates.score_rule import ScoreRule
from leakscope.updates.search_plan import SearchPlan
from leakscope.updates.sequence_scores import lexicon_for, score_words
from plain_differences import plain_score
from scripted import ScriptedModel
from small_models import SMALL, sharp_model

WORDS = ["a", "b", "c", "d", "e", "f"]
RULES = [ScoreRule(), ScoreRule(relative=True, floor=1e-2), ScoreRule(top_k=2)]
SEQUENCES = [["a"], ["b", "c", "a"], ["f", "f"], ["e", "d", "c", "b", "a"]]


@pytest.mark.parametrize("kind", list(SMALL))
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("prefix", [(), ("d", "a")])
def test_word_level_models_against_a_plain_loop(kind, rule, prefix):
    old, new = sharp_model(kind, WORDS, 1), sharp_model(kind, WORDS, 2)
    lexicon = lexicon_for(SEQUENCES, prefix)
    found = score_words(
        old.reading(lexicon), new.reading(lexicon), lexicon, SEQUENCES, rule, prefix
    )
    expected = [plain_score(old, new, words, rule, prefix) for words in SEQUENCES]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-4, atol=1e-5)
    pair = ModelPair(old, new)
    for words, score in zip(SEQUENCES, expected, strict=True):
        entries = [WORDS.index(word) for word in words]
        scored = score_entries(pair, [entries, entries], rule, prefix)
        np.testing.assert_allclose(scored.scores, [score, score], rtol=1e-4, atol=1e-5)


def test_by_hand():
    lexicon = lexicon_for([["x", "y"]])
    old = ScriptedModel(lexicon, {(): {"x": 0.2, "y": 0.1}, ("x",): {"x": 0.3, "y": 0.1}})
    new = ScriptedModel(lexicon, {(): {"x": 0.5, "y": 0.1}, ("x",): {"x": 0.05, "y": 0.9}})
    found = score_words(old, new, lexicon, [["x", "y"], ["y"]], ScoreRule())
    assert found.scores.tolist() == pytest.approx([1.1, 0.0], abs=1e-6)
    assert found.terms.tolist() == pytest.approx([0.3, 0.8, 0.0], abs=1e-6)
    relative = score_words(old, new, lexicon, [["x", "y"]], ScoreRule(relative=True))
    assert relative.scores.tolist() == pytest.approx([1.5 + 8.0], rel=1e-5)
    # The two best are x and <unk> at first in the new model: y is not among them in the old one.
    narrow = score_words(old, new, lexicon, [["x", "y"]], ScoreRule(top_k=1))
    assert narrow.new.tolist() == pytest.approx([0.5, 0.9])
    assert narrow.old.tolist() == [0.0, 0.0]


def causal(kind: str, seed: int):
    tok = tiny_causal.tokenizer(kind)
    return causal_model(tiny_causal.network("llama", len(tok), seed), tok)


def plain_word_probability(model, prefix: str, word: str) -> float:
    """The product over the tokens that the text with the word has more."""
    before = model.tokenizer.ids(prefix)
    after = model.tokenizer.ids(f"{prefix} {word}" if prefix else word)
    assert after[: len(before)] == before
    total = 1.0
    for place in range(len(before), len(after)):
        told = model.after(after[:place])
        entry = told_entry(model, after[place])
        total *= float(np.exp(told.log_probs[entry]))
    return total


def told_entry(model, token: int) -> int:
    return model.entries.ids.tolist().index(token)


def test_two_tokenizers_are_compared_in_words():
    old, new = causal("bytes", 1), causal("unigram", 2)
    sequences = [["the", "cat"], ["sea", "shells", "she"]]
    lexicon = lexicon_for(sequences)
    found = score_words(old.reading(lexicon), new.reading(lexicon), lexicon, sequences, ScoreRule())
    expected = []
    for words in sequences:
        total = 0.0
        for place, word in enumerate(words):
            before = " ".join(words[:place])
            total += plain_word_probability(new, before, word)
            total -= plain_word_probability(old, before, word)
        expected.append(total)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-3, atol=1e-6)
    with pytest.raises(LeakscopeError, match="different tokens"):
        search(ModelPair(old, new), SearchPlan(length=1, width=5), ScoreRule())


def test_tokens_are_searched_and_scored_alike():
    pair = ModelPair(causal("bytes", 3), causal("bytes", 4))
    beam = search(pair, SearchPlan(length=3, width=40), ScoreRule())[2]
    for row in range(0, len(beam), 3):
        ids = pair.new.entries.ids[beam.entries[row]]
        total, said = 0.0, pair.new.tokenizer.ids("")
        for entry, token in zip(beam.entries[row], ids, strict=True):
            total += float(np.exp(pair.new.after(said).log_probs[entry]))
            total -= float(np.exp(pair.old.after(said).log_probs[entry]))
            said = [*said, int(token)]
        assert beam.scores[row] == pytest.approx(total, abs=1e-5)
    again = score_entries(pair, beam.entries.tolist(), ScoreRule())
    np.testing.assert_allclose(again.scores, beam.scores, atol=1e-5)


def test_a_word_that_one_model_does_not_know_is_impossible_there():
    old, new = sharp_model("gru", ["a", "b"], 1), sharp_model("gru", ["a", "b", "c"], 2)
    sequences = [["a", "c"], ["a", "z"]]
    lexicon = lexicon_for(sequences)
    found = score_words(old.reading(lexicon), new.reading(lexicon), lexicon, sequences, ScoreRule())
    assert found.old[1] == 0 and found.new[1] > 0
    assert found.unknown.tolist() == [False, True]


def test_damaged_weights_and_empty_sequences_are_refused():
    old, new = sharp_model("gru", WORDS, 1), sharp_model("gru", WORDS, 2)
    lexicon = Lexicon(WORDS, np.zeros(6, np.int64), np.zeros(6, np.int64))
    with pytest.raises(LeakscopeError, match="without words"):
        score_words(old, new, lexicon, [["a"], []], ScoreRule())
    old.network.output.bias[0] = float("nan")
    with pytest.raises(LeakscopeError, match="The old model's probabilities"):
        score_words(old, new, lexicon, [["a"]], ScoreRule())


@pytest.mark.parametrize(("floor", "top_k"), [(0.0, None), (2.0, None), (1e-6, 0)])
def test_impossible_rules_are_refused(floor, top_k):
    with pytest.raises(LeakscopeError):
        ScoreRule(floor=floor, top_k=top_k)
