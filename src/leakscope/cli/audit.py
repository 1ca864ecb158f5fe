"""`leakscope report`."""

import json as json_module
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from leakscope.cli.progress import shown
from leakscope.cli.results import check_gates, print_comparison, print_run, warn_of


def report(
    model: Annotated[
        str,
        typer.Argument(
            help="A model directory, or one of its snapshots; or a Hugging Face causal model: its "
            "directory, a PEFT adapter's, a GGUF file, or its name on the hub (owner/model); or "
            "the address of an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1."
        ),
    ],
    corpus: Annotated[Path, typer.Argument(help="The corpus that it was trained on.")],
    out: Annotated[Path, typer.Option(help="The run directory to make.")],
    top_k: Annotated[int, typer.Option(help="How many suggestions the attacker sees.")] = 1,
    reveal: Annotated[
        bool, typer.Option(help="Write words and user keys, not only lengths and numbers.")
    ] = False,
    user_threshold: Annotated[
        int | None,
        typer.Option(help="List only sequences that came out for fewer users than this."),
    ] = None,
    contexts: Annotated[int, typer.Option(help="Occurrences listed with each sequence.")] = 20,
    context_words: Annotated[int, typer.Option(help="Words listed of each context.")] = 32,
    full_perplexity: Annotated[
        bool,
        typer.Option(
            help="Measure the training perplexity on every word, not on a sample; costs the full "
            "softmax."
        ),
    ] = False,
    public: Annotated[
        str | None,
        typer.Option(
            help="A model that never saw these users, to tell private sequences from plain "
            "language: a model directory; 'retrain', to train one without the owners of unique "
            "sequences; or 'crossfit', to train --folds of them, each without a part of the users."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Cross-fitted models to train.")] = 5,
    public_dir: Annotated[
        Path | None,
        typer.Option(help="Where public models that are trained here are kept and found again."),
    ] = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(help="What the model was started from, if public models are to be trained."),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="Count unique sequences with at least this ratio. May be repeated."),
    ] = None,
    benchmark: Annotated[
        bool,
        typer.Option(help="Count what the public model itself gives away of the corpus too."),
    ] = False,
    least_context: Annotated[
        int | None,
        typer.Option(
            help="For how many unique sequences to look for the shortest prompt that brings it "
            "out (largest ratio first): 1000, or none at an endpoint, where it costs requests."
        ),
    ] = None,
    elsewhere: Annotated[
        int,
        typer.Option(
            help="Prompts to spend on unique sequences outside their training contexts: cut, "
            "reworded, after other users' text."
        ),
    ] = 0,
    confidence: Annotated[
        float | None,
        typer.Option(help="Report on an interface that is silent where 1/p of its best exceeds."),
    ] = None,
    block_list: Annotated[
        Path | None, typer.Option(help="Report on the model behind this block list.")
    ] = None,
    snapshots: Annotated[
        bool, typer.Option(help="Report on every snapshot of the training, and compare them.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="What to call the model in tables.")] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="A gate such as 'unique_sequences>0': exit code 1 if it holds. May be repeated."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that score shards.")] = 1,
    threads: Annotated[int, typer.Option(help="CPU threads in all.")] = 2,
    device: Annotated[
        str, typer.Option(help="cpu, cuda, cuda:1, ..., or auto: a GPU if there is one.")
    ] = "auto",
    dtype: Annotated[
        str, typer.Option(help="What a Hugging Face model computes in: float32, bfloat16, ...")
    ] = "float32",
    base: Annotated[
        Path | None, typer.Option(help="The model that a PEFT adapter belongs to.")
    ] = None,
    batch_tokens: Annotated[
        str,
        typer.Option(
            help="Tokens that a Hugging Face model reads at a time, at most, or auto: what suits "
            "the device. Where memory runs out they are halved; results do not depend on it."
        ),
    ] = "auto",
    chat_template: Annotated[
        str | None,
        typer.Option(
            help="Read each document as a message of a Hugging Face model's chat template: as the "
            "assistant's, or as the user's. By default documents are plain texts."
        ),
    ] = None,
    validation_words: Annotated[
        int | None,
        typer.Option(
            help="Validation words to measure perplexity and accuracy on: 50000, or none at an "
            "endpoint."
        ),
    ] = None,
    endpoint_model: Annotated[
        str, typer.Option(help="Endpoint: the name by which it knows the model.")
    ] = "default",
    text_only: Annotated[
        bool,
        typer.Option(
            help="Endpoint: attack it by its continuations alone, as one who presses Tab; one "
            "request a wrong word. Otherwise it must tell the log-probabilities of a prompt."
        ),
    ] = False,
    begin_mark: Annotated[
        str | None,
        typer.Option(
            help="Endpoint: what to put before each document, such as '<s>'. With --text-only, "
            "first words are asked for only if this is given; '' if the server sets the mark."
        ),
    ] = None,
    prompt_words: Annotated[
        int,
        typer.Option(help="Endpoint: words of a prompt; longer documents are read in windows."),
    ] = 1000,
    extra_body: Annotated[
        str | None,
        typer.Option(
            help="Endpoint: more fields of every request, as JSON, such as "
            "'{\"repeat_penalty\": 1}' for a server that avoids what it has said before."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Endpoint: requests at a time.")] = 8,
    requests_per_minute: Annotated[
        float | None, typer.Option(help="Endpoint: most requests a minute.")
    ] = None,
    max_requests: Annotated[
        int | None,
        typer.Option(
            help="Endpoint: stop when so many requests were sent; the same command goes on."
        ),
    ] = None,
    attempts: Annotated[
        int, typer.Option(help="Endpoint: times that a request is sent before it has failed.")
    ] = 7,
    timeout: Annotated[
        float, typer.Option(help="Endpoint: seconds to wait for an answer.")
    ] = 120.0,
    answers: Annotated[
        Path | None,
        typer.Option(
            help="Endpoint: a directory to keep its answers in and find them again; by default "
            "they are kept with the run until it is finished."
        ),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            help="Endpoint: the environment variable that holds the key; by default "
            "OPENAI_API_KEY, unless the address is of another machine and not encrypted."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the metrics as JSON.")] = False,
) -> None:
    """The training data leakage report: what the model gives away of its own training data.

    Runs the model over every training document, collects the sequences that it predicts, and
    counts for each how many users have it. Redacted unless --reveal is given. A report that was
    killed goes on when the same command is given again.

    With --public the report says which of the unique sequences matter: how many times more
    surprising each is to a model that never saw its user.

    Example: leakscope report model corpus --out run --fail-on 'unique_sequences>0'

    Example: leakscope report model corpus --out run --public crossfit --folds 5

    Example: leakscope report http://127.0.0.1:8000/v1 corpus --out run --text-only
    """
    import leakscope.commands.report as audits
    from leakscope.auditing.endpoint_model import Served
    from leakscope.auditing.gates import Gate
    from leakscope.auditing.model_loading import ModelOptions
    from leakscope.auditing.public_models import PublicChoice
    from leakscope.models.remote.endpoint import Endpoint, RequestLimits, is_address
    from leakscope.records.errors import LeakscopeError
    from leakscope.records.report_settings import ReportSettings
    from leakscope.records.run import open_run
    from leakscope.reporting.facts.guarantee import guarantee_of

    if workers < 1 or threads < 1:
        raise LeakscopeError("--workers and --threads must be at least 1.")
    if snapshots and name is not None:
        raise LeakscopeError("Snapshots have names of their own; leave out --name.")
    gates = [Gate.parse(text) for text in fail_on or []]
    served = None
    if is_address(model):
        if snapshots:
            raise LeakscopeError("An endpoint has no snapshots; leave out --snapshots.")
        endpoint = Endpoint(
            model,
            endpoint_model,
            "text" if text_only else "log-probs",
            begin_mark,
            prompt_words,
            _extra(extra_body),
        )
        served = Served(
            endpoint,
            RequestLimits(
                key=_key(api_key_env, endpoint.in_clear),
                concurrency=concurrency,
                per_minute=requests_per_minute,
                max_requests=max_requests,
                attempts=attempts,
                timeout=timeout,
            ),
            answers,
        )
        if endpoint.in_clear:
            typer.echo("warning: the corpus goes to the endpoint unencrypted; use https.", err=True)
    elif text_only or begin_mark is not None or answers is not None or max_requests is not None:
        raise LeakscopeError(f"{model} is not the address of an endpoint (http:// or https://).")
    settings = ReportSettings(
        top_k=top_k,
        user_threshold=user_threshold,
        reveal=reveal,
        contexts=contexts,
        context_words=context_words,
        full_perplexity=full_perplexity,
        thresholds=tuple(threshold) if threshold else ReportSettings.thresholds,
        benchmark=benchmark,
        least_context=_given(least_context, 0 if served else ReportSettings.least_context),
        elsewhere=elsewhere,
        confidence=confidence,
        validation_words=_given(validation_words, 0 if served else ReportSettings.validation_words),
    )
    if batch_tokens != "auto" and not (batch_tokens.isdecimal() and int(batch_tokens)):
        raise LeakscopeError("--batch-tokens is auto, or a number of at least 1.")
    size = None if batch_tokens == "auto" else int(batch_tokens)
    reading = ModelOptions(dtype=dtype, base=base, batch_tokens=size, chat=chat_template)
    choice = None if public is None else PublicChoice(public, folds, public_dir, warm_start)
    if snapshots:
        with shown() as progress:
            runs = audits.report_snapshots(
                Path(model),
                corpus,
                out,
                settings,
                public=choice,
                block_list=block_list,
                workers=workers,
                threads=threads,
                device=device,
                reading=reading,
                progress=progress,
            )
        print_comparison(runs, json)
        typer.echo(f"page: {out / 'compare.html'}", err=json)
        check_gates(gates, {run.manifest.name: (run.metrics, run.guarantee) for run in runs})
        return
    with shown() as progress:
        metrics = audits.report(
            served or Path(model),
            corpus,
            out,
            settings,
            name=name,
            public=choice,
            block_list=block_list,
            workers=workers,
            threads=threads,
            device=device,
            reading=reading,
            progress=progress,
        )
    if json:
        typer.echo(metrics.model_dump_json(indent=2))
        warn_of(out)
    else:
        print_run(out)
    check_gates(gates, {str(out): (metrics, guarantee_of(open_run(out)[0]))})


def _key(name: str | None, in_clear: bool) -> str | None:
    """The endpoint's key. One that was meant for another server is not sent in clear."""
    if name is None and in_clear:
        return None
    return os.environ.get(name or "OPENAI_API_KEY", "").strip() or None


def _no_number(said: str) -> None:
    raise ValueError(f"{said} is no number")


def _extra(text: str | None) -> dict[str, Any]:
    from leakscope.records.errors import LeakscopeError

    try:
        found = json_module.loads(text or "{}", parse_constant=_no_number)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise LeakscopeError("--extra-body must be a JSON object.")
    return found


def _given(value: int | None, default: int) -> int:
    return default if value is None else value
