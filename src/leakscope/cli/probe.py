"""`leakscope probe`."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, tell

if TYPE_CHECKING:
    from leakscope.auditing.probing.probe_answers import Probe


def probe(asked: Asked) -> None:
    """Type a prefix, see the top-k next words (or tokens) and the greedy continuation.

    Example: leakscope probe model "my address is"
    """
    from leakscope.commands.probe import probing

    ask, as_json = probing(asked["model"], **asked.options), asked["json"]
    if asked["text"] is not None:
        _print(ask(asked["text"]), as_json)
        return
    if sys.stdin.isatty():
        tell("Type a prefix and press Enter; an empty line or Ctrl-D ends.")
    while True:
        if sys.stdin.isatty():
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line or (not line.strip() and sys.stdin.isatty()):
            return
        _print(ask(line.rstrip("\r\n")), as_json)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _print(found: "Probe", as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        say(json.dumps(asdict(found), ensure_ascii=False))
        return
    from leakscope.reporting.facts.values import printable

    tokens = found.unit == "token"
    for number, suggestion in enumerate(found.suggestions, 1):
        # Quotes show the space that a token begins with, and spell out line ends.
        quoted = tokens and suggestion.is_word
        entry = json.dumps(suggestion.entry, ensure_ascii=False)
        entry = printable(entry if quoted else suggestion.entry)
        say(f"{number:>3}. {entry:<20} {suggestion.probability:.4f}")
    shown_prefix = " ".join(
        f"[{printable(word)}]" if unknown else printable(word)
        for word, unknown in zip(found.prefix, found.unknown, strict=True)
    )
    say(
        f"{printable(found.prompt) if tokens else shown_prefix} → "
        f"{printable(found.text.lstrip(' ')) or '(end)'}"
    )
    say(f"     probability of the continuation {found.probability:.4g}")
    if found.hidden is not None and found.avoided is not None:
        say(
            f"     hidden by the block list: {found.hidden} suggestion{_s(found.hidden)}, "
            f"{found.avoided} word{_s(found.avoided)} of the continuation"
        )
    if any(found.unknown) and tokens:
        say("     the model's tokenizer does not know all characters of the prefix")
    elif any(found.unknown):
        say("     words in [brackets] are not in the model's vocabulary")


command = Command(
    "probe",
    probe,
    arguments=(
        Argument(
            "model",
            Path,
            "A model directory; or a Hugging Face causal model: its directory, a PEFT adapter's, "
            "a GGUF file, or its name on the hub (owner/model).",
        ),
        Argument(
            "text",
            str | None,
            "The prefix; without one, prefixes are read line by line.",
            default=None,
        ),
    ),
    own=(Argument("json", bool, "One JSON object a prefix.", default=False),),
)
