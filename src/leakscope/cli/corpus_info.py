"""`leakscope corpus info`, and how a corpus is told of."""

from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, say_json

if TYPE_CHECKING:
    from leakscope.corpus.manifest import CorpusManifest, SplitCounts


def info(asked: Asked) -> None:
    """Users, documents, words, lexicon, documents per user, and what was set aside and why.

    It warns of a corpus with one user, and of a user with a suspicious share of it.

    Example: leakscope corpus info corpus
    """
    from leakscope.commands.corpus_info import info as work

    print_corpus(work(asked["corpus"]), asked["json"])


def print_corpus(manifest: "CorpusManifest", as_json: bool) -> None:
    """What a corpus holds, in lines or as JSON."""
    if as_json:
        warnings = [warning.model_dump(mode="json") for warning in manifest.warnings]
        say_json(manifest.model_dump(mode="json") | {"warnings": warnings})
        return
    spread = manifest.documents_per_user
    lines = {
        "users": f"{manifest.users:,}",
        "training": part_of(manifest.train),
        "validation": part_of(manifest.validation),
        "lexicon": f"{manifest.lexicon:,} words, by {manifest.settings.order}",
        "per user": ", ".join(f"{name} {value:.4g}" for name, value in spread.items())
        + " documents",
        "shards": f"{len(manifest.shards)}",
        "set aside": _counts(manifest.set_aside),
        "doubtful": _counts(manifest.doubtful),
        "digest": manifest.digest,
    }
    for name, value in lines.items():
        say(f"{name:<11} {value}")
    for warning in manifest.warnings:
        say(f"{'warning':<11} {warning.message}")


def _counts(by_reason: dict[str, int] | None) -> str:
    if by_reason is None:
        return "not counted"
    return ", ".join(f"{count:,} {reason}" for reason, count in by_reason.items()) or "nothing"


def part_of(part: "SplitCounts") -> str:
    """The size of a part of a corpus."""
    return f"{part.documents:,} documents, {part.words:,} words, {part.users:,} users"


command = Command(
    "corpus info",
    info,
    arguments=(Argument("corpus", Path, "A corpus directory."),),
    own=(Argument("json", bool, "Print the manifest and the warnings as JSON.", default=False),),
)
