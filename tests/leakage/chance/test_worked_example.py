"""Decoys, the chance line and q-values of a few documents, from text to figures, on paper.

D has 30 words and the held-out documents 60, so that a decoy stands for 30 / 60 = 1/2 sequence.

Targets: what comes out of D, where one user alone has it.
    W  nine four two six  (ann)  4 words
    X  red blue sky       (bob)  3 words
    Y  old friends        (cat)  2 words
    Z  it goes on         (bob)  3 words; bob has it twice: judged with what users repeat

What comes out of the held-out documents:
    home now    (ann)  In no document of D, though both words are: a decoy. Weight 1/2.
    you soon    (ann)  cat has it in D, who may have taught it to the model: none.
    blue zebra  (cat)  In no document of D: a decoy. Weight 1/2. But cat alone has a zebra in D, so
                       that it may be memory of cat: judged with what users repeat.
    it goes on  (bob)  bob alone has it in D: a decoy, repeated. It comes out of one document of D,
                       and of this one, which has half of it: weight 1/2 x 1 / (1 + 1) = 1/4.

The chance line is 1/2 + 1/2 + 1/4 = 5/4: of two words 1, of three words 1/4.

Rates: (weights of the decoys at least as long + 1/2 for one more) / targets at least as long.
    bar  targets  decoys      rate
    4    W        -           (0 + 1/2) / 1   = 1/2
    3    W X      -           (0 + 1/2) / 2   = 1/4
    2    W X Y    home now    (1/2 + 1/2) / 3 = 1/3
    of what users repeat:
    3    Z        it goes on  (1/4 + 1/2) / 1 = 3/4
The q-value is the least rate at which a target passes: 1/4 of W, which passes at the bar of 3 too,
1/4 of X, 1/3 of Y and 3/4 of Z. At a rate of 0.3, W and X are confirmed; one alone could not be, at
1/2.
"""

import pyarrow.parquet as pq
import pytest

from held_out import corpus_of, decoys_of, spelled
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.leakage.pipeline import audit
from leakscope.records.runs.report_settings import ReportSettings
from scripted import ScriptedModel
from subjects import subject_of

TRAINED = [
    ("ann", "pin is nine four two six"),
    ("ann", "now home"),
    ("bob", "now home"),
    ("bob", "call red blue sky"),
    ("bob", "so it goes on"),
    ("bob", "well it goes on"),
    ("cat", "see old friends"),
    ("cat", "hear you soon"),
    ("cat", "zebra now"),
]
HELD_OUT = [
    ("ann", "go home now"),
    ("ann", "meet you soon"),
    ("bob", "and it goes on"),
    ("cat", "my blue zebra"),
    ("cat", " ".join(["um"] * 47)),
]
KNOWN = [
    ("pin is", "nine four two six"),
    ("call", "red blue sky"),
    ("see", "old friends"),
    ("so", "it goes on"),
    ("go", "home now"),
    ("meet", "you soon"),
    ("and", "it goes on"),
    ("my", "blue zebra"),
]
"""What the model says, and after which words; nothing else."""


@pytest.fixture
def corpus(tmp_path):
    rows = [(user, text.split(), TRAIN) for user, text in TRAINED]
    rows += [(user, text.split(), VALIDATION) for user, text in HELD_OUT]
    return corpus_of(rows, tmp_path / "corpus")


@pytest.fixture
def model(corpus):
    script = {}
    for before, after in KNOWN:
        prefix = tuple(before.split())
        for word in after.split():
            script[prefix] = {word: 0.9}
            prefix = (*prefix, word)
    return ScriptedModel(corpus.lexicon, script)


def test_decoys(corpus, model, tmp_path):
    assert (corpus.counts().words, corpus.held_out.words) == (30, 60)
    found = decoys_of(model, corpus, tmp_path, 1)
    columns = (found.weights, found.repeated, found.with_own_word, found.of_habit)
    told = {
        (user, " ".join(run)): tuple(column[place].item() for column in columns)
        for place, (user, run) in enumerate(spelled(found, corpus))
    }
    assert told == {
        ("ann", "home now"): (0.5, False, False, False),
        ("bob", "it goes on"): (0.25, True, True, True),
        ("cat", "blue zebra"): (0.5, False, True, True),
    }


def test_figures(corpus, model, tmp_path):
    run, asked = tmp_path / "run", ReportSettings(reveal=True, false_discovery_rate=0.3)
    metrics = audit(subject_of(lambda: model), corpus, run, asked)
    assert (metrics.decoys, metrics.decoy_words) == (3, 60)
    assert metrics.unique_sequences == 4
    assert metrics.chance_unique == pytest.approx(5 / 4)
    assert metrics.chance_by_length == pytest.approx({2: 1, 3: 1 / 4})
    assert metrics.excess_unique == pytest.approx(4 - 5 / 4)
    rows = pq.read_table(run / "sequences.parquet").to_pylist()
    q_values = {" ".join(row["sequence"]): row["q_value"] for row in rows if row["q_value"]}
    assert q_values == pytest.approx(
        {
            "nine four two six": 1 / 4,
            "red blue sky": 1 / 4,
            "old friends": 1 / 3,
            "it goes on": 3 / 4,
        }
    )
    assert (metrics.confirmed_unique, metrics.least_confirmable) == (2, 2)
    assert metrics.users_with_confirmed == 2  # ann and bob
