"""Write a finished run again as a new one, with words and keys or without, and without its model.

A redacted run withholds the words of sequences and contexts and the keys of users. It has the
place of every occurrence, so with the corpus they can be filled in exactly.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscope.corpus.store import Corpus
from leakscope.leakage.rendering.filled_words import FilledKeys, FilledWords
from leakscope.leakage.rendering.withheld_columns import Fill, redacted, rewrite
from leakscope.leakage.run_directory import PAGE, RUN_FILES, corpus_of_run
from leakscope.records.artifacts import (
    check,
    seal_files,
    whole_file,
    write_sealed,
)
from leakscope.records.output_claim import claimed, remove
from leakscope.records.runs import sequence_columns, user_columns
from leakscope.records.runs.run_manifest import RunManifest, digests_of_run, open_run

ALIKE = ("metrics.json", "occurrences.parquet")
"""The files that are the same in a redacted run and in a revealed one."""
PERHAPS = ("validation.parquet", "validation_documents.parquet")
"""So are these, where a run has them."""


def render_run(run: Path, out: Path, corpus: Corpus | None, page: Callable[[Path], object]) -> None:
    """Write the run at `run` into `out`: with a corpus revealed, without one redacted; its page by
    `page`. What a report would have written, but for `rendered_from` in the manifest.
    """
    manifest, _ = open_run(run)
    if corpus is not None:
        corpus = corpus_of_run(run, manifest, corpus)
    with claimed(out, "render") as claim:
        claim.clear(RUN_FILES)
        try:
            _write_files(run, out, corpus)
            made = [name for name in RUN_FILES if (out / name).exists()]
            described = _manifest(run, manifest, revealed=corpus is not None)
            write_sealed(out / "manifest.json", described, made)
            page(out)
            seal_files(out, [PAGE])
        except BaseException:
            for name in RUN_FILES:  # half of it serves nobody
                remove(out / name)
            raise


def _write_files(run: Path, out: Path, corpus: Corpus | None) -> None:
    words: Fill = redacted(sequence_columns.COLUMNS)
    keys: Fill = redacted(user_columns.COLUMNS)
    if corpus is not None:
        words = FilledWords.of(run, corpus, scratch=out).columns
        keys = FilledKeys(corpus).columns
    for name, registry, fill in (
        ("sequences.parquet", sequence_columns.COLUMNS, words),
        ("users.parquet", user_columns.COLUMNS, keys),
    ):
        rewrite(run / name, out / name, registry, fill)
    for name in (*ALIKE, *PERHAPS):
        check(run / name)
        if (run / name).exists() or name in ALIKE:
            with whole_file(out / name) as partial:
                shutil.copyfile(run / name, partial)


def _manifest(run: Path, manifest: RunManifest, *, revealed: bool) -> RunManifest:
    """As a report would have written it, and where it comes from."""
    options: dict[str, Any] = {
        name: value for name, value in manifest.options.items() if name != "reveal"
    }
    return manifest.model_copy(
        update={
            "settings": replace(manifest.settings, reveal=revealed),
            "revealed": revealed,
            "options": options | ({"reveal": True} if revealed else {}),
            "rendered_from": digests_of_run(run),
        }
    )
