"""`report` and `compare`."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from leakscope.auditing.chat_record import chat_record
from leakscope.auditing.endpoint_model import Connection, Served, check_served, served_subject
from leakscope.auditing.known_figures import ASK, figures_of_training
from leakscope.auditing.model_loading import (
    ModelOptions,
    check_base,
    load_for_corpus,
    pretrained_config,
    pretrained_digest,
    pretrained_name,
    with_base_found,
)
from leakscope.auditing.public_models import (
    PublicChoice,
    public_source,
    same_public_model,
    with_model_found,
)
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.leakage.pipeline import Resources, audit
from leakscope.leakage.run_directory import is_same_run
from leakscope.leakage.subject import Subject
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config
from leakscope.models.word.word_model import WordModel
from leakscope.models.wrappers.blocked import BlockedModel
from leakscope.records.artifacts import digest_of, digest_of_file
from leakscope.records.block_list import BlockList
from leakscope.records.dp_record import without_seed
from leakscope.records.errors import LeakscopeError
from leakscope.records.model_figures import ModelFigures
from leakscope.records.report_settings import ReportSettings
from leakscope.records.run import Metrics
from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import ComparedRun, load_runs
from leakscope.reporting.pages.report_page import write_page


def report(
    model: Path | Served,
    corpus: Path,
    out: Path,
    settings: ReportSettings | None = None,
    *,
    name: str | None = None,
    public: PublicChoice | None = None,
    block_list: Path | None = None,
    workers: int = 1,
    threads: int = 2,
    device: str = "auto",
    reading: ModelOptions | None = None,
    progress: Progress = silent,
) -> Metrics:
    """The training data leakage report of a model on the corpus that it was trained on, as
    `public` would be surprised, and behind a block list if one is given.
    """
    opened = Corpus.open(corpus)
    lowercase = bool(opened.manifest.settings["lowercase"])
    settings = _blocked(settings or ReportSettings(), block_list, public, lowercase=lowercase)
    how = replace(reading or ModelOptions(), device=device, threads=max(1, threads // workers))
    line, path = None, None
    how, public = with_base_found(how), with_model_found(public)
    if isinstance(model, Served):
        check_served(
            model,
            settings,
            public=public is not None,
            block_list=block_list is not None,
            workers=workers,
        )
        line = Connection(model, opened.path, out, progress)
        subject = served_subject(model, line, name)
    else:
        path = find_model(model)
        subject = _subject(path, opened, name, how, block_list)
    how = replace(how, chat=None)  # a public model reads plain text
    source = (
        None if public is None else public_source(public, path, opened, how=how, progress=progress)
    )
    try:
        return audit(
            subject,
            opened,
            out,
            settings,
            public=source,
            resources=Resources(workers, threads),
            page=write_page,
            progress=progress,
        )
    finally:
        if line is not None:
            line.close()


def report_snapshots(
    model: Path,
    corpus: Path,
    out: Path,
    settings: ReportSettings | None = None,
    *,
    public: PublicChoice | None = None,
    block_list: Path | None = None,
    workers: int = 1,
    threads: int = 2,
    device: str = "auto",
    reading: ModelOptions | None = None,
    progress: Progress = silent,
) -> list[ComparedRun]:
    """A report for every snapshot of a training, each in its folder below `out`, and their
    comparison. Snapshots that are done already are kept.
    """
    snapshots = sorted(config.parent for config in (model / "snapshots").glob("*/config.json"))
    if not snapshots:
        raise LeakscopeError(f"{model} has no snapshots; train it with leakscope train.")
    opened = Corpus.open(corpus)
    lowercase = bool(opened.manifest.settings["lowercase"])
    settings = _blocked(settings or ReportSettings(), block_list, public, lowercase=lowercase)
    how = replace(reading or ModelOptions(), device=device, threads=max(1, threads // workers))
    public = with_model_found(public)
    for index, snapshot in enumerate(snapshots):
        progress("snapshots", index, len(snapshots), snapshot.name)
        target = out / snapshot.name
        subject = _subject(snapshot, opened, None, how, block_list)
        plain = replace(how, chat=None)  # a public model reads plain text
        alike = partial(same_public_model, public, model=snapshot)
        if not is_same_run(target, subject, opened, settings, alike):
            source = (
                None
                if public is None
                else public_source(public, snapshot, opened, how=plain, progress=progress)
            )
            audit(
                subject,
                opened,
                target,
                settings,
                public=source,
                resources=Resources(workers, threads),
                page=write_page,
                progress=_within(progress, snapshot.name),
            )
    progress("snapshots", len(snapshots), len(snapshots))
    runs = load_runs([out / snapshot.name for snapshot in snapshots])
    write_comparison(runs, out)
    return runs


def compare(
    runs: Sequence[Path], out: Path | None = None, *, allow_mixed: bool = False
) -> list[ComparedRun]:
    """Runs side by side; with `out`, also as a page and as JSON."""
    found = load_runs(list(runs), allow_mixed=allow_mixed)
    if out is not None:
        write_comparison(found, out)
    return found


def _within(progress: Progress, name: str) -> Progress:
    """Progress of a part, its stages named after it."""

    def inner(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        progress(f"{name} {stage}", done, total, note)

    return inner


def _blocked(
    settings: ReportSettings,
    block_list: Path | None,
    public: PublicChoice | None,
    *,
    lowercase: bool,
) -> ReportSettings:
    """The settings with the block list's digest; checked against each other."""
    if settings.benchmark and public is None:
        raise LeakscopeError("--benchmark is about the public model; give one by --public.")
    if block_list is None:
        return replace(settings, block_list=None)
    if BlockList.load(block_list).lowercase != lowercase:  # found now, not after scoring
        how = "lower-cased" if lowercase else "not lower-cased"
        raise LeakscopeError(
            f"The words of the corpus are {how}, those of the block list {block_list} are "
            f"otherwise; make the list from a run on this corpus."
        )
    return replace(settings, block_list=digest_of_file(block_list))


