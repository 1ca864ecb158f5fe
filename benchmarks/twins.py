"""`python -m benchmarks.twins synth|irc|null|areas --out FILE ...`, then `... show --out FILE`:
are q-values honest?

A confirmed sequence is a false discovery if a *twin* predicts it too: a model that was trained in
the same way, from another seed and without the sequence's owner, with all of its words within the
top k in one of its places. Twins of all users at once are cross-fitted models. Those that a report
uses as public models or as stand-ins are others: another seed, and another partition of the users.

    synth   [--seeds 0:20]               synthetic text, whose secrets are known
    irc     [--seeds 0:5] --data FILE    users of a table with the columns user and text
            [--after 2 6]                of either: the epochs after which the model is judged (more
                                         than the usual ones make it overfit)
    null    [--seeds 0:7]                models that have memorized nothing
    areas                                orders of the sequences of the demo's model and of that of
                                         `python -m benchmarks secrets`

Each measurement is a line of FILE, so that a run that was cut off is worth something.
"""

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import leakscope
from benchmarks.secrets import FOLDER as SECRETS_FOLDER
from benchmarks.secrets import judged_run
from benchmarks.twins_shown import show
from benchmarks.twins_truth import Truth
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import load_for_corpus
from leakscope.auditing.public_models import public_source
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.public_training import fold_of, train_folds
from leakscope.auditing.training_recipe import recipe_of
from leakscope.commands.demo import demo_settings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import silent
from leakscope.leakage.chance.stand_ins import StandIns
from leakscope.leakage.pipeline import audit
from leakscope.leakage.subject import Subject
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.word.model_directory import weights_digest
from leakscope.models.wrappers.by_user import ByUser
from leakscope.records.artifacts import read_parquet
from leakscope.records.models.audited_model import CallersNetworkRecord, NetworkShape
from leakscope.records.models.stand_in_record import StandInsRecord
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.unique import extremeness
from leakscope.reporting.opened_run import Run

REPORT_FOLDS, STAND_IN_FOLDS, TWIN_FOLDS = 3, 4, 5
TOP_K = (1, 3)
BARS = (0.01, 0.05, 0.1, 0.2)
PLAIN = {"reveal": True, "least_context": 0, "validation_words": 1000, "threads": 1}


@dataclass(frozen=True)
class Case:
    """One corpus and how models are trained on it."""

    kind: str
    seed: int
    corpus: Path
    truth: Path | None
    shape: dict[str, Any]
    after: tuple[int, ...]
    """Epochs after which the model is judged."""

    def trained(self, folder: Path) -> Path:
        """The audited model."""
        leakscope.train(self.corpus, folder, seed=self.seed, threads=1, **self.shape)
        return folder


def synthetic(folder: Path, seed: int) -> Case:
    """Small synthetic corpora of several sizes, with several shares held out."""
    rng = np.random.default_rng([22, seed])
    words, share = int(rng.integers(12, 21)) * 1000, float(rng.choice([0.2, 0.3, 0.4, 0.5]))
    leakscope.corpus.synth(
        folder / "source", users=int(rng.integers(30, 41)), words=words, seed=seed
    )
    leakscope.corpus.build(
        folder / "source" / "data.parquet", folder / "corpus", validation=share, seed=seed
    )
    hidden = int(rng.choice([64, 96]))
    shape = {
        "arch": "gru", "hidden": hidden, "embedding": 64, "epochs": 6, "batch_size": 32,
        "learning_rate": 0.02, "vocabulary": 5000,
    }  # fmt: skip
    return Case("synth", seed, folder / "corpus", folder / "source" / "truth.parquet", shape,
                (2, 6))  # fmt: skip


def real(folder: Path, seed: int, data: Path, words: int = 35_000) -> Case:
    """Some users of a large table, drawn by the seed; those who write little are left out."""
    table = pq.read_table(data, columns=["user", "text"]).to_pandas()
    table["words"] = table["text"].str.split().str.len()
    sizes = table.groupby("user")["words"].sum()
    rng = np.random.default_rng([22, seed])
    keys = rng.permutation(np.sort(sizes.index[(sizes >= 200) & (sizes <= 3000)].to_numpy()))
    enough = int(np.searchsorted(np.cumsum(sizes[keys].to_numpy()), words)) + 1
    chosen = table[table["user"].isin(set(keys[:enough]))][["user", "text"]]
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pandas(chosen, preserve_index=False), folder / "some.parquet")
    share = float(rng.choice([0.3, 0.4, 0.5]))
    leakscope.corpus.build(folder / "some.parquet", folder / "corpus", validation=share, seed=seed)
    shape = {
        "arch": "gru", "hidden": 96, "embedding": 64, "epochs": 10, "batch_size": 32,
        "learning_rate": 0.01, "vocabulary": 3000,
    }  # fmt: skip
    return Case("irc", seed, folder / "corpus", None, shape, (4, 10))


