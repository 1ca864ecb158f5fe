"""How well fresh probes name the author of held-out documents by the state that they leave a model
in, after plain training and after either regularizer:

    python -m benchmarks.authors [seeds]
"""

import sys

import torch

from benchmarks import material
from leakscope.auditing.probing.author_probe import probe_authors
from leakscope.commands.corpus_build import build
from leakscope.commands.corpus_synth import synth
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.store import Corpus
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.training.mitigations.plain_settings import PLAIN
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.train_settings import TrainSettings

MITIGATIONS = {
    "plain": PLAIN,
    "adversarial": AdversarialSettings(privacy_weight=1.0, discriminator_input="whitened"),
    "triplet": TripletSettings(privacy_weight=1.0),
}


def corpus() -> Corpus:
    """Text of a dozen people, without bots: anybody can tell those."""
    folder = material.FOLDER / "authors-4000"
    if not (folder / "corpus" / "manifest.json").exists():
        material.note("making the corpus")
        synth(folder / "source", SynthSettings(users=12, words_per_user=4000, bots=0))
        data = folder / "source" / "data.parquet"
        build([data], folder / "corpus", BuildSettings(validation=0.4))
    return Corpus.open(folder / "corpus")


def main() -> None:
    on = corpus()
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
        for name, mitigation in MITIGATIONS.items():
            out = material.FOLDER / "authors-4000" / f"{name}-{seed}"
            settings = TrainSettings(
                Architecture("gru", 1, 16, 32), epochs=80, learning_rate=3e-3, batch_size=16,
                seed=seed, mitigation=mitigation, snapshot_steps=10_000,
            )  # fmt: skip
            if not (out / "config.json").exists():
                train(on.path, out, settings)
            model = load_model(out)
            perplexity = load_config(out).progress["validation_perplexity"]
            reading = model.reading(on.lexicon)
            network = probe_authors(reading, on, hidden=1000)
            linear = probe_authors(reading, on)
            print(
                f"seed {seed} {name:<12} validation perplexity {perplexity:.2f}; accuracy of two "
                f"layers {network.accuracy:.3f}, of logistic regression {linear.accuracy:.3f}; "
                f"chance {network.chance:.3f}, {network.documents} documents",
                flush=True,
            )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
