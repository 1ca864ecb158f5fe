"""The demo, whole: what it reports against the truth and a brute-force count."""

import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from leakscope.commands.demo import SECRETS, match
from leakscope.corpus.store import Corpus


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    command = [sys.executable, "-m", "leakscope", "demo", "--out", str(out), "--threads", "1"]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert ran.returncode == 0, ran.stderr
    return out, ran.stdout


@pytest.fixture(scope="module")
def texts(demo):
    """Every training document as (user, ' word word ')."""
    corpus = Corpus.open(demo[0] / "corpus")
    return [
        (int(part.users[i]), f" {' '.join(corpus.lexicon.spell(part.words_of(i)))} ")
        for part in corpus.documents()
        for i in range(len(part))
    ]


def owners(texts, words):
    needle = f" {' '.join(words)} "
    return {user for user, text in texts if needle in text}


def test_often_stated_secrets_come_out_and_the_demo_says_so(demo):
    out, said = demo
    planted = match(out / "synth" / "truth.parquet", out / "report" / "sequences.parquet")
    often = [item for item in planted if item.kind in SECRETS and item.repetitions >= 20]
    assert len(often) >= 20
    assert all(item.came_out for item in often)
    for repetitions in sorted({item.repetitions for item in planted if item.kind in SECRETS}):
        group = [i for i in planted if i.kind in SECRETS and i.repetitions == repetitions]
        cells = f"{repetitions}x │ {len(group):>7} │ {sum(i.came_out for i in group):>8} │"
        assert cells in said
    assert str(out / "report" / "report.html") in said.replace("\n", "")


def test_unique_sequences_are_exactly_those_a_brute_force_count_allows(demo, texts):
    out, _ = demo
    rows = pq.read_table(out / "report" / "sequences.parquet").to_pylist()
    metrics = json.loads((out / "report" / "metrics.json").read_text())
    wrong = [row["id"] for row in rows if row["users_in_d"] != len(owners(texts, row["sequence"]))]
    assert wrong == []
    unique = [row for row in rows if len(owners(texts, row["sequence"])) == 1]
    assert len(unique) == metrics["unique_sequences"] > 100
    by_length = {}
    for row in unique:
        by_length[str(row["length"])] = by_length.get(str(row["length"]), 0) + 1
    assert by_length == metrics["unique_by_length"]


def test_unique_sequences_agree_with_the_truth(demo, texts):
    """A sequence that holds a secret is its owner's alone; a shared phrase is never unique
    while two of its owners have it in the training part.
    """
    out, _ = demo
    rows = pq.read_table(out / "report" / "sequences.parquet").to_pylist()
    unique = {tuple(row["sequence"]) for row in rows if row["users_in_d"] == 1}
    for item in pq.read_table(out / "synth" / "truth.parquet").to_pylist():
        holders = owners(texts, item["words"])
        assert len(holders) <= len(item["owners"])
        if item["kind"] == "shared" and len(holders) > 1:
            assert tuple(item["words"]) not in unique
        if item["kind"] in SECRETS:
            inside = [
                row
                for row in rows
                if f" {' '.join(item['words'])} " in f" {' '.join(row['sequence'])} "
            ]
            assert all(row["users_in_d"] == 1 for row in inside)