def longer(case: Case, after: list[int] | None) -> Case:
    """The same case, judged after other epochs."""
    if after is None:
        return case
    return replace(case, shape=case.shape | {"epochs": max(after)}, after=tuple(after))


def judged(case: Case, folder: Path) -> Iterator[dict[str, Any]]:
    """Measurements after each of the epochs in question."""
    corpus = Corpus.open(case.corpus)
    model = case.trained(folder / "model")
    recipe = recipe_of(model, corpus, None)
    third, other = (
        replace(recipe, settings=replace(recipe.settings, seed=case.seed + more))
        for more in (1, 1000)
    )
    public = train_folds(corpus, folder / "public", recipe, REPORT_FOLDS, 1, silent)
    stand_ins = train_folds(corpus, folder / "stand-ins", third, STAND_IN_FOLDS, 1, silent)
    twins = train_folds(corpus, folder / "twins", other, TWIN_FOLDS, 1, silent)
    repeated = repeated_words(corpus)
    truth = None if case.truth is None else Truth(case.truth, corpus)
    for epoch in case.after:
        name = f"epoch-{epoch:03d}"
        at = model / "snapshots" / name
        by = {"crossfit": _snapshots(public, name), "twins": _snapshots(twins, name)}
        stood = {"stand_ins": str(_snapshots(stand_ins, name))}
        for k in TOP_K:
            runs = {"none": _report(at, case, folder / f"none-{name}-{k}", k)} | {
                kind: _report(at, case, folder / f"{kind}-{name}-{k}", k, public=str(folds))
                for kind, folds in by.items()
            }
            runs["none, stand-ins"] = _report(at, case, folder / f"alone-by-{name}-{k}", k, **stood)
            both = stood | {"public": str(by["crossfit"])}
            runs["crossfit, stand-ins"] = _report(at, case, folder / f"by-{name}-{k}", k, **both)
            false = _column(runs.pop("twins"), "public_predicts")
            ratios = _column(runs["crossfit"], "ratio")
            said: dict[str, Any] = {
                "kind": case.kind, "seed": case.seed, "epoch": epoch, "k": k,
                "held_out": corpus.manifest.settings.validation, "hidden": case.shape["hidden"],
            }  # fmt: skip
            alone = folder / f"alone-{name}-{k}"
            metrics = in_the_models_place(by["twins"], by["crossfit"], case, alone, k)
            for label, run in runs.items():
                planted = {} if truth is None else truth.found(run, ratios)
                told = figures(run.metrics) | by_twins(run, false) | planted
                lists = ListRule(
                    with_ratios=label.startswith("crossfit"),
                    repeated=repeated if label == "none" else None,
                )
                shown = above_the_bar(run.path, alone, lists)
                yield said | {"public": label, "shown": shown} | told
            yield (
                said
                | {"kind": f"null: twins, {case.kind}", "public": "crossfit"}
                | figures(metrics)
            )
            again = folder / f"alone-by-stand-ins-{name}-{k}"
            standing = Path(stood["stand_ins"])
            metrics = in_the_models_place(
                by["twins"], by["crossfit"], case, again, k, stand_ins=standing
            )
            yield (
                said
                | {"kind": f"null: twins, {case.kind}, stand-ins", "public": "crossfit"}
                | figures(metrics)
            )


def _report(model: Path, case: Case, out: Path, k: int, **more: str) -> Run:
    run: Run = leakscope.report(model, case.corpus, out, top_k=k, **PLAIN, **more)
    return run


def _snapshots(folds: Path, name: str) -> Path:
    """Cross-fitted models as they were at one snapshot."""
    target = folds.parent / name
    for fold in sorted(folds.glob("fold-*")):
        copytree(fold / "snapshots" / name, target / fold.name)
    for known in (each for each in folds.iterdir() if each.is_file()):
        (target / known.name).write_bytes(known.read_bytes())
    return target


