"""`canary attack`: give a model the first words of a canary, and see whether it says the others.

The greedy attack succeeds exactly where every other word is the model's first choice after the true
words before it, so one pass over the canaries tells. The beam follows several continuations.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from leakscope.canaries.canary_plan import ATTACK, BEAM, attack_stages
from leakscope.canaries.canary_settings import AttackSettings
from leakscope.canaries.surprise import documents_of, lexicon_of
from leakscope.corpus.lexicon import Lexicon
from leakscope.engine.progress import Progress, silent
from leakscope.engine.time_left import expect
from leakscope.models.interface import LanguageModel
from leakscope.records.canaries.canary_manifest import Canary, CanaryManifest
from leakscope.records.canaries.exposure_record import AttackRate, CanaryAttack
from leakscope.records.documents import Documents

UNKNOWN_WORD = "the model does not know a word of the canary"
NOTHING_LEFT = "all of its words are given to the attacker"
TOO_LONG = "it is too long for the beam"
BATCH, BEAM_BATCH, MOST_BEAM_WORDS = 4096, 256, 32


@dataclass(frozen=True)
class Reconstruction:
    """What the attack got out of one model."""

    canaries: list[CanaryAttack]
    """In the order of the manifest."""
    rates: list[AttackRate]


def attack_canaries(
    model: LanguageModel,
    manifest: CanaryManifest,
    settings: AttackSettings | None = None,
    progress: Progress = silent,
) -> Reconstruction:
    """Attack every canary, also those that were not planted, for comparison, and real ones; `model`
    reads the words of `lexicon_of(manifest)`.
    """
    how = settings or AttackSettings()
    lexicon = lexicon_of(manifest)
    found: dict[int, CanaryAttack] = {}
    due: list[Canary] = []
    for canary in manifest.canaries:
        reason = _unfit(model, canary, how.given, lexicon)
        if reason is None:
            due.append(canary)
        else:
            found[canary.id] = _record(canary, how.given, reason=reason)
    expect(progress, attack_stages(len(due), how))
    for start in range(0, len(due), BATCH):
        progress(ATTACK, start, len(due))
        part = due[start : start + BATCH]
        for canary, correct in zip(part, _greedy(model, part, how.given, lexicon), strict=True):
            whole = correct == len(canary.words) - how.given
            found[canary.id] = _record(canary, how.given, correct=correct, greedy=whole)
    progress(ATTACK, len(due), len(due))
    if how.beam > 1:
        found |= _with_beam(model, due, found, how, progress)
    results = [found[canary.id] for canary in manifest.canaries]
    return Reconstruction(results, rates_of(results))


def _unfit(model: LanguageModel, canary: Canary, given: int, lexicon: Lexicon) -> str | None:
    """Why a canary cannot be attacked; None: it can."""
    if len(canary.words) <= given:
        return NOTHING_LEFT
    ids = np.array([lexicon.ids[word] for word in canary.words[given:]], np.int32)
    known = model.knows(ids)
    return UNKNOWN_WORD if known is not None and not known.all() else None


def _greedy(
    model: LanguageModel, canaries: Sequence[Canary], given: int, lexicon: Lexicon
) -> list[int]:
    """How many words of each come in order behind those that are given, up to the first wrong."""
    lengths = [len(canary.words) for canary in canaries]
    if model.needs_text:
        documents = documents_of([canary.text for canary in canaries], lengths)
    else:
        rows = [(0, [lexicon.ids[word] for word in canary.words]) for canary in canaries]
        documents = Documents.of(rows)
    hit = model.score(documents, top_k=1).rank < 1
    found = []
    for index in range(len(canaries)):
        mine = hit[documents.offsets[index] + given : documents.offsets[index + 1]]
        found.append(int(np.argmin(mine)) if not mine.all() else len(mine))
    return found


def _with_beam(
    model: LanguageModel,
    canaries: Sequence[Canary],
    found: dict[int, CanaryAttack],
    how: AttackSettings,
    progress: Progress,
) -> dict[int, CanaryAttack]:
    """The same, with what the beam got."""
    better: dict[int, CanaryAttack] = {}
    short = [c for c in canaries if len(c.words) - how.given <= MOST_BEAM_WORDS]
    for canary in canaries:
        if len(canary.words) - how.given > MOST_BEAM_WORDS:
            better[canary.id] = found[canary.id].model_copy(update={"reason": TOO_LONG})
    for start in range(0, len(short), BEAM_BATCH):
        progress(BEAM, start, len(short))
        part = short[start : start + BEAM_BATCH]
        reached = beam_reaches(model, [canary.words for canary in part], how.given, how.beam)
        for canary, whole in zip(part, reached, strict=True):
            better[canary.id] = found[canary.id].model_copy(update={"beam": whole})
    progress(BEAM, len(short), len(short))
    return better


def beam_reaches(
    model: LanguageModel, targets: Sequence[Sequence[str]], given: int, width: int
) -> list[bool]:
    """Whether each target is among the `width` continuations of its first words that a beam search
    by whole words ends with.
    """
    beams = [[(0.0, tuple(words[:given]))] for words in targets]
    longest = max((len(words) for words in targets), default=0)
    for length in range(given, longest):
        open_ = [index for index, words in enumerate(targets) if len(words) > length]
        prefixes = [prefix for index in open_ for _, prefix in beams[index]]
        answers = iter(model.next_words(prefixes, width))
        for index in open_:
            grown = []
            for total, prefix in beams[index]:
                answer = next(answers)
                grown += [
                    (total + float(log), (*prefix, word))
                    for word, log in zip(answer.words, answer.log_probs, strict=True)
                ]
            beams[index] = sorted(grown, key=lambda each: -each[0])[:width]
    return [
        any(prefix == tuple(words) for _, prefix in beam)
        for words, beam in zip(targets, beams, strict=True)
    ]


def rates_of(results: Sequence[CanaryAttack]) -> list[AttackRate]:
    """Shares of whole reconstructions by state, class, repetitions and attack, with their 95 %
    Clopper-Pearson intervals.
    """
    groups: dict[tuple[str, str, int], dict[str, list[bool]]] = defaultdict(
        lambda: {"greedy": [], "beam": []}
    )
    for each in results:
        mine = groups[each.state, each.frequency or "", each.repetitions]
        for attack, outcome in (("greedy", each.greedy), ("beam", each.beam)):
            if outcome is not None:
                mine[attack].append(outcome)
    found = []
    for (state, frequency, repetitions), attacks in sorted(groups.items()):
        for attack, outcomes in attacks.items():
            if not outcomes:
                continue
            interval = stats.binomtest(sum(outcomes), len(outcomes)).proportion_ci(0.95, "exact")
            found.append(
                AttackRate(
                    state=state,
                    frequency=frequency or None,
                    repetitions=repetitions,
                    attack=attack,
                    attacked=len(outcomes),
                    reconstructed=sum(outcomes),
                    rate=sum(outcomes) / len(outcomes),
                    low=float(interval.low),
                    high=float(interval.high),
                )
            )
    return found


def _record(canary: Canary, given: int, **values: object) -> CanaryAttack:
    fields: dict[str, object] = {
        "canary": canary.id,
        "user": canary.user,
        "state": canary.state,
        "frequency": canary.frequency,
        "repetitions": canary.repetitions,
        "words": max(len(canary.words) - given, 0),
    }
    return CanaryAttack.model_validate(fields | values)
