"""Search what an update gives away, and say whose it is."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakscope.auditing.updates.opened_pair import OpenedPair
from leakscope.auditing.updates.sequence_owners import UpdateCounts, count_owners
from leakscope.auditing.updates.spelled_sequences import Spelled, spell
from leakscope.corpus.store import Corpus
from leakscope.corpus.words import words
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.models.interface import Prefix
from leakscope.records.errors import LeakscopeError
from leakscope.records.updates.diff_record import FoundSequence
from leakscope.updates.beam_search import Beam, search
from leakscope.updates.diff_settings import TOKEN_WIDTH, DiffSettings
from leakscope.updates.score_rule import ScoreRule
from leakscope.updates.search_plan import SearchPlan


@dataclass(frozen=True)
class UpdateData:
    """The training data of both models, as far as it was given."""

    old: Corpus | None
    new: Corpus | None

    def reversed(self) -> "UpdateData":
        """With the roles changed."""
        return UpdateData(self.new, self.old)


def rule_of(settings: DiffSettings) -> ScoreRule:
    """How the search scores."""
    return ScoreRule(settings.relative, settings.floor, settings.top_k)


def known_prefix(opened: OpenedPair, settings: DiffSettings) -> Prefix:
    """The words that the attacker knows; all of them must be words to a word-level model."""
    prefix = words(settings.prefix)
    if not opened.has_tokens:
        known = set(opened.pair.entries)
        strange = sum(word not in known for word in prefix)
        if strange:
            raise LeakscopeError(
                f"{strange} of the words in --prefix are not in the model's vocabulary, which may "
                "be lower-cased; choose others."
            )
    return prefix


def plan_of(opened: OpenedPair, settings: DiffSettings, prefix: Prefix) -> SearchPlan:
    """How far and how widely to search; what a model cannot read is refused."""
    for snapshot in (opened.old, opened.new):
        context, used = snapshot.room_behind(prefix)
        if context is not None and used + settings.length > context:
            raise LeakscopeError(
                f"The model {snapshot.name} reads {context} entries at most, so that --length "
                f"{settings.length} behind this --prefix is too long; give less."
            )
    usual = TOKEN_WIDTH if opened.has_tokens else len(opened.pair.entries)
    width = min(usual, len(opened.pair.entries)) if settings.width is None else settings.width
    return SearchPlan(settings.length, width, not settings.constant_width, settings.groups)


def found_sequences(
    opened: OpenedPair,
    beams: list[Beam],
    settings: DiffSettings,
    prefix: Prefix,
    data: UpdateData,
    kept: KeptChunks = NOWHERE,
) -> list[FoundSequence]:
    """The best of each length whose score is above 0, with their counts where data was given."""
    found: list[tuple[Beam, int, Spelled]] = []
    for beam in beams:
        best = beam.at(np.flatnonzero(beam.scores > 0)[: settings.keep])
        spelled = spell(opened.new.model, best.entries, prefix)
        found += [(best, row, said) for row, said in enumerate(spelled)]
    counts = _counted([said for _, _, said in found], data, settings, kept)
    return [
        FoundSequence(
            length=beam.entries.shape[1],
            place=row + 1,
            group=int(beam.groups[row]),
            score=float(beam.scores[row]),
            words=said.words,
            entries=said.entries,
            unfinished=said.unfinished,
            old=beam.old[row].tolist(),
            new=beam.new[row].tolist(),
            **(_fields(counts, number) if counts is not None else {}),
        )
        for number, (beam, row, said) in enumerate(found)
    ]


def _counted(
    found: list[Spelled], data: UpdateData, settings: DiffSettings, kept: KeptChunks
) -> UpdateCounts | None:
    if data.new is None:
        return None
    lowercase = data.new.manifest.settings.lowercase
    said = [each.counted(lowercase=lowercase) for each in found]
    engine = ThreadEngine(settings.threads)
    return count_owners(data.old, data.new, said, replace(kept, engine=engine))


def _fields(counts: UpdateCounts, row: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, each in (
        ("old", counts.old),
        ("new", counts.new),
        ("difference", counts.difference),
    ):
        if each is not None:
            fields |= {f"total_in_{name}": int(each.total[row])}
            fields |= {f"users_in_{name}": int(each.users[row])}
    fields["one_user"] = bool(counts.one_user[row])
    fields["user"] = counts.owners[row]
    return fields


def search_update(
    opened: OpenedPair,
    settings: DiffSettings,
    prefix: Prefix,
    progress: Progress,
    kept: KeptChunks = NOWHERE,
) -> list[Beam]:
    """The sequences of each length that a search behind the prefix finds; what is `kept` is not
    looked for again.
    """
    plan = plan_of(opened, settings, prefix)
    return search(opened.pair, plan, rule_of(settings), prefix, progress, kept)
