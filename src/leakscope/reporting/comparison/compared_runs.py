"""Runs that are put side by side: which, under which names, and what keeps them from comparing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import progress_of, training_of
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.runs.run_manifest import RunManifest, open_run
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts import guarantees
from leakscope.reporting.facts.guarantee import Guarantee, guarantee_of
from leakscope.storage.remote_address import spelled


@dataclass(frozen=True)
class ComparedRun:
    """One run among others."""

    path: Path
    label: str
    """The model's name; with the directory's where names repeat."""
    manifest: RunManifest
    metrics: Metrics

    @property
    def step(self) -> int | None:
        """Training steps done, if the model's config tells."""
        return progress_of(self.manifest.model).step

    @property
    def epoch(self) -> float | None:
        """Epochs done, if the model's config tells."""
        return progress_of(self.manifest.model).epoch

    @property
    def guarantee(self) -> Guarantee:
        """The differential privacy of the model, or why there is none to tell."""
        return guarantee_of(self.manifest)


def load_runs(paths: list[Path], *, allow_mixed: bool = False) -> list[ComparedRun]:
    """The runs at `paths`, in that order; a directory of runs stands for all of them, by name.

    Runs of different corpora or top k are refused unless `allow_mixed`.
    """
    found = [run for path in paths for run in _runs_at(path)]
    if not found:
        raise LeakscopeError("There is no run to compare; name at least one run directory.")
    opened = [(path, *open_run(path)) for path in found]
    names = [manifest.name for _, manifest, _ in opened]
    tails = _tails([Path(spelled(path.resolve())) for path, _, _ in opened])
    runs = [
        ComparedRun(
            path,
            manifest.name if names.count(manifest.name) == 1 else f"{manifest.name} ({tail})",
            manifest,
            metrics,
        )
        for (path, manifest, metrics), tail in zip(opened, tails, strict=True)
    ]
    if not allow_mixed and (problems := differences(runs)):
        raise LeakscopeError(
            f"{problems[0]} Compare runs of one kind, or pass --allow-mixed to see them anyway."
        )
    return runs


def differences(runs: Sequence[ComparedRun]) -> list[str]:
    """What makes the runs' numbers not comparable, a sentence each."""
    problems = []
    if len({run.manifest.corpus_digest for run in runs}) > 1 and not _is_one_line(runs):
        problems.append("The runs are over different corpora, so their counts cannot be compared.")
    elif len({run.manifest.trained_on for run in runs}) > 1:
        problems.append(
            "The runs are over different parts of the corpus (all documents, and those of its "
            "training part), so their counts cannot be compared; see --trained-on."
        )
    if len({run.manifest.settings.audited for run in runs}) > 1:
        problems.append(
            "The runs audited different users (--users), so their counts cannot be compared."
        )
    if len({run.metrics.top_k for run in runs}) > 1:
        problems.append("The runs use different top-k, so their attackers do not see the same.")
    return problems


def cautions(runs: Sequence[ComparedRun]) -> list[str]:
    """What to bear in mind when comparing some of the numbers, a sentence each."""
    judges = {run.manifest.public.digests for run in runs if run.manifest.public is not None}
    problems = []
    if len({run.manifest.corpus_digest for run in runs}) > 1 and _is_one_line(runs):
        problems.append(
            "The corpora of some runs were made from those of others, as by corpus clean: a "
            "document that only one of them has counts in that run only."
        )
    if len(judges) > 1:
        problems.append(
            "The runs were judged by different public models, so their leakage epsilons cannot "
            "be compared; give all of them one --public."
        )
    problems += guarantees.cautions([(run.label, run.guarantee) for run in runs])
    for run in runs:
        lines = [*run.metrics.warnings, *run.metrics.notices]
        problems += [f"{run.label}: {line}" for line in lines]
        if run.manifest.public is not None:
            problems += [f"{run.label}: {line}" for line in run.manifest.public.warnings]
    return problems


def is_snapshots(runs: Sequence[ComparedRun]) -> bool:
    """Whether the runs are of one training at different steps; some of its snapshots, of other
    names, may have fallen on the same step, with the same weights.
    """
    first = training_of(runs[0].manifest.model)
    steps = [run.step for run in runs]
    return (
        len(runs) > 1
        and bool(first)
        and all(training_of(run.manifest.model) == first for run in runs)
        and None not in steps
        and len(set(steps)) > 1
        and len({(run.step, run.manifest.name) for run in runs}) == len(runs)
        and len({(run.step, run.manifest.model_digest) for run in runs}) == len(set(steps))
    )


def _is_one_line(runs: Sequence[ComparedRun]) -> bool:
    """Whether all corpora were made from one another, as the models say that were trained on them.
    One that is no model of ours does not say.
    """
    made_from: dict[str, set[str]] = {}
    for run in runs:
        config, corpus = run.manifest.model, run.manifest.corpus_digest
        made_from.setdefault(corpus, set())
        if isinstance(config, ModelConfig) and config.corpus_digest == corpus:
            made_from[corpus].update(config.corpus_inputs)
    known = {runs[0].manifest.corpus_digest}
    for _ in made_from:
        known |= {
            corpus
            for corpus, earlier in made_from.items()
            if earlier & known or any(corpus in made_from[each] for each in known)
        }
    return known == set(made_from)


def _runs_at(path: Path) -> list[Path]:
    if not path.is_dir() or (path / "metrics.json").exists():
        return [path]
    below = sorted(child for child in path.iterdir() if (child / "metrics.json").is_file())
    if not below:
        raise LeakscopeError(f"{path} is no run and holds none; make one by leakscope report.")
    return below


def _tails(paths: list[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart."""
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        tails = [str(Path(*path.parts[-depth:])) for path in paths]
        if len(set(tails)) == len(set(paths)):
            break
    return tails
