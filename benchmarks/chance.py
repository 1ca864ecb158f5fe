"""What the chance line says of models whose memory is known, on texts of one's own.

    python -m benchmarks.chance never TEXT.parquet OTHER.parquet OUT [--public MODEL] [--splits 5]
    python -m benchmarks.chance snapshots TEXT.parquet OUT [--outside OTHER.parquet]

`never`: models that never saw TEXT (a GRU that is trained on OTHER, and a Hugging Face model) are
reported on as if they had been trained on it: the excess should be about 0 and nothing confirmed.
If OTHER is TEXT, the GRU is trained on one half of its users and reported on with the other half.
Each split draws users and held-out documents anew. `snapshots`: chance, excess and what is
confirmed, by epoch, of a plain and of a private model, judged by cross-fitted models or by one that
is trained on OTHER. Files have the columns `user` and `text`. What is finished is kept in OUT.
"""

import argparse
import hashlib
import json
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

import leakscope
from leakscope.corpus.store import Corpus
from leakscope.leakage.pipeline import audit
from leakscope.leakage.subject import Subject
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.records.runs.report_settings import ReportSettings

SHAPE = {
    "arch": "gru", "layers": 1, "embedding": 64, "hidden": 128, "dropout": 0.0, "optimizer": "adam",
    "batch_size": 32, "threads": 1,
}  # fmt: skip
KEPT = (
    "unique_sequences", "chance_unique", "chance_unique_low", "chance_unique_high",
    "excess_unique", "excess_unique_low", "excess_unique_high", "confirmed_unique",
    "users_with_confirmed", "least_confirmable", "decoys", "decoy_words", "leakage_epsilon",
    "confirmed_epsilon", "train_perplexity", "validation_perplexity",
)  # fmt: skip


def some_users(
    source: Path, target: Path, words: int, seed: int, longest: int, half: int | None = None
) -> None:
    """The texts of users drawn by a hash until there are so many words, of one half of all users if
    one is named; without documents that are longer than `longest` words.
    """
    if target.exists():
        return
    table = pq.read_table(source, columns=["user", "text"])
    users, texts = table["user"].to_pylist(), table["text"].to_pylist()
    sizes = [len((text or "").split()) for text in texts]
    total: Counter[str] = Counter()
    for user, size in zip(users, sizes, strict=True):
        if half is None or int(_hash(user), 16) % 2 == half:
            total[user] += size if size <= longest else 0
    kept, drawn = set(), 0
    for user in sorted(total, key=lambda name: _hash(f"{seed} {name}")):
        if drawn >= words:
            break
        kept.add(user)
        drawn += total[user]
    some = [u in kept and n <= longest for u, n in zip(users, sizes, strict=True)]
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.filter(pa.array(some)), target)


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def corpus_of(sample: Path, out: Path, validation: float, seed: int = 0) -> Path:
    if not (out / "manifest.json").exists():
        leakscope.corpus.build(sample, out, lowercase=True, validation=validation, seed=seed)
    return out


def trained(corpus: Path, out: Path, **options) -> Path:
    if not (out / "config.json").exists():
        leakscope.train(corpus, out, **SHAPE, **options)
    return out


def foreign_report(model: Path, corpus: Path, out: Path, k: int) -> None:
    """On a word-level model of another corpus, which `leakscope report` refuses."""
    on = Corpus.open(corpus)
    load = partial(_foreign, model, on)
    identity = AnswerIdentity(model.name)
    audit(
        Subject(model.name, "foreign", load_config(model), load, identity), on, out,
        ReportSettings(top_k=k, least_context=0, validation_words=2000),
    )  # fmt: skip


def _foreign(model: Path, corpus: Corpus):
    return load_model(model).reading(corpus.lexicon)


def figures(run: Path) -> dict:
    metrics = json.loads((run / "metrics.json").read_text())
    return {name: metrics.get(name) for name in KEPT}


def never(given: argparse.Namespace) -> None:
    out, found = given.out, []
    mine, theirs = (0, 1) if given.other == given.text else (None, None)
    some_users(given.other, out / "other.parquet", given.words, 1, given.longest, theirs)
    other = corpus_of(out / "other.parquet", out / "other", 0.1)
    outsider = trained(other, out / "outsider", epochs=4, vocabulary=5000, learning_rate=0.003)
    for seed in range(given.splits):
        sample = out / f"sample-{seed}.parquet"
        some_users(given.text, sample, given.words, seed, given.longest, mine)
        for share in given.shares:
            corpus = corpus_of(sample, out / f"corpus-{share:g}-{seed}", share, seed)
            for k in given.top_k:
                name = f"{share:g}-{seed}-{k}"
                models = {"gru": partial(foreign_report, outsider)}
                if given.public is not None:
                    models["public"] = partial(_hugging_face, given.public)
                for label, make in models.items():
                    run = out / f"run-{label}-{name}"
                    if not (run / "manifest.json").exists():
                        make(corpus, run, k)
                    row = {"model": label, "share": share, "seed": seed, "k": k} | figures(run)
                    found.append(row)
                    print(_never_line(row), flush=True)
    (out / "never.json").write_text(json.dumps(found, indent=1))
    _coverage(found)


def _hugging_face(model: Path, corpus: Path, out: Path, k: int) -> None:
    leakscope.report(
        model, corpus, out, trained_on="train", top_k=k, least_context=0, validation_words=2000,
        threads=1,
    )  # fmt: skip


def _never_line(row: dict) -> str:
    within = row["excess_unique_low"] <= 0 <= row["excess_unique_high"]
    return (
        f"| {row['model']} | {row['share']:g} | {row['seed']} | {row['k']} "
        f"| {row['unique_sequences']} "
        f"| {_interval(row, 'chance_unique')} | {_interval(row, 'excess_unique')} "
        f"| {'yes' if within else 'NO'} | {row['confirmed_unique']} |"
    )


