"""The study of updates on the Penn Treebank, as in section 4 of Zanella-Béguelin et al. 2020.

    python -m benchmarks.ptb_updates PTB OUT

makes a corpus in OUT from `ptb.train.txt` and `ptb.valid.txt` in PTB, and prints the commands that
make the paper's comparisons on it. Each line is a document. The treebank does not say who wrote
what, so that every 50 lines are a made-up user; only extra text is drawn by users.
"""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from leakscope.corpus.building.builder import build
from leakscope.corpus.readers.input_settings import InputSettings

LINES_OF_A_USER = 50
FILES = {"train": "ptb.train.txt", "validation": "ptb.valid.txt"}
MODEL = ("--preset", "lstm-2x200", "--vocabulary", "10000", "--epochs", "15", "--phrase")
COMPARISONS = {
    "insertions": ("--scenario", "retrain", "--scenario", "continue", "--known", "0,1,2"),
    "extra": (
        "--scenario", "retrain", "--scenario", "continue", "--scenario", "two-stage",
        "--pool", "0.5", "--extra", "0,0.2,0.5,1", "--insertions", "100",
    ),
}  # fmt: skip
"""Table 1 with known first words, and what extra text does; each is a study of its own, since the
pool takes text away from the first model."""


def rows(folder: Path) -> Iterator[dict[str, str]]:
    """The lines that have words, with made-up users."""
    for split, name in FILES.items():
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        texts = [text for line in lines if (text := line.strip())]
        for number, text in enumerate(texts):
            yield {"user": f"{split}-{number // LINES_OF_A_USER}", "text": text, "split": split}


def make_corpus(folder: Path, out: Path) -> Path:
    """Build `corpus` in `out`, unless it is there."""
    out.mkdir(parents=True, exist_ok=True)
    corpus, source = out / "corpus", out / "ptb.jsonl"
    if not corpus.exists():
        with source.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows(folder))
        build(source, corpus, input_settings=InputSettings(split_column="split"))
    return corpus


def main() -> None:
    folder, out = map(Path, sys.argv[1:3])
    corpus = make_corpus(folder, out)
    for name, options in COMPARISONS.items():
        words = ["leakscope", "study", "updates", str(corpus), "--out", str(out / name)]
        print(shlex.join([*words, *MODEL, *options, "--seed", "0"]))


if __name__ == "__main__":
    main()
