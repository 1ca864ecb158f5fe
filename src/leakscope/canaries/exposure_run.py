"""`canary exposure`: the exposure of all canaries of a manifest, to one model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from leakscope.canaries.canary_plan import (
    FIT,
    SpaceWork,
    exposure_stages,
    is_enumerated,
    space_work,
)
from leakscope.canaries.canary_settings import ExposureSettings
from leakscope.canaries.exposure import (
    FittedSpace,
    exact_exposure,
    fit_space,
    fitted_exposure,
    sampled_exposure,
)
from leakscope.canaries.exposure_means import exposure_by_repetitions
from leakscope.canaries.random_space import RandomSpace, space_of
from leakscope.canaries.score_batches import Floats, score_batches
from leakscope.canaries.surprise import KnownSpace, known_part, lexicon_of, surprise_of
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress, silent
from leakscope.engine.time_left import expect
from leakscope.models.interface import LanguageModel
from leakscope.records.canaries.canary_manifest import Canary, CanaryManifest
from leakscope.records.canaries.exposure_record import (
    CanaryExposure,
    RepetitionExposure,
    SpaceExposure,
)
from leakscope.records.documents import LongArray

UNKNOWN_WORD = "the model does not know a word of the canary"
SAMPLING = 0x5A3B1E
"""Begins the seeds of samples, so that they are those of nothing else."""
NO_SPACE = "a real canary has no random space, so that it has no exposure"
IMPOSSIBLE = "the model gives some samples the probability 0, so that there is no fit"
ALIKE = "all samples are equally probable, so that there is no fit"


@dataclass(frozen=True)
class MeasuredExposure:
    """What was measured on one model."""

    canaries: list[CanaryExposure]
    """In the order of the manifest."""
    spaces: list[SpaceExposure]
    by_repetitions: list[RepetitionExposure]
    warnings: list[str]


def measure_exposure(
    model: LanguageModel,
    manifest: CanaryManifest,
    settings: ExposureSettings | None = None,
    progress: Progress = silent,
    kept: KeptChunks = NOWHERE,
) -> MeasuredExposure:
    """Measure every canary against its own random space; `model` reads the words of
    `lexicon_of(manifest)`. A canary with a word that the model does not know gets no number. Texts
    whose scores are `kept` are not scored again.
    """
    how = settings or ExposureSettings()
    lexicon = lexicon_of(manifest)
    found: dict[int, CanaryExposure] = {}
    spaces, warnings = [], []
    expect(progress, exposure_stages(spaces_work(model, manifest, how), how))
    for number, record in enumerate(manifest.spaces):
        mine = [canary for canary in manifest.canaries if canary.space == number]
        space = space_of(manifest, record)
        told = SpaceExposure(
            space=number,
            template=record.template,
            frequency=record.frequency,
            log2_whole_size=space.bits,
        )
        known = known_part(model, space, lexicon)
        if isinstance(known, str):
            spaces.append(told.model_copy(update={"reason": known}))
            found |= {canary.id: _without(canary, known) for canary in mine}
            warnings.append(f"No exposure of the canaries of space {number}: {known}.")
            continue
        one = _MeasuredSpace(model, known, how, stream_of(how, number), kept)
        told, results = one.measure(told, mine, progress)
        spaces.append(told)
        found |= {each.canary: each for each in results}
        if told.poor_fit:
            warnings.append(
                f"The skew-normal fit of space {number} is poor (distance {told.ks_distance:.3f}, "
                f"p {told.ks_p_value:.2g}); trust the samples where they are not censored."
            )
    for canary in manifest.canaries:
        found.setdefault(canary.id, _without(canary, NO_SPACE))
    canaries = [found[canary.id] for canary in manifest.canaries]
    unknown = sum(each.reason == UNKNOWN_WORD for each in canaries)
    if unknown:
        warnings.append(f"{unknown} canaries have a word that the model does not know.")
    rng = stream_of(how, len(manifest.spaces))
    return MeasuredExposure(canaries, spaces, exposure_by_repetitions(canaries, how, rng), warnings)


def spaces_work(
    model: LanguageModel, manifest: CanaryManifest, how: ExposureSettings
) -> list[SpaceWork]:
    """What has to be done for each random space that the model can say something of."""
    lexicon, owners = lexicon_of(manifest), Counter(each.space for each in manifest.canaries)
    known = [known_part(model, space_of(manifest, each), lexicon) for each in manifest.spaces]
    return [
        space_work(each.space, owners[number], how)
        for number, each in enumerate(known)
        if not isinstance(each, str)
    ]


def kept_texts(
    model: LanguageModel, manifest: CanaryManifest, how: ExposureSettings, kept: KeptChunks
) -> int:
    """How many texts are scored already, as `measure_exposure` would score them."""
    lexicon, total = lexicon_of(manifest), 0
    if not kept.is_begun:
        return 0
    for number, record in enumerate(manifest.spaces):
        known = known_part(model, space_of(manifest, record), lexicon)
        if isinstance(known, str):
            continue
        one = _MeasuredSpace(model, known, how, stream_of(how, number))
        said, _, places = one.sayable([each for each in manifest.canaries if each.space == number])
        if said:
            batches = score_batches(model, known.space, one.rows(places))
            total += sum(compress(batches.sizes, kept.are_kept(batches)))
    return total


def stream_of(how: ExposureSettings, number: int) -> np.random.Generator:
    """Random numbers that no planting shares, whatever its seed is. NumPy takes [seed, 0] for seed,
    so that samples would be the very canaries that were drawn by the same seed.
    """
    return np.random.default_rng([SAMPLING, how.seed, number])


class _MeasuredSpace:
    """Canaries of one random space."""

    def __init__(
        self,
        model: LanguageModel,
        known: KnownSpace,
        how: ExposureSettings,
        rng: np.random.Generator,
        kept: KeptChunks = NOWHERE,
    ) -> None:
        self._model, self._known, self._how, self._rng = model, known, how, rng
        self._kept = kept

    @property
    def _space(self) -> RandomSpace:
        return self._known.space

    def sayable(self, canaries: Sequence[Canary]) -> tuple[list[Canary], list[Canary], LongArray]:
        """(canaries that the model can say, those that it cannot, the rows [n, places] of the
        former).
        """
        rows = self._known.rows_of([canary.choices for canary in canaries])
        pairs = list(zip(canaries, rows, strict=True))
        said = [canary for canary, row in pairs if row is not None]
        unsaid = [canary for canary, row in pairs if row is None]
        places = [row for row in rows if row is not None]
        return said, unsaid, np.stack(places) if places else np.zeros((0, 0), np.int64)

    def rows(self, places: LongArray) -> LongArray:
        """[n, places] all texts that are scored: the whole space, or canaries and samples."""
        if is_enumerated(self._space, self._how):
            return self._space.everything()
        return np.concatenate([places, self._space.draw(self._rng, self._how.samples)])

    def measure(
        self, told: SpaceExposure, canaries: Sequence[Canary], progress: Progress
    ) -> tuple[SpaceExposure, list[CanaryExposure]]:
        said, unsaid, places = self.sayable(canaries)
        unknown = [_without(canary, UNKNOWN_WORD) for canary in unsaid]
        told = told.model_copy(update={"log2_size": self._space.bits})
        if not said:
            return told.model_copy(update={"reason": UNKNOWN_WORD}), unknown
        rows = self.rows(places)
        together = surprise_of(self._model, self._space, rows, progress, kept=self._kept)
        if is_enumerated(self._space, self._how):
            at = np.array([self._space.index_of(row) for row in places])
            exposures = exact_exposure(together, at)
            found = [
                _record(canary, surprise, exact=bits, exposure=bits, method="exact")
                for canary, surprise, bits in zip(said, together[at], exposures, strict=True)
            ]
            return told.model_copy(update={"enumerated": True}), found + unknown
        surprise, samples = together[: len(said)], together[len(said) :]
        progress(FIT, 0, 1)
        told, fitted = self._fit(told, samples)
        progress(FIT, 1, 1)
        return told, self._sampled(said, surprise, samples, fitted) + unknown

    def _fit(
        self, told: SpaceExposure, samples: Floats
    ) -> tuple[SpaceExposure, FittedSpace | None]:
        update: dict[str, object] = {"samples": len(samples)}
        if not np.isfinite(samples).all() or np.ptp(samples) == 0:
            update["reason"] = ALIKE if np.isfinite(samples).all() else IMPOSSIBLE
            return told.model_copy(update=update), None
        fitted = fit_space(samples, self._how.bootstrap, self._rng)
        update |= {
            "shape": fitted.fit.shape,
            "location": fitted.fit.location,
            "scale": fitted.fit.scale,
            "ks_distance": fitted.ks_distance,
            "ks_p_value": fitted.ks_p_value,
            "poor_fit": fitted.poor,
        }
        return told.model_copy(update=update), fitted

    def _proved(self, surprise: float) -> float:
        """What a canary has at least: of texts that exclude each other, at most 1/p have the
        probability p. Texts of a model with tokens may begin each other.
        """
        return -np.inf if self._model.needs_text else self._space.bits - surprise

    def _sampled(
        self,
        canaries: Sequence[Canary],
        surprise: Floats,
        samples: Floats,
        space: FittedSpace | None,
    ) -> list[CanaryExposure]:
        bits = self._space.bits
        sampled = sampled_exposure(surprise, samples, bits)
        fitted = None
        if space is not None and np.isfinite(surprise).all():
            fitted = fitted_exposure(surprise, space, bits)
        found = []
        for at, canary in enumerate(canaries):
            values: dict[str, object] = {
                "sampled": float(sampled.value[at]),
                "sampled_low": float(sampled.low[at]),
                "sampled_high": float(sampled.high[at]),
                "censored": bool(sampled.censored[at]),
                "exposure": float(sampled.value[at]),
                "method": "samples",
            }
            if fitted is not None and space is not None:
                values |= {
                    "fitted": float(fitted.value[at]),
                    "fitted_low": float(fitted.low[at]),
                    "fitted_high": float(fitted.high[at]),
                    "clipped": bool(fitted.clipped[at]),
                }
                if not space.poor or sampled.censored[at]:
                    # Never below what the samples prove, nor what the probability does.
                    least = max(float(sampled.low[at]), self._proved(float(surprise[at])))
                    best = max(float(fitted.value[at]), least)
                    values |= {"exposure": best, "method": "fit"}
            found.append(_record(canary, surprise[at], **values))
        return found


def _record(canary: Canary, surprise: float, **values: object) -> CanaryExposure:
    known = float(surprise) if np.isfinite(surprise) else None
    return CanaryExposure.model_validate(_of(canary) | {"surprise": known} | values)


def _without(canary: Canary, reason: str) -> CanaryExposure:
    return CanaryExposure.model_validate(_of(canary) | {"reason": reason})


def _of(canary: Canary) -> dict[str, object]:
    return {
        "canary": canary.id,
        "user": canary.user,
        "state": canary.state,
        "frequency": canary.frequency,
        "space": canary.space,
        "repetitions": canary.repetitions,
    }
