"""`leakscope corpus show`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, say_json

if TYPE_CHECKING:
    from leakscope.corpus.document_lookup import FoundDocument


def show(asked: Asked) -> None:
    """Single documents: the file and row that each comes from, its user's number, its split and its
    length; with --reveal also what it says.

    Rows are counted from 1, without blank lines and without the header of a CSV file.

    Example: leakscope corpus show corpus --document 17 --reveal
    """
    from leakscope.commands.corpus_show import show as work

    found = work(asked["corpus"], **asked.options)
    if asked["json"]:
        say_json([asdict(document) for document in found])
        return
    for document in found:
        _print_document(document)


def _print_document(found: "FoundDocument") -> None:
    origin = "not known" if found.file is None else f"{found.file}, row {found.row:,}"
    lines = {
        "document": f"{found.document}",
        "origin": origin,
        "user": f"{found.user}",
        "split": found.split,
        "length": f"{found.words:,} words, {found.characters:,} characters",
    }
    for name, value in lines.items():
        say(f"{name:<11} {value}")
    if found.text is not None:
        for place, line in enumerate(found.text.splitlines()):
            say(f"{'' if place else 'text':<11} {line}")
    say("")


command = Command(
    "corpus show",
    show,
    arguments=(Argument("corpus", Path, "A corpus directory."),),
    own=(Argument("json", bool, "Print the documents as JSON.", default=False),),
)
