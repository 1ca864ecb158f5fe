"""What an artifact is used for: each function gives the answers of those who read it, as JSON."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trials.material import Material, content, still

PROMPTS = ("Please", "my name is", "the", "Dear all ,", "call me at")
Answer = Callable[[Path], Any]


def of_corpus(corpus: Path) -> Any:
    """Everything that `corpus info`, training and reports take from a corpus."""
    import leakscope
    from leakscope.corpus.store import Corpus

    told = leakscope.corpus.info(corpus).model_dump(mode="json")
    opened = Corpus.open(corpus)
    documents = [
        digest(part) for split in ("train", "validation")
        for part in opened.documents(split, texts=True)
    ]  # fmt: skip
    keys = [digest(shard.user_keys()) for shard in opened.shards]
    return [told, documents, keys, list(opened.lexicon.ids.items())]


def of_model(made: Material) -> Answer:
    """What the model suggests, and what its report says."""

    def answer(model: Path) -> Any:
        import leakscope
        from leakscope.commands.probe import probing
        from leakscope.models.word.model_directory import load_config

        ask = probing(model, top_k=3, length=5)
        shown = [repr(ask(text)) for text in PROMPTS]
        run = model.parent / "run-of-it"
        leakscope.report(model, made.corpus, run, threads=1)
        return [load_config(model).model_dump(mode="json"), shown, files(run)]

    return answer


def of_private_model(made: Material) -> Answer:
    """As of a model, and what its ledger says that it has spent."""
    plain = of_model(made)

    def answer(model: Path) -> Any:
        from leakscope.training.dp.ledger import read_phases

        return [repr(read_phases(model)), plain(model)]

    return answer


def of_unfinished(command: Callable[[], tuple[object, ...]]) -> Answer:
    """What the same command makes of an unfinished directory."""

    def answer(out: Path) -> Any:
        return ended_well(*command(), "--out", out, then=lambda: files(out))

    return answer


def of_run(made: Material) -> Answer:
    """Numbers, tables, advice and hardening curves of a run."""

    def answer(run: Path) -> Any:
        import leakscope

        opened = leakscope.open_run(run)
        tables = (opened.sequences(), opened.occurrences(), opened.users())
        advice = repr(leakscope.suggest(run))
        curves = leakscope.harden(run, made.corpus, run.parent / "hardened-of-it", threads=1)
        records = [each.model_dump(mode="json") for each in (opened.manifest, opened.metrics)]
        compared = repr(leakscope.compare(run))
        return [
            records,
            [repr(each.to_pylist()) for each in tables],
            advice,
            repr(curves),
            compared,
        ]

    return answer


def of_hardened(made: Material) -> Answer:
    """What a block list hides; the curves and the page are for people to read."""

    def answer(hardened: Path) -> Any:
        from leakscope.commands.probe import probing

        ask = probing(made.model, block_list=hardened / "blocklist.bloom")
        return [repr(ask(text)) for text in PROMPTS]

    return answer


def of_folds(made: Material) -> Answer:
    """A report that is judged by cross-fitted models that are there already."""

    def answer(public: Path) -> Any:
        import leakscope

        run = public.parent / "run-of-it"
        options = {"threads": 1, "top_k": 3, "public": "crossfit", "folds": 2}
        leakscope.report(made.model, made.corpus, run, public_dir=public, **options)
        return files(run)

    return answer


def of_canaries(made: Material) -> Answer:
    """How exposed the canaries of a plan are."""

    def answer(planted: Path) -> Any:
        out = planted.parent / "exposure-of-it"
        given = made.exposure_of(planted)
        return ended_well(*given, "--out", out, then=lambda: files(out))

    return answer


def for_people(folder: Path) -> None:
    """No command reads it again."""


def of_answers(folder: Path) -> Any:
    """The answers of an endpoint that a report would use: those that were lost are asked again."""
    from leakscope.models.remote.answer_cache import Answers

    kept = Answers(folder)
    try:
        found = [
            kept.find(Answers.key({"prompt": number})) or _served(number)
            for number in range(KEPT_ANSWERS)
        ]
        return [found, kept.fact("model") or SERVED]
    finally:
        kept.close()


KEPT_ANSWERS = 40
SERVED = {"name": "served", "words": 10}


def _served(number: int) -> dict[str, Any]:
    """What the endpoint says."""
    return {"text": f"word {number} and what follows", "log_probs": [-0.1 * number, -2.5]}


def keep_answers(folder: Path) -> None:
    """Write answers as a report on an endpoint does."""
    from leakscope.models.remote.answer_cache import Answers

    kept = Answers(folder)
    for number in range(KEPT_ANSWERS):
        kept.keep(Answers.key({"prompt": number}), _served(number))
    kept.note("model", SERVED)
    kept.close()


def ended_well(*arguments: object, then: Callable[[], Any]) -> Any:
    """Run a command in this process; an end that is not well ends the process in the same way."""
    from trials.forked import command

    try:
        still(command(*arguments))()
    except SystemExit as end:
        if end.code:
            raise
    return then()


def files(folder: Path) -> dict[str, str]:
    """A digest of every file below a folder."""
    return {
        name: hashlib.blake2b(data or b"").hexdigest() for name, data in content(folder).items()
    }


def digest(value: Any) -> str:
    """A digest of records, arrays and plain values."""
    if isinstance(value, np.ndarray):
        return hashlib.blake2b(value.tobytes() + str(value.dtype).encode()).hexdigest()
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return "".join(digest(getattr(value, field.name))[:32] for field in fields)
    if isinstance(value, dict):
        return digest(sorted((str(key), digest(each)) for key, each in value.items()))
    return hashlib.blake2b(repr(value).encode()).hexdigest()