def _column(run: Run, name: str) -> dict[tuple[str, ...], Any]:
    """By the words of each unique sequence."""
    table = read_parquet(run.path / "sequences.parquet", ["sequence", "users_in_d", name])
    rows = table.to_pylist()
    return {tuple(row["sequence"]): row[name] for row in rows if row["users_in_d"] == 1}


def figures(said: Metrics) -> dict[str, Any]:
    """Numbers of a run."""
    return {
        "words": said.words, "unique": said.unique_sequences, "confirmed": said.confirmed_unique,
        "least": said.least_confirmable, "decoys": said.decoys, "chance": said.chance_unique,
        "long": sum(n for size, n in said.unique_by_length.items() if int(size) >= 5),
        "together": said.judged_together,
        "chance_high": said.chance_unique_high, "perplexity": said.validation_perplexity,
    }  # fmt: skip


def by_twins(run: Run, false: dict[tuple[str, ...], bool]) -> dict[str, Any]:
    """What twins say of a run; `false` are the unique sequences that they predict."""
    names = ["sequence", "users_in_d", "total_in_d", "length", "q_value"]
    rows = read_parquet(run.path / "sequences.parquet", names).to_pylist()
    rows = [row for row in rows if row["users_in_d"] == 1]
    wrong = np.array([false[tuple(row["sequence"])] for row in rows], np.bool_)
    q = np.array([row["q_value"] for row in rows], np.float64)
    repeated = np.array([row["total_in_d"] > 1 for row in rows], np.bool_)
    long = np.array([row["length"] >= 5 for row in rows], np.bool_)
    some = {
        "all": np.ones(len(rows), np.bool_), "repeated": repeated & (q <= 0.05),
        "once": ~repeated & (q <= 0.05), "length >= 5": long,
    } | {f"q <= {bar:g}": q <= bar for bar in BARS}  # fmt: skip
    return {
        "of": {name: [int(kept.sum()), int((wrong & kept).sum())] for name, kept in some.items()}
    }


