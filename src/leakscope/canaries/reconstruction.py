"""`canary attack`: give a model the first words of a canary, and see whether it says the others.

The greedy attack succeeds exactly where every other word is the model's first choice after the true
words before it, so one pass over the canaries tells. The beam follows several continuations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from leakscope.canaries.attack_batches import BATCH, BEAM_BATCH, BeamAttack, GreedyAttack, cut
from leakscope.canaries.attack_rates import rates_of
from leakscope.canaries.canary_plan import attack_stages
from leakscope.canaries.canary_settings import AttackSettings
from leakscope.canaries.surprise import lexicon_of
from leakscope.corpus.lexicon import Lexicon
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress, silent
from leakscope.engine.time_left import expect
from leakscope.models.interface import LanguageModel
from leakscope.records.canaries.canary_manifest import Canary, CanaryManifest
from leakscope.records.canaries.exposure_record import AttackRate, CanaryAttack

UNKNOWN_WORD = "the model does not know a word of the canary"
NOTHING_LEFT = "all of its words are given to the attacker"
TOO_LONG = "it is too long for the beam"
MOST_BEAM_WORDS = 32


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
    kept: KeptChunks = NOWHERE,
) -> Reconstruction:
    """Attack every canary, also those that were not planted, for comparison, and real ones; `model`
    reads the words of `lexicon_of(manifest)`. Attacks that are `kept` are not made again.
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
    greedy = GreedyAttack(model, cut(due, BATCH), how.given, lexicon)
    for canary, correct in zip(due, _joined(greedy, kept, progress), strict=True):
        whole = correct == len(canary.words) - how.given
        found[canary.id] = _record(canary, how.given, correct=correct, greedy=whole)
    if how.beam > 1:
        for canary in due:
            if _is_too_long(canary, how):
                more: dict[str, object] = {"reason": TOO_LONG}
                found[canary.id] = found[canary.id].model_copy(update=more)
        beams = _beams(model, due, how)
        short = [canary for part in beams.parts for canary in part]
        for canary, reached in zip(short, _joined(beams, kept, progress), strict=True):
            more = {"beam": bool(reached)}
            found[canary.id] = found[canary.id].model_copy(update=more)
    results = [found[canary.id] for canary in manifest.canaries]
    return Reconstruction(results, rates_of(results))


def kept_attacks(
    model: LanguageModel, manifest: CanaryManifest, how: AttackSettings, kept: KeptChunks
) -> tuple[int, int]:
    """How many canaries are attacked already: (greedily, by the beam)."""
    if not kept.is_begun:
        return 0, 0
    lexicon = lexicon_of(manifest)
    due = [each for each in manifest.canaries if not _unfit(model, each, how.given, lexicon)]
    batches = (GreedyAttack(model, cut(due, BATCH), how.given, lexicon), _beams(model, due, how))
    greedy, beam = (sum(compress(each.sizes, kept.are_kept(each))) for each in batches)
    return greedy, beam


def _beams(model: LanguageModel, canaries: Sequence[Canary], how: AttackSettings) -> BeamAttack:
    """On those that are short enough."""
    short = [] if how.beam == 1 else [each for each in canaries if not _is_too_long(each, how)]
    return BeamAttack(model, cut(short, BEAM_BATCH), how.given, how.beam)


def _is_too_long(canary: Canary, how: AttackSettings) -> bool:
    return len(canary.words) - how.given > MOST_BEAM_WORDS


def _joined(attack: GreedyAttack | BeamAttack, kept: KeptChunks, progress: Progress) -> list[int]:
    """The outcomes for all canaries."""
    made = kept.made(attack, attack.sizes, progress)
    return [outcome for part in made for outcome in part["outcome"].to_pylist()]


def _unfit(model: LanguageModel, canary: Canary, given: int, lexicon: Lexicon) -> str | None:
    """Why a canary cannot be attacked; None: it can."""
    if len(canary.words) <= given:
        return NOTHING_LEFT
    ids = np.array([lexicon.ids[word] for word in canary.words[given:]], np.int32)
    known = model.knows(ids)
    return UNKNOWN_WORD if known is not None and not known.all() else None


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
