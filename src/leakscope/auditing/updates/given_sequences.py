"""Scores and ranks of sequences that are given: lines of a file, or canaries."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leakscope.auditing.updates.opened_pair import OpenedPair
from leakscope.auditing.updates.spelled_sequences import entries_of_words
from leakscope.auditing.updates.update_search import rule_of
from leakscope.corpus.words import words
from leakscope.engine.progress import Progress
from leakscope.models.interface import Prefix
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.errors import LeakscopeError
from leakscope.records.updates.diff_record import ScoredSequence
from leakscope.updates.beam_search import Beam
from leakscope.updates.diff_settings import TOKEN_ROWS, WORD_ROWS, DiffSettings
from leakscope.updates.differential_rank import Rank, exact_rank, rank_in_beam
from leakscope.updates.entry_scores import score_entries
from leakscope.updates.score_rule import ScoreRule
from leakscope.updates.sequence_scores import lexicon_for, score_words

MOST_BYTES = 16 << 20
UNKNOWN_WORD = "neither model knows one of its words"
NO_ENTRIES = "rank: the new model does not know one of its words"
NO_SEARCH = "rank: there was no search for this length"
OTHER_TOKENS = "rank: the models have different tokens"


@dataclass(frozen=True)
class GivenSequence:
    """What was given."""

    number: int
    words: list[str]
    canary: bool = False
    state: str | None = None
    frequency: str | None = None
    repetitions: int | None = None


def given_sequences(settings: DiffSettings) -> list[GivenSequence]:
    """All lines of the file that have words, and all canaries but real ones."""
    found = []
    if settings.sequences is not None:
        for number, line in enumerate(_lines(settings.sequences), start=1):
            if said := words(line):
                found.append(GivenSequence(number, said))
        if not found:
            raise LeakscopeError(f"{settings.sequences} has no sequence; write one on each line.")
    if settings.canaries is not None:
        found += [
            GivenSequence(each.id, each.words, True, each.state, each.frequency, each.repetitions)
            for each in CanaryManifest.load(settings.canaries).canaries
            if each.state != "real"
        ]
    return found


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise LeakscopeError(f"{path} is larger than 16 MB; give fewer sequences.")
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise LeakscopeError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise LeakscopeError(f"{path} is not UTF-8 text; save it as such.") from None


def scored_sequences(
    opened: OpenedPair,
    given: list[GivenSequence],
    settings: DiffSettings,
    prefix: Prefix,
    beams: list[Beam],
    progress: Progress,
) -> list[ScoredSequence]:
    """The scores of all of them in words, and, where both models can be searched, their ranks:
    exact where that is possible, else what the search bounds them by.
    """
    said = [each.words for each in given]
    rule = rule_of(settings)
    plain = replace(rule, relative=False)
    lexicon = lexicon_for(said, prefix)
    models = opened.old.reading(lexicon), opened.new.reading(lexicon)
    found = score_words(*models, lexicon, said, plain, prefix)
    risen = replace(plain, relative=True).terms(
        found.old.astype(np.float64), found.new.astype(np.float64)
    )
    relative = np.add.reduceat(risen, found.offsets[:-1])
    ranks = _Ranks(opened, settings, prefix, beams).of_all(given, progress)
    rows = []
    for row, each in enumerate(given):
        mine = slice(int(found.offsets[row]), int(found.offsets[row + 1]))
        known = not found.unknown[row]
        rank, score, why = ranks[row]
        rows.append(
            ScoredSequence(
                number=each.number,
                canary=each.canary,
                state=each.state,
                frequency=each.frequency,
                repetitions=each.repetitions,
                length=len(each.words),
                words=each.words,
                score=float(found.scores[row]) if known else None,
                relative_score=float(relative[row]) if known else None,
                old=found.old[mine].tolist() if known else None,
                new=found.new[mine].tolist() if known else None,
                entry_score=score,
                rank=None if rank is None else rank.value,
                rank_method=None if rank is None else rank.method,
                reason=why if known else UNKNOWN_WORD,
            )
        )
    return rows


class _Ranks:
    """Ranks among all sequences of as many entries."""

    def __init__(
        self, opened: OpenedPair, settings: DiffSettings, prefix: Prefix, beams: list[Beam]
    ) -> None:
        self._opened, self._prefix, self._beams = opened, prefix, beams
        self._rule: ScoreRule = rule_of(settings)
        usual = TOKEN_ROWS if opened.has_tokens else WORD_ROWS
        self._rows = usual if settings.exact_rows is None else settings.exact_rows

    def of_all(
        self, given: list[GivenSequence], progress: Progress
    ) -> list[tuple[Rank | None, float | None, str | None]]:
        """(rank, score in entries, why there is no rank) of each."""
        model = self._opened.new.model
        if self._beams or self._rows:
            try:
                self._opened.pair.begin(self._prefix)
            except LeakscopeError:
                return [(None, None, OTHER_TOKENS)] * len(given)
        entries = entries_of_words(model, [each.words for each in given], self._prefix)
        found: list[tuple[Rank | None, float | None, str | None]] = []
        for number, row in enumerate(entries):
            found.append((None, None, NO_ENTRIES) if row is None else self._of(row))
            progress("rank", number + 1, len(entries), "")
        return found

    def _of(self, entries: list[int]) -> tuple[Rank | None, float | None, str | None]:
        pair, rule = self._opened.pair, self._rule
        score = float(score_entries(pair, [entries], rule, self._prefix).scores[0])
        if self._rows:
            exact = exact_rank(pair, len(entries), score, rule, self._prefix, self._rows)
            if exact is not None:
                return exact, score, None
        if len(entries) > len(self._beams):
            return None, score, NO_SEARCH
        return rank_in_beam(self._beams[len(entries) - 1], score), score, None
