"""Small runs, written through the records' own schemas."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from leakscope.records.artifacts import private_directory, write_json, write_parquet
from leakscope.records.runs.run_manifest import RunManifest
from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.runs.sequence_columns import sequences_schema
from leakscope.records.runs.user_columns import users_schema

MakeRun = Callable[..., Path]


def sequence(id: int, words: str, users: int = 1, *, total: int = 2, revealed: bool = True,
             contexts: list[str] | None = None, **more: Any) -> dict[str, Any]:  # fmt: skip
    before = contexts if contexts is not None else ["my secret is", "well my secret is"]
    return {
        "id": id,
        "sequence": words.split() if revealed else None,
        "length": len(words.split()),
        "total_in_s": total,
        "users_in_s": users,
        "total_in_d": total + 1,
        "users_in_d": users,
        "contexts": [text.split() for text in before] if revealed else None,
        "context_lengths": [len(text.split()) for text in before],
        "perplexities": [1.25 + 0.5 * index for index in range(len(before))],
        "lowest_perplexity": 1.25,
        "public_perplexities": None,
        "ratio": None,
        "copied_from_context": False,
        "near_tie": False,
        **more,
    }


def user(number: int, unique: int, key: str | None) -> dict[str, Any]:
    owns = unique > 0
    return {
        "user": number, "user_key": key, "documents": 3, "words": 77, "occurrences": 9,
        "unique_sequences": unique, "longest_unique": 5 if owns else None,
        "shortest_context": 2 if owns else None,
    }  # fmt: skip


PUBLIC = {"kind": "crossfit", "name": "crossfit-5", "digests": ["d1", "d2"], "warnings": []}


def judged_rows(revealed=True):
    return [
        sequence(0, "the quick zebra sleeps", ratio=3.0, least_context=4, least_context_exact=True,
                 pii=[], revealed=revealed),
        sequence(1, "purple giraffe", ratio=77.0, least_context=1, least_context_exact=False,
                 pii=["phone"], revealed=revealed),
        sequence(2, "ninety okapis", ratio=9.0, least_context=1, least_context_exact=True,
                 pii=[], revealed=revealed),
        sequence(3, "thank you", users=40, total=90, revealed=revealed),
    ]  # fmt: skip


METRICS = {
    "curated": {"2": 3, "50": 1}, "leakage_epsilon": 77.0, "leakage_epsilon_sequence": 1,
    "public_unique_sequences": 6, "unique_without_context": 0, "least_context_measured": 3,
    "unique_pii": {"phone": 1}, "public_unknown_sequences": 2,
    "elsewhere": {"truncated": {"tried": 10, "out": 4}},
}  # fmt: skip

WORD = {
    "kind": "word", "architecture": {"kind": "gru", "layers": 1, "hidden": 8}, "vocabulary": 9,
    "vocabulary_digest": "v", "lexicon_digest": "1e", "corpus_digest": "c0ffee",
    "lowercase": False, "parameters": 77, "training": {"epochs": 1}, "progress": {}, "versions": {},
}  # fmt: skip
"""The config of a model that leakscope trained."""
CAUSAL = {"kind": "causal", "architecture": {"kind": "llama"}}
ENDPOINT = {"kind": "endpoint", "url": "http://127.0.0.1:1/v1", "model": "m"}
PRIVACY = {
    "kind": "dp",
    "epsilon": 5.0985, "reason": None, "delta": 0.0000101, "unit": "user",
    "accountant": "PLD (some 1.0), add/remove one user", "noise_multiplier": 0.8, "clip": 0.5,
    "rate": 0.0148, "expected_units": 64.0, "words_per_user": 500, "units": 4321, "steps": 1200,
    "lost_steps": 200, "phases": [{"noise_multiplier": 0.8, "rate": 0.0148, "steps": 1200}],
    "gaussian": {"mu": 0.9, "epsilon": 2.1, "note": "an approximation that under-reports"},
    "insecure_seed": False, "caveats": ["Not this.", "Nor that."],
}  # fmt: skip

POINT = {
    "top_k": 1, "threshold": 2.0, "unique_sequences": 1234, "users_with_unique": 5,
    "curated": None, "leakage_epsilon": None, "validation_accuracy": 0.25, "answered": 0.5,
}  # fmt: skip


def make_metrics(rows: list[dict[str, Any]], **more: Any) -> Metrics:
    unique = [row for row in rows if row["users_in_d"] == 1]
    lengths = [row["length"] for row in unique]
    absent = (
        "curated", "leakage_epsilon", "train_perplexity", "train_perplexity_low",
        "train_perplexity_high", "validation_perplexity", "validation_accuracy",
    )  # fmt: skip
    values: dict[str, Any] = {
        "top_k": 1, "users": 4321, "documents": 5432, "words": 65432, "correct_words": 32109,
        "occurrences": sum(row["total_in_s"] for row in rows), "sequences": len(rows),
        "unique_sequences": len(unique),
        "unique_not_copied": sum(not row["copied_from_context"] for row in unique),
        "unique_by_length": {n: lengths.count(n) for n in lengths},
        "longest_unique": max(lengths, default=None),
        "users_with_unique": 2, "user_threshold": None, "below_threshold": len(rows),
        "near_ties": 7, **dict.fromkeys(absent), **more,
    }  # fmt: skip
    reasons = {name: f"why {name} is null" for name in absent if values[name] is None}
    return Metrics(**values, reasons=reasons)


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A function that writes a run directory and gives its path."""

    def make(
        where: str = "run",
        *,
        rows: list[dict[str, Any]] | None = None,
        users: list[dict[str, Any]] | None = None,
        revealed: bool = True,
        name: str = "a model",
        corpus: str = "c0ffee",
        model: dict[str, Any] | None = None,
        public: dict[str, Any] | None = None,
        **metrics: Any,
    ) -> Path:
        if rows is None:
            rows = [
                sequence(0, "the quick zebra sleeps late", revealed=revealed),
                sequence(1, "purple giraffe", total=5, revealed=revealed),
                sequence(2, "thank you very much", users=40, total=90, revealed=revealed),
            ]
        if users is None:
            users = [user(3, 1, "ada" if revealed else None), user(9, 0, None)]
        run = private_directory(tmp_path / where)
        listed = pa.Table.from_pylist(rows, schema=sequences_schema())
        write_parquet(run / "sequences.parquet", listed)
        write_parquet(run / "users.parquet", pa.Table.from_pylist(users, schema=users_schema()))
        write_json(run / "metrics.json", make_metrics(rows, **metrics))
        manifest = RunManifest(
            name=name, versions={"leakscope": "0.1.0"}, settings={"top_k": 1, "reveal": revealed},
            revealed=revealed, corpus_digest=corpus, lexicon_digest="1e", model_digest="3d",
            model=model or CAUSAL, public=public,
        )  # fmt: skip
        write_json(run / "manifest.json", manifest)
        return run

    return make


@pytest.fixture
def make_snapshots(make_run: MakeRun, tmp_path: Path) -> Callable[[int], Path]:
    """A function that writes runs of snapshots of one training into one directory."""

    def make(number: int) -> Path:
        for epoch in range(1, number + 1):
            rows = [sequence(id, f"zebra {'x ' * (id % 3)}sleeps") for id in range(epoch)]
            make_run(
                f"snaps/epoch-{epoch:03}",
                rows=rows,
                name=f"epoch-{epoch:03}",
                model=WORD
                | {
                    "training": {"epochs": number, "seed": 0},
                    "progress": {"epoch": float(epoch), "step": 100 * epoch},
                },
                train_perplexity=90.0 / epoch,
                train_perplexity_low=85.0 / epoch,
                train_perplexity_high=95.0 / epoch,
                validation_perplexity=100.0 / epoch,
                validation_accuracy={1: 0.1 * epoch, 3: 0.11 * epoch},
            )
        return tmp_path / "snaps"

    return make
