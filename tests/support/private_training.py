"""A tiny corpus and the settings of a private training on it."""

import numpy as np

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.train_settings import TrainSettings

TINY = {
    "lstm": Architecture("lstm", 2, 6, 8),
    "gru": Architecture("gru", 1, 6, 8),
    "transformer": Architecture("transformer", 1, 8, 8, heads=2, context=12),
}
SEED = 11


def private(kind="gru", **changes):
    terms = {
        "rate": 0.3,
        "words_per_user": 20,
        "clip": 0.05,
        "noise_multiplier": 0.7,
        "insecure_seed": SEED,
    }
    settings = {"epochs": 2, "vocabulary": 50, "max_words": 12, "seed": 1, "learning_rate": 0.01}
    for name, value in changes.items():
        (terms if name in PrivacySettings.__dataclass_fields__ else settings)[name] = value
    terms = {name: value for name, value in terms.items() if value is not None}
    return TrainSettings(TINY[kind], mitigation=PrivacySettings(**terms), **settings)


def tiny_corpus(folder):
    rng = np.random.default_rng(0)
    rows = [
        Row(f"u{min(i, i % 23)}", " ".join(f"w{a}" for a in rng.integers(0, 30, 1 + i % 17)))
        for i in range(120)
    ]
    return build_rows(rows, folder, settings=BuildSettings(validation=0.1))
