"""Corpora, runs, ledgers and lists in our own formats that somebody else has written."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trials.forked import Ended
from trials.odd_files.case import Commands, OddFile, Place, fifo
from trials.odd_files.inputs import DEEP

Spoil = Callable[[Place, Path], object]


def our_artifacts() -> list[OddFile]:
    corpora: dict[str, Spoil] = {
        "a lexicon of 3 words": lambda place, path: _edit(path, lexicon=3),
        "a lexicon of 10^9 words": lambda place, path: _edit(path, lexicon=10**9),
        "-1 users": lambda place, path: _edit(path, users=-1),
        "10^15 users": lambda place, path: _edit(path, users=10**15),
        "shards elsewhere": lambda place, path: _edit(path, shards=["../../../../etc/passwd"]),
        "a shard twice": lambda place, path: _edit(path, shards=["00000.parquet"] * 3),
        "a shard as a pipe": lambda place, path: fifo(path / "shards" / "00000.parquet"),
        "a shard as a link": _linked_shard,
        "a shard as a circle": _circling_shard,
        "word ids outside of the lexicon": _word_ids,
        "a manifest of deep JSON": lambda place, path: (path / "manifest.json").write_text(
            f'{{"x": {DEEP}}}'
        ),
        "a manifest as a pipe": lambda place, path: fifo(path / "manifest.json"),
        "a lexicon as a pipe": lambda place, path: fifo(path / "lexicon.parquet"),
        "a manifest of control characters": lambda place, path: _edit(
            path, digest="\x1b]0;owned\x07\x1b[2J"
        ),
    }
    runs: dict[str, Spoil] = {
        "a manifest that is a list": lambda place, path: (path / "manifest.json").write_text("[]"),
        "a manifest as a pipe": lambda place, path: fifo(path / "manifest.json"),
        "metrics of deep JSON": lambda place, path: (path / "metrics.json").write_text(DEEP),
        "metrics that are no numbers": lambda place, path: _edit(
            path, "metrics.json", unique_sequences="many"
        ),
        "a table of other columns": lambda place, path: pq.write_table(
            pa.table({"x": [1]}), path / "sequences.parquet"
        ),
        "a table as a pipe": lambda place, path: fifo(path / "occurrences.parquet"),
    }
    found = [
        OddFile("our artifacts", f"a corpus: {name}", _corpus(spoil), _no_control)
        for name, spoil in corpora.items()
    ]
    found += [
        OddFile("our artifacts", f"a run: {name}", _run(spoil)) for name, spoil in runs.items()
    ]
    return [
        *found,
        OddFile("our artifacts", "a block list of noise", _listed(os.urandom(500))),
        OddFile("our artifacts", "a block list of 2^60 bytes", _listed(b"LEAKBLK\1" + b"\xff" * 8)),
        OddFile("our artifacts", "a training that is elsewhere", _checkpoint),
        OddFile("our artifacts", "a ledger of noise", _ledger),
        OddFile("our artifacts", "a mark of noise", _mark),
        OddFile(
            "our artifacts",
            "a settings file of deep TOML",
            _settings("x = " + "[" * 50_000 + "]" * 50_000),
        ),
        OddFile("our artifacts", "a settings file of noise", _settings("\0\1\2 = [")),
    ]


def _edit(path: Path, name: str = "manifest.json", **values: object) -> None:
    (path / name).write_text(json.dumps(json.loads((path / name).read_text()) | values))


def unsealed(path: Path) -> None:
    """Remove seals: who writes such a file on purpose would not let them tell."""
    for seal in [*path.rglob("seal.txt"), *path.rglob("*.seal")]:
        seal.unlink()


def _corpus(spoil: Spoil) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        path = place.folder / "received"
        shutil.copytree(place.made.corpus, path)
        spoil(place, path)
        unsealed(path)
        clean = ("corpus", "clean", path, "--documents", "exact", "--out", place.folder / "cleaned")
        return [("corpus", "info", path), place.reporting(place.made.model, path)[0], clean]

    return prepare


def _run(spoil: Spoil) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        path = place.folder / "received"
        shutil.copytree(place.made.run, path)
        spoil(place, path)
        unsealed(path)
        corpus = ("--corpus", place.made.corpus)
        return [
            ("compare", path, "--out", place.folder / "compared"),
            ("suggest", path),
            ("harden", path, *corpus, "--threads", 1, "--out", place.folder / "hardened"),
        ]

    return prepare


def _no_control(place: Place, ended: list[Ended]) -> str | None:
    """Nothing that a terminal would obey."""
    return (
        "control characters were printed"
        if any("\x1b" in each.out + each.err for each in ended)
        else None
    )


def _linked_shard(place: Place, path: Path) -> None:
    shard = path / "shards" / "00000.parquet"
    shutil.move(shard, place.folder / "outside.parquet")
    shard.symlink_to(place.folder / "outside.parquet")


def _circling_shard(place: Place, path: Path) -> None:
    shard = path / "shards" / "00000.parquet"
    shard.unlink()
    shard.symlink_to(shard.name)


def _word_ids(place: Place, path: Path) -> None:
    shard = path / "shards" / "00000.parquet"
    table = pq.read_table(shard)
    at = table.schema.get_field_index("words")
    lists = [[2**31 - 1] * len(each) for each in table["words"].to_pylist()]
    column = pa.array(lists, table.schema.field("words").type)
    pq.write_table(table.set_column(at, table.schema.field("words"), column), shard)


def _listed(data: bytes) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        path = place.folder / "blocklist.bloom"
        path.write_bytes(data)
        return [("probe", place.made.model, "hello", "--block-list", path)]

    return prepare


def _checkpoint(place: Place) -> Commands:
    """A checkpoint that names a folder outside of its directory."""
    out = place.folder / "model"
    out.mkdir()
    state = {
        "settings_digest": "x", "folder": "../../outside", "epoch": 0, "step": 1,
        "total_steps": 1, "loss": 0.0, "words": 1, "seconds": 0.0, "history": [],
    }  # fmt: skip
    (out / "checkpoint.json").write_text(json.dumps(state))
    return [(*place.made.train(), "--out", out)]


def _ledger(place: Place) -> Commands:
    out = place.folder / "model"
    out.mkdir()
    (out / "privacy.jsonl").write_bytes(os.urandom(400))
    return [(*place.made.train_private(), "--out", out)]


def _mark(place: Place) -> Commands:
    out = place.folder / "run"
    out.mkdir()
    (out / ".leakscope").write_bytes(b'{"unfinished": "report"' + b"\xff" * 9000)
    (out / "thesis.txt").write_text("mine")
    return [(*place.made.report(), "--out", out)]


def _settings(text: str) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        (place.folder / "leakscope.toml").write_text(text)
        return [
            (
                *place.made.report(),
                "--config",
                place.folder / "leakscope.toml",
                "--out",
                place.folder / "run",
            )
        ]

    return prepare