def _coverage(found: list[dict]) -> None:
    for model in sorted({row["model"] for row in found}):
        for k in sorted({row["k"] for row in found}):
            for share in sorted({row["share"] for row in found}):
                rows = [r for r in found if (r["model"], r["k"], r["share"]) == (model, k, share)]
                within = sum(r["excess_unique_low"] <= 0 <= r["excess_unique_high"] for r in rows)
                unique = sum(r["unique_sequences"] for r in rows) / len(rows)
                chance = sum(r["chance_unique"] for r in rows) / len(rows)
                print(
                    f"| {model} | {k} | {share:g} | {unique:.0f} | {chance:.0f} "
                    f"| {chance / max(unique, 1):.2f} | {within} of {len(rows)} "
                    f"| {sum(r['confirmed_unique'] for r in rows)} |"
                )


def _interval(row: dict, name: str) -> str:
    return f"{row[name]:.0f} ({row[name + '_low']:.0f} to {row[name + '_high']:.0f})"


def snapshots(given: argparse.Namespace) -> None:
    out, found = given.out, []
    some_users(given.text, out / "sample.parquet", given.words, given.seed, given.longest)
    corpus = corpus_of(out / "sample.parquet", out / "corpus", given.validation, given.seed)
    plain = {
        "epochs": max(given.epochs), "vocabulary": 5000, "learning_rate": 0.005, "seed": given.seed,
    }  # fmt: skip
    private = plain | {
        "mitigation": "dp", "target_epsilon": given.epsilon, "sampling_rate": 0.1,
        "words_per_user": 200, "clip": 0.5,
    }  # fmt: skip
    cases = {"plain": plain, "dp": private}
    publics: dict[str, dict] = {"crossfit": {"public": "crossfit", "folds": 2}}
    if given.outside is not None:
        some_users(given.outside, out / "other.parquet", given.words, 1, given.longest)
        corpus_of(out / "other.parquet", out / "other", 0.1)
        model = trained(
            out / "other", out / "outsider", epochs=4, vocabulary=5000, learning_rate=0.003
        )
        publics["outside"] = {"public": str(model)}
        cases["dp-outside"] = private | {"warm_start": model, "learning_rate": 0.002}
    publics = {name: asked for name, asked in publics.items() if name in given.judges}
    for case in given.models:
        if "crossfit" in publics and "warm_start" in cases[case]:
            publics["crossfit"]["warm_start"] = cases[case]["warm_start"]
        model, began = out / case, time.monotonic()
        trained(corpus, model, **cases[case])
        print(f"{case}: trained in {time.monotonic() - began:.0f} s", flush=True)
        for epoch, snapshot in _snapshots(model, given.epochs):
            for public, asked in publics.items():
                for k in given.top_k:
                    run = out / f"run-{case}-{public}-{epoch}-{k}"
                    if not (run / "manifest.json").exists():
                        leakscope.report(
                            snapshot, corpus, run, top_k=k, least_context=0, threads=1, **asked
                        )
                    row = {"model": case, "judge": public, "k": k, "epoch": epoch} | figures(run)
                    found.append(row)
                    print(_snapshot_line(row), flush=True)
    (out / "snapshots.json").write_text(json.dumps(found, indent=1))


def _snapshots(model: Path, epochs: list[int]) -> list[tuple[int, Path]]:
    """(epoch, snapshot directory) of those that were asked for."""
    every = sorted((model / "snapshots").iterdir())
    return [(number, every[number - 1]) for number in epochs if number <= len(every)]


def _snapshot_line(row: dict) -> str:
    names = ("leakage_epsilon", "confirmed_epsilon", "train_perplexity", "validation_perplexity")
    told = ["–" if row[name] is None else f"{row[name]:.3g}" for name in names]
    return (
        f"| {row['model']} | {row['judge']} | {row['k']} | {row['epoch']} "
        f"| {told[2]} / {told[3]} "
        f"| {row['unique_sequences']} | {_interval(row, 'chance_unique')} "
        f"| {_interval(row, 'excess_unique')} "
        f"| {row['confirmed_unique']} | {row['users_with_confirmed']} "
        f"| {told[0]} | {told[1]} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chance")
    ways = parser.add_subparsers(dest="way", required=True)
    one, two = ways.add_parser("never"), ways.add_parser("snapshots")
    for each in (one, two):
        each.add_argument("text", type=Path)
    one.add_argument("other", type=Path)
    one.add_argument("--public", type=Path)
    one.add_argument("--splits", type=int, default=5)
    one.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.1])
    two.add_argument("--outside", type=Path)
    two.add_argument("--validation", type=float, default=0.2)
    two.add_argument("--epochs", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    two.add_argument("--seed", type=int, default=0, help="of users, split and training")
    judges = ["crossfit", "outside"]
    two.add_argument("--judges", nargs="+", default=judges, choices=judges)
    two.add_argument("--epsilon", type=float, default=8.0)
    kinds = ["plain", "dp", "dp-outside"]  # the last one starts from the outside model
    two.add_argument("--models", nargs="+", default=kinds[:2], choices=kinds)
    for each, tops in ((one, [1, 3]), (two, [1])):
        each.add_argument("out", type=Path)
        each.add_argument("--words", type=int, default=150_000)
        each.add_argument("--longest", type=int, default=300, help="words of a document")
        each.add_argument("--top-k", type=int, nargs="+", default=tops)
    given = parser.parse_args()
    torch.set_num_threads(1)
    (never if given.way == "never" else snapshots)(given)


if __name__ == "__main__":
    main()