def nothing_memorized(folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """A training of one epoch on more text, and one with differential privacy at epsilon 1."""
    source, corpus = folder / "source", folder / "corpus"
    leakscope.corpus.synth(source, users=150, words=60_000, seed=300 + seed)
    leakscope.corpus.build(source / "data.parquet", corpus, validation=0.4, seed=seed)
    shape = {
        "arch": "gru", "hidden": 96, "embedding": 64, "vocabulary": 5000, "threads": 1,
        "seed": seed,
    }  # fmt: skip
    leakscope.train(
        corpus, folder / "once", epochs=1, batch_size=16, learning_rate=0.01, **shape
    )  # fmt: skip
    leakscope.train(
        corpus, folder / "private", epochs=5, learning_rate=0.01, mitigation="dp",
        target_epsilon=1.0, delta=1e-3, sampling_rate=0.2, words_per_user=256, clip=0.5, **shape,
    )  # fmt: skip
    said = {"seed": seed, "epoch": 0, "public": "none"}
    for name in ("once", "private"):
        for k in TOP_K:
            out = folder / f"run-{name}-{k}"
            run = leakscope.report(folder / name, corpus, out, top_k=k, **PLAIN)
            yield {"kind": f"null: {name}"} | said | {"k": k} | figures(run.metrics)


def in_the_models_place(
    twins: Path, public: Path, case: Case, out: Path, k: int, stand_ins: Path | None = None
) -> Metrics:
    """A report on twins as if they were the model: each answers for the users that it has never
    seen, so that whatever comes out is chance.
    """
    config = CallersNetworkRecord(architecture=NetworkShape(kind="twins"))
    asked = ReportSettings(top_k=k, least_context=0, validation_words=1000, reveal=True)
    subject = Subject(
        "twins", str(out), config, partial(_as_one, twins, case.corpus), AnswerIdentity(str(out))
    )
    corpus, how = Corpus.open(case.corpus), LoadingSettings(threads=1)
    source = public_source(
        PublicSettings(str(public)), None, corpus, how=how, progress=silent
    )  # fmt: skip
    standing = None
    if stand_ins is not None:
        digests = tuple(weights_digest(fold) for fold in sorted(stand_ins.glob("fold-*")))
        record = StandInsRecord(name="stand-ins", digests=digests, folds=len(digests))
        standing = StandIns(
            record, partial(_as_one, stand_ins, case.corpus), AnswerIdentity(str(stand_ins))
        )
    return audit(replace(subject, stand_ins=standing), corpus, out, asked, public=source)


@dataclass(frozen=True)
class ListRule:
    """How the sequences of a report are ordered, and into which lists they fall."""

    with_ratios: bool
    repeated: set[str] | None
    """Words that one user alone repeats: what holds one is in a list of its own, as is what its
    owner repeats; None: all are one list."""

    def lists(self, rows: Any) -> list[Any]:
        if self.repeated is None:
            return [rows]
        habit = (rows["total_in_d"] > 1) | rows["sequence"].map(
            lambda words: not self.repeated.isdisjoint(words)
        )
        return [rows[habit], rows[~habit]]

    def scores(self, rows: Any) -> np.ndarray:
        ratios = rows["ratio"].to_numpy(np.float32) if self.with_ratios else None
        return extremeness(rows["length"].to_numpy(np.int64), ratios)


def repeated_words(corpus: Corpus) -> set[str]:
    """Words that one user alone has in D, more than once."""
    total: Counter[int] = Counter()
    owners: dict[int, set[int]] = defaultdict(set)
    for chunk in corpus.documents():
        for index in range(len(chunk)):
            for word in chunk.words_of(index).tolist():
                total[word] += 1
                owners[word].add(int(chunk.users[index]))
    words = corpus.lexicon.words
    return {words[word] for word, seen in total.items() if seen > 1 and len(owners[word]) == 1}


def above_the_bar(run: Path, alone: Path, rule: ListRule) -> int:
    """How many unique sequences of twins in the model's place are as extreme as the least extreme
    one that the model's run confirms: so many of the confirmed are chance.
    """
    names = ["sequence", "users_in_d", "total_in_d", "length", "ratio", "q_value"]
    mine, theirs = (
        read_parquet(path / "sequences.parquet", names).to_pandas().query("users_in_d == 1")
        for path in (run, alone)
    )
    found = 0
    for one, other in zip(rule.lists(mine), rule.lists(theirs), strict=True):
        confirmed = one["q_value"].to_numpy() <= 0.05
        if confirmed.any():
            found += int((rule.scores(other) >= rule.scores(one)[confirmed].min()).sum())
    return found


def _as_one(folds: Path, corpus: Path) -> ByUser:
    folders = sorted(folds.glob("fold-*"))
    models = [load_for_corpus(folder, corpus, LoadingSettings(threads=1)) for folder in folders]
    return ByUser(models, partial(fold_of, folds=len(models)))


def known_orders(folder: Path) -> Iterator[dict[str, Any]]:
    """The demo's overfit model, and the lightly trained one of the benchmark of secrets."""
    leakscope.corpus.synth(folder / "synth", seed=0)
    leakscope.corpus.build(folder / "synth" / "data.parquet", folder / "corpus")
    leakscope.train(folder / "corpus", folder / "model", demo_settings(0), threads=1)
    choice = {"public": "crossfit", "folds": 4}
    run = leakscope.report(folder / "model", folder / "corpus", folder / "run", **PLAIN, **choice)
    yield _order_of("demo", run, folder)
    yield _order_of("light", Run.open(judged_run()), SECRETS_FOLDER)


def _order_of(name: str, run: Run, folder: Path) -> dict[str, Any]:
    truth = Truth(folder / "synth" / "truth.parquet", Corpus.open(folder / "corpus"))
    said = {"kind": f"areas: {name}", "seed": 0, "epoch": 0, "k": 1, "public": "crossfit"}
    return said | figures(run.metrics) | truth.found(run, _column(run, "ratio"))


def main() -> None:
    asked = _arguments()
    if asked.what == "show":
        show(asked.out)
        return
    if asked.what == "areas":
        asked.seeds = "0:1"
    first, last = (int(part) for part in asked.seeds.split(":"))
    for seed in range(first, last):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if asked.what == "null":
                lines = nothing_memorized(folder, seed)
            elif asked.what == "areas":
                lines = known_orders(folder)
            elif asked.what == "irc":
                lines = judged(longer(real(folder, seed, asked.data), asked.after), folder)
            else:
                lines = judged(longer(synthetic(folder, seed), asked.after), folder)
            for line in lines:
                with asked.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.twins")
    parser.add_argument("what", choices=["synth", "irc", "null", "areas", "show"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", default="0:20", help="the first, and the one after the last")
    parser.add_argument("--data", type=Path, help="of irc")
    parser.add_argument("--after", type=int, nargs="+", help="epochs, of synth and irc")
    return parser.parse_args()


if __name__ == "__main__":
    main()
