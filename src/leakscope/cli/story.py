"""`leakscope demo` and `leakscope probe`."""

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli.progress import shown

if TYPE_CHECKING:
    from leakscope.auditing.probing.answers import Probe
    from leakscope.commands.demo import Story


def demo(
    out: Annotated[Path, typer.Option(help="Where everything is written.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the text and the training.")] = 0,
    threads: Annotated[int, typer.Option(help="CPU threads.")] = 2,
) -> None:
    """The whole story on a synthetic corpus: text, training, report, and what leaked.

    The secrets in the text are made up and known, so the demo can say which of them the model
    gives away, how often each was stated, and how little one has to type.
    """
    from leakscope.commands.demo import demo as work

    again = f"remove {out} and start again"
    with shown(again) as progress:
        story = work(out, seed=seed, threads=threads, progress=progress)
    _tell(story, out)


def _tell(story: "Story", out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from leakscope.commands.demo import SECRETS

    console = Console(highlight=False)
    metrics, train = story.metrics, story.corpus.train
    console.print(
        f"\n{train.users} people wrote {train.words:,} words. A language model was trained on "
        f"them until it knew them too well."
    )
    table = Table(title="Secrets that came out, by how often their owner stated them")
    for column in ("stated", "planted", "came out"):
        table.add_column(column, justify="right")
    for repetitions, (planted, came_out) in story.by_repetitions().items():
        table.add_row(f"{repetitions}x", str(planted), str(came_out))
    console.print(table)
    others = Table(title="The other planted items")
    for column in ("kind", "planted", "came out"):
        others.add_column(column, justify="left" if column == "kind" else "right")
    for kind in sorted({item.kind for item in story.planted} - set(SECRETS)):
        group = [item.came_out for item in story.planted if item.kind == kind]
        others.add_row(kind, str(len(group)), str(sum(group)))
    console.print(others)
    leaked = [item for item in story.planted if item.kind in SECRETS and item.context is not None]
    leaked.sort(key=lambda item: (len(item.context or []), -item.repetitions))
    console.print("Some of them, with the least that one has to type before pressing Tab:")
    for item in leaked[:5]:
        typed = " ".join(item.context or []) or "(nothing at all)"
        completion = " ".join(item.completion or [])
        console.print(f"  {typed} → {completion}", markup=False)
    shortest = min((len(item.context or []) for item in leaked), default=None)
    console.print(
        f"\n{len(leaked)} of {sum(n for n, _ in story.by_repetitions().values())} secrets came "
        f"out" + (f", the easiest after {shortest} typed words." if shortest is not None else ".")
    )
    console.print(
        f"The report lists {metrics.unique_sequences} sequences that only one user has, owned by "
        f"{metrics.users_with_unique} of {metrics.users} users."
    )
    console.print(f"Open {story.page}", soft_wrap=True)
    console.print(f'Try  leakscope probe {out / "model"} "{_first_words(leaked)}"', soft_wrap=True)


def _first_words(leaked: list) -> str:  # type: ignore[type-arg]
    item = next((item for item in leaked if item.context), None)
    return " ".join(item.context) if item is not None else "Please"


def probe(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model directory; or a Hugging Face causal model: its "
            "directory, a PEFT adapter's, a GGUF file, or its name on the hub (owner/model)."
        ),
    ],
    text: Annotated[
        str | None, typer.Argument(help="The prefix; without one, prefixes are read line by line.")
    ] = None,
    top_k: Annotated[int, typer.Option(help="How many suggestions to show.")] = 5,
    length: Annotated[
        int,
        typer.Option(help="Longest continuation, in words; of a Hugging Face model, in tokens."),
    ] = 20,
    block_list: Annotated[
        Path | None, typer.Option(help="A block list; what it blocks is not shown.")
    ] = None,
    base: Annotated[
        Path | None, typer.Option(help="The model that a PEFT adapter belongs to.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="Of a Hugging Face model: cpu, cuda, ..., or auto.")
    ] = "auto",
    dtype: Annotated[
        str, typer.Option(help="What a Hugging Face model computes in: float32, bfloat16, ...")
    ] = "float32",
    json: Annotated[bool, typer.Option("--json", help="One JSON object a prefix.")] = False,
) -> None:
    """Type a prefix, see the top-k next words (or tokens) and the greedy continuation.

    Example: leakscope probe model "my address is"
    """
    from leakscope.auditing.model_loading import ModelOptions
    from leakscope.commands.probe import open_prober
    from leakscope.records.errors import LeakscopeError

    if top_k < 1 or length < 0:
        raise LeakscopeError("--top-k must be at least 1 and --length at least 0.")
    prober = open_prober(model, block_list, ModelOptions(device=device, dtype=dtype, base=base))
    if text is not None:
        _print_probe(prober(text, top_k=top_k, length=length), json)
        return
    if sys.stdin.isatty():
        typer.echo("Type a prefix and press Enter; an empty line or Ctrl-D ends.", err=True)
    while True:
        if sys.stdin.isatty():
            typer.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line or (not line.strip() and sys.stdin.isatty()):
            return
        _print_probe(prober(line.rstrip("\r\n"), top_k=top_k, length=length), json)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _print_probe(found: "Probe", as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        typer.echo(json_module.dumps(asdict(found), ensure_ascii=False))
        return
    from leakscope.reporting.facts.values import printable

    tokens = found.unit == "token"
    for number, suggestion in enumerate(found.suggestions, 1):
        # Quotes show the space that a token begins with, and spell out line ends.
        quoted = tokens and suggestion.is_word
        entry = json_module.dumps(suggestion.entry, ensure_ascii=False)
        entry = printable(entry if quoted else suggestion.entry)
        typer.echo(f"{number:>3}. {entry:<20} {suggestion.probability:.4f}")
    shown_prefix = " ".join(
        f"[{printable(word)}]" if unknown else printable(word)
        for word, unknown in zip(found.prefix, found.unknown, strict=True)
    )
    typer.echo(
        f"{printable(found.prompt) if tokens else shown_prefix} → "
        f"{printable(found.text.lstrip(' ')) or '(end)'}"
    )
    typer.echo(f"     probability of the continuation {found.probability:.4g}")
    if found.hidden is not None and found.avoided is not None:
        typer.echo(
            f"     hidden by the block list: {found.hidden} suggestion{_s(found.hidden)}, "
            f"{found.avoided} word{_s(found.avoided)} of the continuation"
        )
    if any(found.unknown) and tokens:
        typer.echo("     the model's tokenizer does not know all characters of the prefix")
    elif any(found.unknown):
        typer.echo("     words in [brackets] are not in the model's vocabulary")
