"""The columns of `sequences.parquet`, and how each is shown."""

import pyarrow as pa

from leakscope.records.columns import EVERYWHERE, PAGE, Column, Display, schema_of

COLUMNS: tuple[Column, ...] = (
    Column("id", pa.int32(), "the number that `occurrences.parquet` knows the sequence by"),
    Column(
        "sequence",
        pa.list_(pa.string()),
        "its words",
        withheld=True,
        display=Display("Sequence", "words", EVERYWHERE),
    ),
    Column(
        "length", pa.int32(), "how many words it has", display=Display("Words", "count", EVERYWHERE)
    ),
    Column(
        "total_in_s",
        pa.int64(),
        "occurrences in S, the correct predictions",
        display=Display("Total in\u00a0S", "count", short="In S", hint="how often it came out"),
    ),
    Column(
        "users_in_s",
        pa.int32(),
        "distinct users among these",
        display=Display("Users in\u00a0S", "count", PAGE, hint="for how many users it came out"),
    ),
    Column(
        "total_in_d",
        pa.int64(),
        "occurrences in D, the training data, predicted or not",
        display=Display(
            "Total in\u00a0D", "count", short="In D", hint="how often the training data has it"
        ),
    ),
    Column(
        "users_in_d",
        pa.int32(),
        "distinct users who have it in D",
        display=Display("Users in\u00a0D", "count", PAGE, hint="how many users have it"),
    ),
    Column(
        "contexts",
        pa.list_(pa.list_(pa.string())),
        "the words before it, a list for each listed occurrence",
        withheld=True,
        by_occurrence=True,
    ),
    Column(
        "context_lengths",
        pa.list_(pa.int32()),
        "words in the whole context of each listed occurrence",
        by_occurrence=True,
        display=Display(
            "Shortest context",
            "shortest",
            PAGE,
            hint="words in the shortest context that it came out of",
            rising=True,
        ),
    ),
    Column(
        "perplexities",
        pa.list_(pa.float32()),
        "perplexity of each listed occurrence",
        by_occurrence=True,
    ),
    Column(
        "lowest_perplexity",
        pa.float32(),
        "the smallest perplexity of all its occurrences",
        display=Display(
            "Perplexity", "number", hint="where the model is surest of it", rising=True
        ),
    ),
    Column(
        "public_perplexities",
        pa.list_(pa.float32()),
        "the public model's perplexity of each listed occurrence",
        unique_only=True,
        by_occurrence=True,
    ),
    Column(
        "ratio",
        pa.float32(),
        "the largest perplexity ratio of its occurrences, public model over this one",
        unique_only=True,
        display=Display(
            "Ratio",
            "number",
            EVERYWHERE,
            hint="how many times more surprising it is to the public model",
            optional=True,
        ),
    ),
    Column(
        "q_value",
        pa.float64(),
        "the least false discovery rate at which it belongs to the list",
        unique_only=True,
        display=Display(
            "q",
            "rate",
            EVERYWHERE,
            hint="the share of chance in the shortest list that has it",
            rising=True,
            optional=True,
        ),
    ),
    Column(
        "public_predicts",
        pa.bool_(),
        "whether the public model predicts it in a place where this one does",
        unique_only=True,
        display=Display("public too", "mark"),
    ),
    Column(
        "copied_from_context",
        pa.bool_(),
        "whether it stood in every one of its contexts already",
        display=Display("copied", "mark"),
    ),
    Column(
        "near_tie",
        pa.bool_(),
        "whether a prediction was too close for 32-bit arithmetic",
        display=Display("near tie", "mark", PAGE),
    ),
    Column(
        "least_context",
        pa.int32(),
        "words of the shortest prompt that still brings it out",
        unique_only=True,
        display=Display(
            "Least context",
            "bound",
            EVERYWHERE,
            hint="words of the shortest prompt that still brings it out",
            rising=True,
            optional=True,
            exact="least_context_exact",
            instead="context_lengths",
        ),
    ),
    Column(
        "least_context_exact",
        pa.bool_(),
        "whether every shorter prompt was tried; if not, `least_context` is an upper bound",
        unique_only=True,
    ),
    Column(
        "elsewhere_tried",
        pa.int32(),
        "prompts outside of its training contexts that were tried",
        unique_only=True,
    ),
    Column("elsewhere_out", pa.int32(), "those of them that brought it out", unique_only=True),
    Column(
        "pii",
        pa.list_(pa.string()),
        "kinds of personal data that it looks like",
        unique_only=True,
        display=Display("Looks like", "kinds", EVERYWHERE),
    ),
)
"""The lists of a row are aligned and hold at most the run's `contexts` setting, shortest context
first; `occurrences.parquet` has all occurrences."""


def sequences_schema() -> pa.Schema:
    """The Arrow schema of `sequences.parquet`."""
    return schema_of(COLUMNS)
