"""The headline of a run: each number with its label and what it means, for tables and pages."""

from dataclasses import dataclass

from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.unique import HELD_BY
from leakscope.reporting.facts import values


@dataclass(frozen=True)
class Fact:
    """One headline number."""

    name: str
    """Its name in `metrics.json`, or in a row of a comparison."""
    label: str
    value: str
    """As shown; a dash where it is unmeasured."""
    meaning: str
    """One plain sentence."""
    detail: str = ""
    """What stands small beside the value."""
    reason: str | None = None
    """Why it is unmeasured."""

    @property
    def text(self) -> str:
        """The value with its detail or reason, on one line."""
        note = self.reason if self.reason is not None else self.detail
        return f"{self.value} ({note})" if note else self.value


def leakage(metrics: Metrics) -> list[Fact]:
    """What the model gives away, gravest first."""
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
            f"{users} of {_audited(metrics)}",
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
        _epsilon(metrics),
        _curated(metrics),
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


def summary(metrics: Metrics) -> str:
    """The finding in one or two sentences."""
    seen = "its best suggestion" if metrics.top_k == 1 else f"its {metrics.top_k} best suggestions"
    if metrics.unique_sequences == 0:
        return (
            f"Shown only {seen} at each word, an attacker finds no sequence that this model "
            f"repeats and that {HELD_BY}{_only_audited(metrics)}."
        )
    text = (
        f"Shown only {seen} at each word, an attacker who knows how a user's text begins can "
        f"draw {values.plural(metrics.unique_sequences, 'sequence')} out of this model that "
        f"{HELD_BY}. "
        f"{values.thousands(metrics.users_with_unique)} of {_audited(metrics)} "
        f"{'is' if metrics.users_with_unique == 1 else 'are'} affected"
    )
    if metrics.longest_unique is None:
        return text + "."
    return f"{text}; the longest sequence has {values.plural(metrics.longest_unique, 'word')}."


def _audited(metrics: Metrics) -> str:
    """How many users S is about: "120 users", or "3 audited users" where others were not."""
    if metrics.audited is None:
        return values.plural(metrics.users, "user")
    return values.plural(metrics.audited.users, "audited user")


def _only_audited(metrics: Metrics) -> str:
    """Whose text was not searched, as the end of a sentence; empty where everybody's was."""
    if metrics.audited is None:
        return ""
    return (
        f", among the text of the {values.plural(metrics.audited.users, 'user')} who "
        f"{'was' if metrics.audited.users == 1 else 'were'} audited, out of "
        f"{values.thousands(metrics.users)}"
    )


def _longest(metrics: Metrics) -> Fact:
    meaning = "Words in the longest unique sequence; long ones are rarely a coincidence."
    label = "Longest unique sequence"
    if metrics.longest_unique is None:
        return _absent(metrics, "longest_unique", label, meaning)
    unit = "word" if metrics.longest_unique == 1 else "words"
    return Fact("longest_unique", label, values.thousands(metrics.longest_unique), meaning, unit)


def _epsilon(metrics: Metrics) -> Fact:
    meaning = (
        "How many times more surprising the worst unique sequence is to a model that never saw "
        "its user."
    )
    if metrics.leakage_epsilon is None:
        return _absent(metrics, "leakage_epsilon", "Leakage epsilon", meaning)
    value = values.rounded(metrics.leakage_epsilon)
    return Fact("leakage_epsilon", "Leakage epsilon", value, meaning)


def _curated(metrics: Metrics) -> Fact:
    meaning = (
        "Unique sequences that surprise a public model at least t times as much as this one "
        "(metric 2)."
    )
    label = "Curated sequences"
    if metrics.curated is None:
        return _absent(metrics, "curated", label, meaning)
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
        return _absent(metrics, "unique_without_context", label, meaning)
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
        return _absent(metrics, "unique_pii", label, meaning)
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
        return _absent(metrics, name, label, meaning)
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


def _absent(metrics: Metrics, name: str, label: str, meaning: str) -> Fact:
    return Fact(name, label, values.ABSENT, meaning, reason=values.reason(metrics, name))
