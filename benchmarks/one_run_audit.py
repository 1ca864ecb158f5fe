"""`python -m benchmarks.one_run_audit [--seeds 20]`: does the bound from one run keep below the
claim of a private training, and does it find a mistake in the noise?

Small GRUs on synthetic mail, canary users in or out by coins, epsilon 1, 4 and 8. The mistake: the
noise of every step is a twentieth of what the accountant believes.
"""

import sys
import tempfile
from pathlib import Path

import leakscope
from leakscope.corpus.build_settings import BuildSettings
from leakscope.training.dp.noise import noise_source

EPSILONS = (1.0, 4.0, 8.0)
DELTA = 1e-4
SHAPE = {
    "arch": "gru", "hidden": 32, "embedding": 16, "epochs": 20, "batch_size": 32, "vocabulary": 200,
    "optimizer": "adam", "learning_rate": 0.05, "threads": 1, "max_words": 40,
}  # fmt: skip


def planted(folder: Path, seed: int) -> Path:
    """Canary users among those of a synthetic corpus, for one seed."""
    source, out = folder / "source", folder / f"planted-{seed}"
    if not source.exists():
        leakscope.corpus.synth(source, users=40, words=6000)
    leakscope.canary.plant(
        source / "data.parquet", out, BuildSettings(validation=0.0), coins="user", canaries=300,
        schedule="5", vocabulary=100, controls=0, seed=seed,
    )  # fmt: skip
    return out


def trained(canaries: Path, out: Path, epsilon: float | None, seed: int) -> Path:
    terms = {} if epsilon is None else {
        "mitigation": "dp", "target_epsilon": epsilon, "delta": DELTA, "sampling_rate": 0.3,
        "words_per_user": 30, "clip": 0.5,
    }  # fmt: skip
    leakscope.train(canaries / "corpus", out, seed=seed, **SHAPE, **terms)
    return out


def main() -> None:
    seeds = int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else 20
    cases = [("plain", None, 1.0), *((f"dp {e:g}", e, 1.0) for e in EPSILONS)]
    cases.append(("a twentieth of the noise, dp 1", 1.0, 0.05))
    bounds: dict[str, list[float]] = {label: [] for label, _, _ in cases}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(seeds):
            canaries = planted(folder, seed)
            for label, epsilon, share in cases:
                out = folder / f"{label}-{seed}"
                with noise_of(share):
                    trained(canaries, out, epsilon, seed)
                found = leakscope.canary.bound(
                    out, canaries, folder / f"bound-{label}-{seed}", delta=DELTA
                )
                bounds[label].append(found.epsilon_lower)
            print(f"seed {seed}: " + ", ".join(f"{k} {v[-1]:.2f}" for k, v in bounds.items()))
            sys.stdout.flush()
    for label, epsilon, _ in cases:
        found, claim = bounds[label], float("inf") if epsilon is None else epsilon
        above = sum(bound > claim for bound in found)
        print(
            f"{label:<30} bound {min(found):.2f} to {max(found):.2f}, above the claim in {above} "
            f"of {len(found)}"
        )


class noise_of:  # noqa: N801
    """Within the block, noise is this share of what it should be."""

    def __init__(self, share: float) -> None:
        self._share, self._right = share, noise_source.SystemNoise.add_

    def __enter__(self) -> None:
        right, share = self._right, self._share
        noise_source.SystemNoise.add_ = lambda self, tensors, deviation, step: right(
            self, tensors, share * deviation, step
        )

    def __exit__(self, *error: object) -> None:
        noise_source.SystemNoise.add_ = self._right


if __name__ == "__main__":
    main()
