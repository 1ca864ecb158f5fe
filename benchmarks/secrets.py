"""Do the planted secrets have the largest ratios? Precision and recall of "ratio >= t"."""

from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks import material
from benchmarks.lines import Line
from leakscope.auditing.public_settings import PublicSettings
from leakscope.commands.corpus_build import build
from leakscope.commands.corpus_synth import synth
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.synthetic.grammar import (
    ASIDES,
    CLOSINGS,
    EAST_PHRASES,
    GREETINGS,
    PET_PHRASES,
    link_phrases,
    pools,
)
from leakscope.corpus.synthetic.people import GIVEN
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.corpus.words import words
from leakscope.records.artifacts import read_parquet
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.unique import extremeness
from leakscope.reporting.rows.listing import gravity
from leakscope.training.train_settings import TrainSettings

FOLDER = material.FOLDER / "secrets"
THRESHOLDS = (1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)


def judged_run(users: int = 120, epochs: int = 3, folds: int = 3) -> Path:
    """A revealed report, judged by cross-fitted models, on a synthetic corpus of its own."""
    if not (FOLDER / "corpus" / "manifest.json").exists():
        synth(FOLDER / "synth", SynthSettings(users=users))
        build([FOLDER / "synth" / "data.parquet"], FOLDER / "corpus")
    settings = TrainSettings.from_preset(
        "lstm-2x128", epochs=epochs, batch_size=32, learning_rate=3e-3
    )
    if not (FOLDER / "model" / "config.json").exists():
        material.note("training on planted secrets")
        train(FOLDER / "corpus", FOLDER / "model", settings)
    run = FOLDER / "run"
    if not (run / "manifest.json").exists():
        material.note("cross-fitting")
        choice = PublicSettings("crossfit", folds=folds)
        asked = ReportSettings(reveal=True, least_context=0)
        report(FOLDER / "model", FOLDER / "corpus", run, asked, choice)
    return run


class Planted:
    """Which sequences show something of what was planted."""

    def __init__(self, truth: Path) -> None:
        self._items = [
            (item["prefix"] + item["words"], len(item["prefix"]))
            for item in read_parquet(truth).to_pylist()
        ]
        self._places = defaultdict(list)
        for number, (said, _) in enumerate(self._items):
            for place in range(len(said) - 1):
                self._places[said[place], said[place + 1]].append((number, place))
        self._special = {word for said, _ in self._items for word in said} - general_words()

    def __call__(self, sequence: list[str]) -> bool:
        """A word that general language lacks (a surname, a number), or three words or more of a
        planted sentence of which at least one is of the secret itself.
        """
        if any(word in self._special for word in sequence):
            return True
        for at in range(len(sequence) - 1):
            for number, place in self._places.get((sequence[at], sequence[at + 1]), ()):
                said, secret = self._items[number]
                same = 0
                while (
                    at + same < len(sequence)
                    and place + same < len(said)
                    and sequence[at + same] == said[place + same]
                ):
                    same += 1
                if same >= 3 and place + same > secret:
                    return True
        return False


def general_words() -> set[str]:
    """All words of the synthetic corpus's general language."""
    ready = pools()
    sentences = [head for topic in (*ready.chat, *ready.mail) for head in topic]
    sentences += [*ready.tails, *ASIDES, *GREETINGS, *CLOSINGS, *PET_PHRASES, *EAST_PHRASES]
    return {word for said in (*sentences, *link_phrases(), *GIVEN) for word in words(said)}


def _area(secret: np.ndarray) -> float:
    """Under precision and recall, of sequences in this order."""
    found = np.cumsum(secret)
    precision, recall = found / np.arange(1, len(secret) + 1), found / secret.sum()
    return float((precision * np.diff(np.concatenate([[0.0], recall]))).sum())


def lines() -> list[Line]:
    run = judged_run()
    planted = Planted(FOLDER / "synth" / "truth.parquet")
    table = read_parquet(run / "sequences.parquet")
    rows = [row for row in table.to_pylist() if row["users_in_d"] == 1]
    secret = np.array([planted(row["sequence"]) for row in rows])
    ratio = np.array([row["ratio"] for row in rows])
    area = _area(secret[np.argsort(-ratio, kind="stable")])
    lengths = np.array([row["length"] for row in rows])
    both = _area(secret[np.argsort(-extremeness(lengths, ratio), kind="stable")])
    shown = _area(secret[sorted(range(len(rows)), key=lambda at: gravity(rows[at], 0.05))])
    chance = float(secret.mean())
    detail = (
        f"{secret.sum()} secret and {(~secret).sum()} common unique sequences; "
        f"a random order has {chance:.3f}"
    )
    result = [Line("ratios: area under precision and recall", area, 0.9, False, "", detail)]
    result.append(Line("length x log(ratio): the same area", both, None, False, ""))
    result.append(Line("order of the lists: the same area", shown, None, False, ""))
    # The chance that a secret has a larger ratio than a common phrase.
    above = (ratio[secret][:, None] > ratio[~secret][None]).mean()
    result.append(Line("ratios: area under the ROC curve", float(above), None, False, ""))
    for t in THRESHOLDS:
        chosen = ratio >= t
        right = int((secret & chosen).sum())
        told = f"recall {right / secret.sum():.3f}, {chosen.sum()} sequences"
        value = right / max(1, int(chosen.sum()))
        result.append(Line(f"ratios: precision at {t:g}", value, None, False, "", told))
    common = float(np.median(ratio[~secret]))
    worst = f"median of secrets {np.median(ratio[secret]):.1f}"
    result.append(Line("ratios: median of common phrases", common, None, True, "", worst))
    return result