def _subject(
    path: Path, corpus: Corpus, name: str | None, how: ModelOptions, block_list: Path | None = None
) -> Subject:
    check_base(path, how)
    if is_pretrained(path):
        if block_list is not None:
            raise LeakscopeError(
                "A report behind a block list needs a word-level model; for Hugging Face "
                "generation see leakscope.models.wrappers.generation_filter."
            )
        chat = chat_record(path, how, corpus)
        digest = pretrained_digest(path, how.base) + how.dtype
        return Subject(
            name=name or pretrained_name(path),
            digest=digest
            if chat is None
            else digest_of([digest, {"chat_template": chat.model_dump()}]),
            config=pretrained_config(path, how).model_copy(update={"chat_template": chat}),
            load=partial(load_for_corpus, path, corpus.path, how),
            figures=ModelFigures.without_training(ASK),
            measured=False,
        )
    if how.chat is not None:
        raise LeakscopeError("A word-level model has no chat template; leave out --chat-template.")
    config = load_config(path)
    # Configs of older versions have the value of an insecure seed.
    config = config.model_copy(update={"training": without_seed(config.training)})
    if config.lexicon_digest != corpus.manifest.lexicon_digest:
        raise LeakscopeError(
            f"The model in {path} was trained on a corpus with another lexicon than "
            f"{corpus.path}; give the corpus that it was trained on."
        )
    if config.corpus_digest != corpus.manifest.digest:
        raise LeakscopeError(
            f"The model in {path} was trained on another corpus than {corpus.path}; give the "
            f"corpus that it was trained on."
        )
    return Subject(
        name=name or path.resolve().name,
        digest=digest_of_file(path / "model.safetensors")
        if (path / "model.safetensors").exists()
        else "",
        config=config,
        load=partial(_load, path, corpus.path, how, block_list),
        figures=figures_of_training(config, corpus),
    )


def _load(model: Path, corpus: Path, how: ModelOptions, block_list: Path | None) -> LanguageModel:
    """The model behind its block list, in any process."""
    loaded = load_for_corpus(model, corpus, how)
    if block_list is None or not isinstance(loaded, WordModel):
        return loaded
    return BlockedModel(loaded, BlockList.load(block_list), Corpus.open(corpus).lexicon.words)
