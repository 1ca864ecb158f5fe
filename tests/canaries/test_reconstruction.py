"""The tab attack against completing word by word, and its rates."""

import math

import numpy as np
import pyarrow.parquet as pq
import pytest

import leakscope
from leakscope.canaries.attack_batches import beam_reaches
from leakscope.canaries.canary_settings import AttackSettings
from leakscope.canaries.reconstruction import NOTHING_LEFT, UNKNOWN_WORD, attack_canaries
from leakscope.canaries.surprise import lexicon_of
from leakscope.corpus.lexicon import Lexicon
from leakscope.models.word.word_model import WordModel
from scripted import ScriptedModel


@pytest.mark.parametrize("name", ["plain", "overfitted"])
@pytest.mark.parametrize("given", [0, 1, 2])
def test_greedy_is_completing_by_the_best_entry(planted, name, given):
    model = planted.model(name)
    found = attack_canaries(model, planted.manifest, AttackSettings(given=given))
    for canary, told in zip(planted.manifest.canaries, found.canaries, strict=True):
        said = list(canary.words[:given])
        while len(said) < len(canary.words):
            after = model.next(said)
            best = after.order(1)[0]
            if best >= after.words or after.entries[best] != canary.words[len(said)]:
                break
            said.append(after.entries[best])
        assert told.correct == len(said) - given
        assert told.greedy == (len(said) == len(canary.words))


def test_what_was_repeated_often_comes_out(planted):
    how = AttackSettings(beam=4)
    plain = attack_canaries(planted.model("plain"), planted.manifest, how)
    knows = attack_canaries(planted.model("overfitted"), planted.manifest, how)

    def rate(found, state, times, attack="greedy"):
        (one,) = [
            each for each in found.rates
            if (each.state, each.repetitions, each.attack) == (state, times, attack)
        ]  # fmt: skip
        assert one.low <= one.rate <= one.high
        return one.rate

    assert rate(knows, "planted", 20) > max(0.5, rate(plain, "planted", 20))
    assert rate(knows, "planted", 20, "beam") >= rate(knows, "planted", 20)
    assert rate(knows, "control", 0) <= 0.1
    assert any(each.state == "real" for each in knows.rates)


def test_a_beam_finds_what_greedy_misses():
    words = ["a", "b", "c", "d"]
    lexicon = Lexicon(words, np.ones(4, np.int64), np.ones(4, np.int64))
    model = ScriptedModel(
        lexicon,
        {
            ("a",): {"b": 0.6, "c": 0.39},
            ("a", "b"): {"b": 0.3, "c": 0.3, "d": 0.3},
            ("a", "c"): {"d": 0.99},
        },
    )
    assert beam_reaches(model, [("a", "c", "d"), ("a", "b", "d")], 1, 1) == [False, False]
    assert beam_reaches(model, [("a", "c", "d")], 1, 2) == [True]
    totals = {  # all continuations of two words, by hand
        (x, y): math.log(model.script[("a",)].get(x, 1e-3)) + math.log(
            model.script.get(("a", x), {}).get(y, 1e-3))
        for x in words for y in words
    }  # fmt: skip
    best = max(totals, key=totals.get)
    assert beam_reaches(model, [("a", *best)], 1, 2) == [True]


def test_what_cannot_be_attacked_says_why(planted):
    found = attack_canaries(planted.model("plain"), planted.manifest, AttackSettings(given=3))
    synthetic = [each for each in found.canaries if each.state != "real"]
    assert {(each.greedy, each.reason) for each in synthetic} == {(None, NOTHING_LEFT)}
    model = planted.model("plain")
    fewer = WordModel(model.network, ["?", *model.vocabulary[1:]])
    told = attack_canaries(fewer.reading(lexicon_of(planted.manifest)), planted.manifest)
    for canary, each in zip(planted.manifest.canaries, told.canaries, strict=True):
        unknown = model.vocabulary[0] in canary.words[1:]
        assert (each.reason == UNKNOWN_WORD) == unknown == (each.greedy is None)


def test_the_command_writes_rates_and_rows(planted, tmp_path):
    report = leakscope.canary.attack(
        planted.overfitted, planted.folder / "out", tmp_path / "a", given=2
    )
    rows = pq.read_table(tmp_path / "a" / "attack.parquet").to_pylist()
    assert len(rows) == len(planted.manifest.canaries)
    assert report.settings["given"] == 2 and "<svg" in (tmp_path / "a" / "attack.html").read_text()
    assert sum(each.attacked for each in report.rates) == sum(
        row["greedy"] is not None for row in rows
    )
