"""What an unfinished measurement keeps in its directory, and under what."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.engine.kept_chunks import KeptChunks
from leakscope.engine.progress import Progress, silent
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.output_claim import Claim, sweep

WORK = ".work"


def exact_identity(answers: AnswerIdentity, how: LoadingSettings) -> dict[str, Any]:
    """All that decides a model's answers to the last bit of a probability, as plain data: threads
    and batches round them, and the results of a measurement are the same byte for byte.
    """
    return {**answers.plain(), "threads": how.threads, "batch_tokens": how.batch_tokens}


def kept_in(out: Path, models: Sequence[dict[str, Any]], progress: Progress = silent) -> KeptChunks:
    """What was kept in the directory `out` by a command that asks models of these identities."""
    return KeptChunks(out / WORK, {"models": list(models)}, progress=progress)


def take_up(claim: Claim, written: Collection[str], also: Collection[str] = ()) -> None:
    """Begin with what a killed attempt left: what was `written` goes; what was kept stays, also
    things of these names.
    """
    claim.clear(written, keep=(WORK, *also))
    if (claim.path / WORK).is_dir():
        sweep(claim.path / WORK)


def let_go(claim: Claim, written: Collection[str], also: Collection[str] = ()) -> None:
    """The result is `written`, so what was kept for it goes: last, since a kill before that lets
    the same command find it again.
    """
    claim.clear((WORK, *also), keep=written)
