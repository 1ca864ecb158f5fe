"""How numbers, and their absence, are written for people."""

import math
import unicodedata
from decimal import ROUND_CEILING, Context, Decimal

from leakscope.records.measured import Measured
from leakscope.records.runs.run_metrics import Metrics

ABSENT = "–"
UNEXPLAINED = "not measured"


def thousands(value: int) -> str:
    """A whole number with thousands set apart."""
    return f"{value:,}"


def share(part: int, whole: int) -> str:
    """`part` of `whole` as a percentage; absent when there is no whole.

    Some is never rounded to none, nor most to all.
    """
    if not whole:
        return ABSENT
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    return f"{min(percent, 99.9) if part < whole else percent:.1f} %"


def rounded(value: float) -> str:
    """A perplexity or a ratio: three or more digits that matter, never rounded to nothing."""
    if 1e6 <= value < math.inf:
        return power(value)
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def figure(value: float) -> str:
    """A number of any kind, such as that of a gate, in six digits."""
    return power(value, 6) if 1e6 <= abs(value) < math.inf else f"{value:,.6g}"


def power(value: float, places: int = 3) -> str:
    """A great number in so many digits and a power of ten."""
    digits, exponent = f"{value:.{places - 1}e}".split("e")
    return f"{digits} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def small(value: float) -> str:
    """A rate: two digits that matter."""
    return f"{value:.2g}"


def bound(value: float) -> str:
    """An upper bound, such as a DP epsilon or delta: rounded up and never down, to two places after
    the point or, below 1, to three digits that matter.
    """
    exact = Decimal(repr(value))  # the digits that were given: 0.001 is not a little above itself
    if value < 1:
        return f"{float(_THREE_UP.create_decimal(exact)):.3g}"
    if value >= 1000:
        return thousands(math.ceil(value))
    return str(exact.quantize(Decimal("0.01"), ROUND_CEILING))


def plural(value: int, noun: str) -> str:
    """`1 user`, `2 users`."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def reason(metrics: Metrics, name: str) -> str:
    """Why the metric `name` is null."""
    return metrics.reasons.get(name, UNEXPLAINED)


def absent(metrics: Metrics, name: str) -> str:
    """What stands in the place of a null metric: a dash and why, never a zero."""
    return f"{ABSENT} ({reason(metrics, name)})"


def accuracy(metrics: Metrics) -> Measured[float]:
    """The validation accuracy at the run's own top k."""
    if metrics.validation_accuracy is None:
        return Measured.absent(reason(metrics, "validation_accuracy"))
    value = metrics.validation_accuracy.get(metrics.top_k)
    return Measured.of(value, f"not measured at top-{metrics.top_k}")


def printable(text: str) -> str:
    """`text` with control and direction-changing characters spelled out, so that training text
    can neither steer a terminal nor reorder what stands around it.
    """
    return "".join(
        _spelled_out(char)
        if unicodedata.category(char) in _UNSAFE and char not in _JOINERS
        else char
        for char in text
    )


def _spelled_out(char: str) -> str:
    """As JSON writes it, so that JSON with it spelled out says the same."""
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_THREE_UP = Context(prec=3, rounding=ROUND_CEILING)
_UNSAFE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"  # Persian, Hindi and emoji need them; they steer nothing
