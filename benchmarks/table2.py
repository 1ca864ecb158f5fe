"""A table like the second of Inan et al. 2021, on texts of one's own.

    python -m benchmarks.table2 PRIVATE.parquet PUBLIC.parquet OUT

runs the commands below one after the other: a plain model, at its best epoch and at its last;
private ones from random weights and from a public model, with snapshots at three epsilons each; the
public model itself; and reports on all of them. What is finished is kept. Noise and draws come from
a seed, so that the table can be made again; a model that is to be released must not have one.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.split import VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.models.evaluation import evaluate
from leakscope.models.word.model_directory import load_model

USERS = 6000
EPSILONS = "3,5,7"
SHAPE = ("--arch", "lstm", "--layers", "1", "--embedding", "64", "--hidden", "128")
PRIVATE = (
    "--mitigation", "dp", "--target-epsilon", "7", "--snapshot-at-epsilon", EPSILONS,
    "--users-per-step", "600", "--words-per-user", "100", "--epochs", "12", "--clip", "0.5",
    "--insecure-seed", "1",
)  # fmt: skip


def leakscope(done: Path, *arguments: object) -> None:
    """Run a command unless what it makes is there."""
    if done.exists():
        return
    command = [str(argument) for argument in arguments]
    print("leakscope", *command, flush=True)
    code = "from leakscope.cli.app import main; main()"
    subprocess.run([sys.executable, "-c", code, *command], check=True)


def some_users(source: Path, target: Path) -> None:
    """The texts of USERS users, chosen by a hash of their names."""
    table = pq.read_table(source, columns=["user", "text"])
    kept = set(sorted(set(table["user"].to_pylist()), key=_hash)[:USERS])
    mask = pa.array([user in kept for user in table["user"].to_pylist()])
    pq.write_table(table.filter(mask), target)


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def best_snapshot(model: Path) -> str:
    """The epoch with the lowest validation perplexity."""
    configs = {
        each.name: json.loads((each / "config.json").read_text())
        for each in (model / "snapshots").iterdir()
    }
    return min(configs, key=lambda name: configs[name]["progress"]["validation_perplexity"])


def main(private: Path, public: Path, out: Path) -> None:
    """Make the table."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "some.parquet").exists():
        some_users(private, out / "some.parquet")
    lower = ("--lowercase", "--shard-words", "500000")
    corpus, other = out / "corpus", out / "other"
    leakscope(
        corpus / "manifest.json", "corpus", "build", out / "some.parquet", "--out", corpus, *lower
    )
    leakscope(other / "manifest.json", "corpus", "build", public, "--out", other, *lower)
    base = out / "public"
    leakscope(
        base / "config.json", "train", other, "--out", base, *SHAPE, "--vocabulary", "5000",
        "--epochs", "3", "--learning-rate", "0.003",
    )  # fmt: skip
    words = ("--vocabulary-from", base)
    leakscope(
        out / "plain" / "config.json", "train", corpus, "--out", out / "plain", *SHAPE, *words,
        "--epochs", "20", "--batch-size", "128", "--learning-rate", "0.003",
    )  # fmt: skip
    leakscope(
        out / "dp" / "config.json", "train", corpus, "--out", out / "dp", *SHAPE, *words,
        *PRIVATE, "--learning-rate", "0.02",
    )  # fmt: skip
    leakscope(
        out / "dp-public" / "config.json", "train", corpus, "--out", out / "dp-public", *SHAPE,
        *words, "--warm-start", base, *PRIVATE, "--learning-rate", "0.005",
    )  # fmt: skip
    plain = out / "plain"
    models = {"plain-best": plain / "snapshots" / best_snapshot(plain), "plain": plain}
    for kind in ("dp", "dp-public"):
        for epsilon in EPSILONS.split(","):
            models[f"{kind}-{epsilon}"] = out / kind / "snapshots" / f"epsilon-{epsilon}"
    runs = []
    for name, model in models.items():
        runs.append(out / "runs" / name)
        leakscope(
            runs[-1] / "metrics.json", "report", model, corpus, "--out", runs[-1], "--name", name,
            "--public", base, "--benchmark", "--least-context", "0",
        )  # fmt: skip
    leakscope(out / "compare", "compare", *runs, "--out", out / "compare")
    opened = Corpus.open(corpus)
    found = evaluate(load_model(base).reading(opened.lexicon), opened.documents(VALIDATION))
    print(f"public model: perplexity {found.perplexity:.2f}, accuracy {found.accuracy}")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:4]))
