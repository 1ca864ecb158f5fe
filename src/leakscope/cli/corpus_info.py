"""`leakscope corpus info`, and how a corpus is told of."""

from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say

if TYPE_CHECKING:
    from leakscope.corpus.manifest import CorpusManifest, SplitCounts


def info(asked: Asked) -> None:
    """Users, documents, words, lexicon, documents per user, and what was set aside and why.

    Example: leakscope corpus info corpus
    """
    from leakscope.commands.corpus_info import info as work

    print_corpus(work(asked["corpus"]), asked["json"])


def print_corpus(manifest: "CorpusManifest", as_json: bool) -> None:
    """What a corpus holds, in lines or as JSON."""
    if as_json:
        say(manifest.model_dump_json(indent=2))
        return
    spread, aside = manifest.documents_per_user, manifest.set_aside
    lines = {
        "users": f"{manifest.users:,}",
        "training": part_of(manifest.train),
        "validation": part_of(manifest.validation),
        "lexicon": f"{manifest.lexicon:,} words, by {manifest.settings.order}",
        "per user": ", ".join(f"{name} {value:.4g}" for name, value in spread.items())
        + " documents",
        "shards": f"{len(manifest.shards)}",
        "set aside": ", ".join(f"{count:,} {reason}" for reason, count in aside.items())
        or "nothing",
        "digest": manifest.digest,
    }
    for name, value in lines.items():
        say(f"{name:<11} {value}")


def part_of(part: "SplitCounts") -> str:
    """The size of a part of a corpus."""
    return f"{part.documents:,} documents, {part.words:,} words, {part.users:,} users"


command = Command(
    "corpus info",
    info,
    arguments=(Argument("corpus", Path, "A corpus directory."),),
    own=(Argument("json", bool, "Print the manifest as JSON.", default=False),),
)
