"""`suggest`."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import SuggestSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.store import Corpus
from leakscope.leakage.hardening.actions import Suggestions
from leakscope.leakage.hardening.actions import suggest as suggest_actions
from leakscope.records.actions.action_list import Kind, write_action_list
from leakscope.records.output_claim import new_file


@takes_options_of("suggest")
def suggest(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    corpus: str | os.PathLike[str] | None = None,
    *settings: object,
    **options: Any,
) -> Suggestions:
    """An action list from a report, with the origins of documents if its `corpus` is given; with
    `out`, also as a new file, which `corpus clean --drop` and `corpus show --drop` take.
    """
    asked = Given("suggest", settings, options).make(SuggestSettings)

    def found() -> Suggestions:
        opened = None if corpus is None else Corpus.open(Path(corpus))
        return suggest_actions(Path(run), asked.most, opened, reveal=asked.reveal)

    if out is None:
        return found()
    with new_file(Path(out)) as file:
        made = found()
        lines = _lines(made, asked.drop)
        write_action_list(file, made.corpus_digest, lines, made.interface)
    return made


def _lines(found: Suggestions, drop: str) -> Iterator[tuple[str, Kind, Mapping[str, Any]]]:
    """The actions as lines of a file, which drops documents or users."""
    for document in found.documents:
        yield "drop" if drop == "documents" else "review", "document", asdict(document)
    for user in found.users:
        yield "drop" if drop == "users" else "review", "user", asdict(user)
    for copies in found.copies:
        yield "review", "copies", asdict(copies)
