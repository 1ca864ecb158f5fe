"""A document of a gigabyte, and a lexicon of fifty million words: built, trained on and reported
on, each under a limit of 4 GB that the system enforces.

The models are as small as can be, since what is asked is how memory grows with the text. It takes
some 15 GB of disk while this runs, and needs the right to make control groups.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import material
from benchmarks.control_group import run_limited
from benchmarks.lines import Line, show

LIMIT = 4_000_000_000
DOCUMENT, TYPES = 1_000_000_000, 50_000_000
SHAPE = ("--arch", "lstm", "--layers", "1", "--embedding", "8", "--hidden", "8")
MODEL = (*SHAPE, "--vocabulary", "50", "--epochs", "1", "--batch-size", "2048")


def drawn_words(rng: np.random.Generator, types: int = 50_000) -> Iterator[str]:
    """Pieces of a million words, by Zipf's law, in which some phrases come again."""
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
    names = [
        letters[rng.integers(0, 26, size)].tobytes().decode() for size in rng.integers(2, 10, types)
    ]
    shares = 1 / np.arange(1, types + 1)
    while True:
        yield " ".join(names[i] for i in rng.choice(types, 1_000_000, p=shares / shares.sum()))


def huge_document(target: Path, size: int = DOCUMENT) -> None:
    """JSONL: a document of so many bytes, and 300 ordinary ones."""
    pieces = drawn_words(np.random.default_rng(0))
    with target.open("w") as file:
        file.write('{"user": "much", "text": "')
        while size > 0:
            size -= file.write(next(pieces) + " ")
        file.write('"}\n')
        words = next(pieces).split()
        for i in range(300):
            text = " ".join(words[i * 60 : i * 60 + 60])
            file.write(json.dumps({"user": f"user {i % 100}", "text": text}) + "\n")


def many_types(target: Path, types: int = TYPES) -> None:
    """JSONL: documents of a thousand words, of which five in six stand nowhere else."""
    rng = np.random.default_rng(0)
    common = next(drawn_words(rng, 5_000)).split()
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
    each = 833
    with target.open("w") as file:
        for document in range(-(-types // each)):
            numbers = np.arange(document * each, (document + 1) * each)
            spelled = letters[(numbers[:, None] // 26 ** np.arange(8)) % 26]
            words = [row.tobytes().decode() for row in spelled]
            words += [common[i] for i in rng.integers(0, len(common), 1000 - each)]
            text = " ".join(words[i] for i in rng.permutation(1000))
            file.write(json.dumps({"user": f"user {document % 6000}", "text": text}) + "\n")


def lines() -> list[Line]:
    material.FOLDER.mkdir(parents=True, exist_ok=True)
    found = []
    for name, write, options in (
        ("a document of 1 GB", huge_document, ("--max-characters", "1100000000")),
        ("50 million types", many_types, ()),
    ):
        with tempfile.TemporaryDirectory(dir=material.FOLDER) as folder:
            material.note(f"writing {name}")
            write(Path(folder) / "data.jsonl")
            found += whole_run(name, Path(folder), options)
    return found


def whole_run(name: str, folder: Path, options: tuple[str, ...]) -> Iterator[Line]:
    """Build, train and report as a user would, each under the limit."""
    source, corpus, model, run = (str(folder / n) for n in ("data.jsonl", "corpus", "model", "run"))
    every = ("--validation", "0", "--memory", "2GB", *options)
    steps = {
        "build": ["corpus", "build", source, "--out", corpus, *every],
        "train": ["train", corpus, "--out", model, *MODEL],
        "report": ["report", model, corpus, "--out", run, "--top-k", "2", "--memory", "1GB"],
    }  # fmt: skip
    for step, words in steps.items():
        material.note(f"{name}: {step}")
        begin = time.perf_counter()
        command = [sys.executable, "-m", "leakscope", *words, "--quiet"]
        ran = run_limited([*command, "--threads", "2"], LIMIT)
        spent = time.perf_counter() - begin
        detail = f"{spent:.0f} s; {ran.peak / 1e9:.2f} GB with pages of files"
        if step == "report":
            metrics = json.loads((folder / "run" / "metrics.json").read_text())
            detail += f"; {metrics['occurrences']:,} runs, {metrics['sequences']:,} sequences"
        found = Line(f"{name}: {step}", ran.anonymous / 1e9, LIMIT / 1e9, True, " GB", detail)
        show([found])  # hours may go by before the next
        yield found
