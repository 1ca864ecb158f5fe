"""Scores and ranks of sequences that are given: lines of a file, or canaries."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leakscope.auditing.updates.opened_pair import OpenedPair
from leakscope.auditing.updates.spelled_sequences import entries_of_words
from leakscope.auditing.updates.update_search import rule_of
from leakscope.corpus.words import words
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress
from leakscope.models.interface import Prefix
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.errors import LeakscopeError
from leakscope.records.updates.diff_record import ScoredSequence
from leakscope.updates.beam_search import Beam
from leakscope.updates.diff_settings import TOKEN_ROWS, WORD_ROWS, DiffSettings
from leakscope.updates.differential_rank import Rank, rank_in_beam
from leakscope.updates.rank_batches import RankBatches
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
    kept: KeptChunks = NOWHERE,
) -> list[ScoredSequence]:
    """The scores of all of them in words, and, where both models can be searched, their ranks:
    exact where that is possible, else what the search bounds them by. What is `kept` is not made
    again.
    """
    said = [each.words for each in given]
    rule = rule_of(settings)
    plain = replace(rule, relative=False)
    lexicon = lexicon_for(said, prefix)
    models = opened.old.reading(lexicon), opened.new.reading(lexicon)
    found = score_words(*models, lexicon, said, plain, prefix, kept)
    risen = replace(plain, relative=True).terms(
        found.old.astype(np.float64), found.new.astype(np.float64)
    )
    relative = np.add.reduceat(risen, found.offsets[:-1])
    ranks = _ranks(opened, said, settings, prefix, beams, progress, kept)
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


_Ranked = tuple[Rank | None, float | None, str | None]
"""(rank, score in entries, why there is no rank)."""


def _ranks(
    opened: OpenedPair,
    said: list[list[str]],
    settings: DiffSettings,
    prefix: Prefix,
    beams: list[Beam],
    progress: Progress,
    kept: KeptChunks,
) -> list[_Ranked]:
    """Of each among all sequences of as many entries."""
    batches = rank_batches(opened, said, settings, prefix)
    if beams or batches.most_rows:
        try:
            opened.pair.begin(prefix)
        except LeakscopeError:
            return [(None, None, OTHER_TOKENS)] * len(said)
    found: list[_Ranked] = []
    rows = [row for part in kept.made(batches, batches.sizes, progress) for row in part.to_pylist()]
    for entries, row in zip(batches.entries, rows, strict=True):
        score, exact = row["score"], row["rank"]
        if entries is None:
            found.append((None, None, NO_ENTRIES))
        elif exact is not None:
            found.append((Rank(exact, "exact"), score, None))
        elif len(entries) > len(beams):
            found.append((None, score, NO_SEARCH))
        else:
            found.append((rank_in_beam(beams[len(entries) - 1], score), score, None))
    return found


def rank_batches(
    opened: OpenedPair, said: list[list[str]], settings: DiffSettings, prefix: Prefix
) -> RankBatches:
    """The sequences that are ranked, some at a time."""
    usual = TOKEN_ROWS if opened.has_tokens else WORD_ROWS
    rows = usual if settings.exact_rows is None else settings.exact_rows
    entries = entries_of_words(opened.new.model, said, prefix)
    return RankBatches(opened.pair, entries, rule_of(settings), prefix, rows)
