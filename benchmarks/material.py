"""What the benchmarks run on: synthetic corpora and models trained on them, made once."""

import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from leakscope.commands.corpus_build import build
from leakscope.commands.corpus_synth import synth
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.store import Corpus
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.models.word.model_directory import load_model
from leakscope.models.word.word_model import WordModel
from leakscope.training.train_settings import TrainSettings

FOLDER = Path(__file__).parent / "results" / "material"
MODELS = ("gru-160-512", "lstm-2x128", "transformer-4x6x192")


def corpus(words: int, coined: int = 60_000, shards: int = 8) -> Corpus:
    """A synthetic corpus of about so many words, with a lexicon of more than 10,000."""
    name = f"synth-{words}-{coined}"
    target = FOLDER / name / "corpus"
    if not (target / "manifest.json").exists():
        note(f"making {name}")
        source = FOLDER / name / "source"
        users = max(40, words // 15_000)  # few planted items among much general text
        if not (source / "truth.parquet").exists():
            synth(source, SynthSettings(users=users, words=words, coined=coined))
        settings = BuildSettings(shard_words=max(50_000, words // shards))
        build([source / "data.parquet"], target, settings)
    return Corpus.open(target)


def copied_corpus(words: int, copies: int, shard_words: int) -> Corpus:
    """So many copies of a synthetic text, each with users of its own: much text, soon made."""
    target = FOLDER / f"copied-{words}-{copies}-{shard_words}" / "corpus"
    if not (target / "manifest.json").exists():
        corpus(words)
        note(f"making {copies} copies")
        source = pq.read_table(FOLDER / f"synth-{words}-60000" / "source" / "data.parquet")
        target.parent.mkdir(parents=True, exist_ok=True)
        many = target.parent / "data.parquet"
        with pq.ParquetWriter(many, source.schema) as writer:
            for copy in range(copies):
                users = pc.binary_join_element_wise(source["user"], str(copy), "-")
                at = source.schema.get_field_index("user")
                writer.write_table(source.set_column(at, source.schema.field(at), users))
        build([many], target, BuildSettings(shard_words=shard_words))
        many.unlink()
    return Corpus.open(target)


def model(preset: str, on: Corpus, epochs: int = 1) -> WordModel:
    """A model of a preset's shape with 10,000 words, trained for a short while."""
    target = model_path(preset, on, epochs)
    return load_model(target).reading(on.lexicon)


def model_path(preset: str, on: Corpus, epochs: int = 1) -> Path:
    target = on.path.parent / f"{preset}-{epochs}"
    if not (target / "config.json").exists():
        note(f"training {preset}")
        settings = TrainSettings.from_preset(
            preset, vocabulary=10_000, epochs=epochs, batch_size=16, optimizer="adam",
            learning_rate=1e-3 if preset.startswith("transformer") else 3e-3,
        )  # fmt: skip
        train(on.path, target, settings)
    return target


def note(text: str) -> None:
    sys.stderr.write(f"{text} ...\n")
    sys.stderr.flush()
