"""The directory of a diff: search, scores and owners, written as tables, a page and a record."""

from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leakscope.auditing.integrity.kept_work import let_go, take_up
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.updates.diff_plan import COUNT, diff_stages
from leakscope.auditing.updates.given_sequences import (
    UNKNOWN_WORD,
    given_sequences,
    scored_sequences,
)
from leakscope.auditing.updates.known_beginnings import scored_behind
from leakscope.auditing.updates.opened_pair import OpenedPair, Snapshot, open_pair
from leakscope.auditing.updates.update_metrics import metrics_of
from leakscope.auditing.updates.update_search import (
    UpdateData,
    found_sequences,
    known_prefix,
    search_update,
)
from leakscope.corpus.split import ALL, TRAIN
from leakscope.corpus.store import Corpus
from leakscope.engine.kept_chunks import KeptChunks
from leakscope.engine.progress import Progress
from leakscope.engine.time_left import expect
from leakscope.records.artifacts import write_sealed
from leakscope.records.output_claim import claimed
from leakscope.records.seal import SEAL
from leakscope.records.tables.row_tables import write_rows
from leakscope.records.updates.diff_record import (
    DiffReport,
    FoundSequence,
    ScoredSequence,
    UpdatedModel,
)
from leakscope.reporting.pages.diff_page import write_diff_page
from leakscope.updates.beam_search import Beam
from leakscope.updates.diff_settings import DiffSettings

RECORD, PAGE, FOUND, SCORES = "diff.json", "diff.html", "found.parquet", "scores.parquet"
WRITTEN = (FOUND, SCORES, PAGE, SEAL, RECORD)
COMMAND = "diff"


@dataclass(frozen=True)
class DiffJob:
    """Two models, and how to look for the difference."""

    old: str
    new: str
    settings: DiffSettings
    loading: LoadingSettings

    def into(self, out: Path, progress: Progress) -> DiffReport:
        """Make the directory `out`."""
        settings = self.settings
        with claimed(out, COMMAND) as claim:
            take_up(claim, WRITTEN)
            opened, data = self.opened()
            kept = opened.kept_in(out, progress)
            report, found, scored = _measured(opened, data, settings, progress, kept)
            if report.redacted:
                found = [row.redacted() for row in found]
                scored = [row.redacted() for row in scored]
            write_rows(out / FOUND, found, FoundSequence)
            write_rows(out / SCORES, scored, ScoredSequence)
            write_diff_page(report, found, scored, out / PAGE)
            write_sealed(out / RECORD, report, (FOUND, SCORES, PAGE))
            let_go(claim, WRITTEN)
        return report

    def opened(self) -> tuple[OpenedPair, UpdateData]:
        """Both models and what they were trained on, in the roles that they have in the search."""
        opened = open_pair(self.old, self.new, self.loading)
        data = _data(opened, self.settings)
        return (opened.reversed(), data.reversed()) if self.settings.deleted else (opened, data)


def _data(opened: OpenedPair, settings: DiffSettings) -> UpdateData:
    """The data that the models were trained on; refuse what they were not."""
    found: list[Corpus | None] = []
    for snapshot, path, option in (
        (opened.old, settings.old_corpus, "--old-corpus"),
        (opened.new, settings.new_corpus, "--new-corpus"),
    ):
        if path is None:
            found.append(None)
            continue
        corpus = Corpus.open(path)
        snapshot.require_corpus(corpus, option)
        usual = ALL if snapshot.config is None else TRAIN
        found.append(corpus.trained_on(settings.trained_on or usual))
    return UpdateData(*found)


def _measured(
    opened: OpenedPair,
    data: UpdateData,
    settings: DiffSettings,
    progress: Progress,
    kept: KeptChunks,
) -> tuple[DiffReport, list[FoundSequence], list[ScoredSequence]]:
    given = given_sequences(settings)
    prefix = known_prefix(opened, settings)
    expect(progress, diff_stages(opened, data, settings, prefix, len(given)))
    beams: list[Beam] = []
    if not settings.no_search:
        beams = search_update(opened, settings, prefix, progress, kept)
    progress(COUNT, 0, 1)
    found = found_sequences(opened, beams, settings, prefix, data, kept)
    progress(COUNT, 1, 1)
    behind = [each for each in given if each.canary and settings.known]
    plain = given if not behind else [each for each in given if not each.canary]
    scored: list[ScoredSequence] = []
    if plain:
        scored = scored_sequences(opened, plain, settings, prefix, beams, progress, kept)
    scored += scored_behind(opened, behind, settings, progress, kept)
    searched = bool(beams)
    report = DiffReport(
        versions={name: version(name) for name in ("leakscope", "torch", "numpy")},
        old=_described(opened.old, data.old),
        new=_described(opened.new, data.new),
        unit="tokens" if opened.has_tokens else "words",
        entries=len(opened.pair.entries) if searched else None,
        widths=[len(beam) for beam in beams],
        settings=_plain(settings),
        redacted=not settings.reveal,
        metrics=metrics_of(found, scored, searched=searched, counted=data.new is not None),
        warnings=_warnings(opened, scored),
    )
    return report, found, scored


def _described(snapshot: Snapshot, corpus: Corpus | None) -> UpdatedModel:
    digest = None if corpus is None else corpus.manifest.digest
    return UpdatedModel(name=snapshot.name, digest=snapshot.digest, corpus_digest=digest)


def _plain(settings: DiffSettings) -> dict[str, Any]:
    """Paths by their names alone, and of what the attacker knows only how many words it is, unless
    words are shown.
    """
    found = {
        name: value.name if isinstance(value, Path) else value
        for name, value in asdict(settings).items()
    }
    if not settings.reveal:
        found["prefix"] = f"({len(settings.prefix.split())} words)" if settings.prefix else ""
    return found


def _warnings(opened: OpenedPair, scored: list[ScoredSequence]) -> list[str]:
    lines = []
    if not opened.has_tokens:
        new = set(opened.pair.entries)
        more = len(new - set(opened.old.model.vocabulary))  # type: ignore[union-attr]
        if more:
            lines.append(
                f"{more} words of the new model are not in the old one's vocabulary: they count as "
                "impossible before the update, so that their scores are great."
            )
    unknown = sum(row.reason == UNKNOWN_WORD for row in scored)
    if unknown:
        lines.append(f"{unknown} given sequences have a word that neither model knows.")
    return lines
