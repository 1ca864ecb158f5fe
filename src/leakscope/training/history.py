"""The history of a training: a line of figures for each snapshot."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from leakscope.models.evaluation import Evaluation
from leakscope.records.artifacts import parquet_sink
from leakscope.records.seal import OWN

TOP_K = (1, 3, 5)
HISTORY = "history.parquet"
HISTORY_FILES = (HISTORY, HISTORY + OWN)
Line = dict[str, Any]


def text_figures(loss: float | None, sample: Evaluation | None) -> dict[str, float | None]:
    """The figures of the training text in a line; None: they must not be told."""
    names = ("train_loss", "train_perplexity", "train_perplexity_low", "train_perplexity_high")
    if sample is None:
        return dict.fromkeys(names)
    found = (loss, sample.perplexity, sample.low, sample.high)
    return dict(zip(names, found, strict=True))


def validation_figures(validation: Evaluation) -> dict[str, float | None]:
    """The figures of the validation documents in a line."""
    accuracy = {f"validation_top{k}": validation.accuracy.get(k) for k in TOP_K}
    return {"validation_perplexity": validation.perplexity, **accuracy}


def describe(line: Line, validation: Evaluation) -> str:
    """A line of the history in words."""
    if validation.perplexity is None:
        why = "the loss is beyond any number" if validation.words else "no validation documents"
        return f"epoch {line['epoch']:.2f}: {why}"
    return (
        f"epoch {line['epoch']:.2f}: validation perplexity {validation.perplexity:.2f}, "
        f"top-1 accuracy {100 * validation.accuracy[1]:.2f}%"
    )


def write_history(out: Path, history: list[Line]) -> None:
    """Write `history.parquet`. It grows until the model is there, so it has a seal of its own."""
    integer = {"step": pa.int64()}
    schema = pa.schema([(name, integer.get(name, pa.float64())) for name in history[0]])
    with parquet_sink(out / HISTORY, schema, sealed=True) as writer:
        writer.write_table(pa.Table.from_pylist(history, schema))
