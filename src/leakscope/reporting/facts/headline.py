"""The headline of a run: each number with its label and what it means, for tables and pages."""

from collections.abc import Mapping

from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.unique import HELD_BY
from leakscope.reporting.facts import chance_facts, values
from leakscope.reporting.facts.fact import Fact, absent
from leakscope.reporting.facts.run_summary import audited_users


def leakage(metrics: Metrics, named: Mapping[int, str] | None = None) -> list[Fact]:
    """What the model gives away, gravest first. `named`: the words of sequences that set an
    epsilon, by their ids, if they may be told.
    """
    named = named or {}
    users = values.share(metrics.users_with_unique, metrics.asked.users)
    return [
        Fact(
            "unique_sequences",
            "Unique sequences",
            values.thousands(metrics.unique_sequences),
            f"Word sequences that the model predicts correctly and that {HELD_BY} in the training "
            "data.",
            "metric 1",
        ),
        Fact(
            "users_with_unique",
            "Users with unique sequences",
            values.thousands(metrics.users_with_unique),
            "Users with at least one unique sequence that the model repeats.",
            f"{users} of {audited_users(metrics)}",
        ),
        _longest(metrics),
        Fact(
            "unique_not_copied",
            "Not copied from context",
            values.thousands(metrics.unique_not_copied),
            "Unique sequences that were not already in every context before them: they come from "
            "memory, not from repeating the prompt.",
            f"of {metrics.unique_sequences:,} unique",
        ),
        chance_facts.confirmed(metrics),
        chance_facts.chance(metrics),
        chance_facts.epsilon(metrics, named),
        *chance_facts.confirmed_epsilon(metrics, named),
        _curated(metrics),
        *chance_facts.public_predicts(metrics),
        _nothing_needed(metrics),
        _personal(metrics),
        *_elsewhere(metrics),
    ]


def extent(metrics: Metrics) -> list[Fact]:
    """How much the model predicts correctly at all."""
    return [
        Fact(
            "correct_words",
            "Correct words",
            values.thousands(metrics.correct_words),
            "Training words that the model had among its suggestions.",
            f"{values.share(metrics.correct_words, metrics.asked.words)} "
            f"of {values.plural(metrics.asked.words, 'word')}",
        ),
        Fact(
            "occurrences",
            "Correct runs, |S|",
            values.thousands(metrics.occurrences),
            "Maximal runs of correct words in the training documents, counted each time.",
        ),
        Fact(
            "sequences",
            "Distinct sequences",
            values.thousands(metrics.sequences),
            "Different word sequences among these runs, whoever wrote them.",
        ),
        Fact(
            "near_ties",
            "Near ties",
            values.thousands(metrics.near_ties),
            "Predictions that are too close to call in 32-bit arithmetic, decided in 64-bit.",
        ),
    ]


def quality(metrics: Metrics) -> list[Fact]:
    """How good the model is, as leakage must be weighed against use."""
    low, high = metrics.train_perplexity_low, metrics.train_perplexity_high
    interval = (
        f"95 % interval {values.rounded(low)} to {values.rounded(high)}"
        if low is not None and high is not None
        else ""
    )
    return [
        _perplexity(
            metrics,
            "train_perplexity",
            "Train perplexity",
            "How surprised the model is by a word of its training data; lower is better.",
            interval,
        ),
        _perplexity(
            metrics,
            "validation_perplexity",
            "Validation perplexity",
            "How surprised it is by text it never saw. If this is far above the train perplexity, "
            "the model overfits.",
        ),
        _accuracy(metrics),
    ]


def _longest(metrics: Metrics) -> Fact:
    meaning = "Words in the longest unique sequence; long ones are rarely a coincidence."
    label = "Longest unique sequence"
    if metrics.longest_unique is None:
        return absent(metrics, "longest_unique", label, meaning)
    unit = "word" if metrics.longest_unique == 1 else "words"
    return Fact("longest_unique", label, values.thousands(metrics.longest_unique), meaning, unit)


def _curated(metrics: Metrics) -> Fact:
    meaning = (
        "Unique sequences that surprise a public model at least t times as much as this one "
        "(metric 2)."
    )
    label = "Curated sequences"
    if metrics.curated is None:
        return absent(metrics, "curated", label, meaning)
    if not metrics.curated:
        return Fact("curated", label, values.ABSENT, meaning, reason="no threshold t was asked for")
    steps = sorted(metrics.curated.items(), key=lambda item: float(item[0]))
    (first, number), rest = steps[0], steps[1:]
    others = "".join(f"; t ≥ {t}: {values.thousands(more)}" for t, more in rest)
    return Fact("curated", label, values.thousands(number), meaning, f"t ≥ {first}{others}")


def _nothing_needed(metrics: Metrics) -> Fact:
    meaning = "Unique sequences that the model produces with no context at all."
    label = "Without any context"
    if metrics.unique_without_context is None:
        return absent(metrics, "unique_without_context", label, meaning)
    detail = f"of {values.thousands(metrics.least_context_measured or 0)} examined"
    value = values.thousands(metrics.unique_without_context)
    return Fact("unique_without_context", label, value, meaning, detail)


def _personal(metrics: Metrics) -> Fact:
    meaning = (
        "Unique sequences with words of something that looks like an e-mail address, a phone, card "
        "or account number, a postal address, a URL or an IP address."
    )
    label = "Looks like personal data"
    if metrics.unique_pii is None or metrics.unique_with_pii is None:
        return absent(metrics, "unique_pii", label, meaning)
    kinds = ", ".join(f"{kind}: {values.thousands(n)}" for kind, n in metrics.unique_pii.items())
    return Fact("unique_pii", label, values.thousands(metrics.unique_with_pii), meaning, kinds)


def _elsewhere(metrics: Metrics) -> list[Fact]:
    """Only where it was asked for."""
    if metrics.elsewhere is None:
        return []
    out = sum(kind["out"] for kind in metrics.elsewhere.values())
    tried = sum(kind["tried"] for kind in metrics.elsewhere.values())
    detail = ", ".join(
        f"{name}: {values.thousands(kind['out'])} of {values.thousands(kind['tried'])}"
        for name, kind in metrics.elsewhere.items()
    )
    meaning = (
        "Prompts that never preceded these words in training (a shortened or reworded context, "
        "another user's text) and brought a unique sequence out all the same."
    )
    share = f"{values.thousands(out)} of {values.thousands(tried)}"
    return [Fact("elsewhere", "Outside the training contexts", share, meaning, detail)]


def _perplexity(metrics: Metrics, name: str, label: str, meaning: str, detail: str = "") -> Fact:
    value: float | None = getattr(metrics, name)
    if value is None:
        return absent(metrics, name, label, meaning)
    return Fact(name, label, values.rounded(value), meaning, detail)


def _accuracy(metrics: Metrics) -> Fact:
    label = f"Validation accuracy, top-{metrics.top_k}"
    meaning = "How often the next word of unseen text is among the suggestions."
    found = values.accuracy(metrics)
    known = metrics.validation_accuracy or {}
    others = ", ".join(
        f"top-{k}: {100 * part:.1f} %" for k, part in sorted(known.items()) if k != metrics.top_k
    )
    if found.value is None:
        return Fact("validation_accuracy", label, values.ABSENT, meaning, others, found.reason)
    return Fact("validation_accuracy", label, f"{100 * found.value:.1f} %", meaning, others)
