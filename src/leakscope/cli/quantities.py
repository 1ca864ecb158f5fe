"""Times and sizes, as people say them."""

MINUTE, HOUR, DAY = 60, 3600, 86_400


def duration(seconds: float) -> str:
    """In the one or two units that matter."""
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def size(count: int) -> str:
    """Bytes, in two digits or more."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{count} bytes" if unit == "bytes" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB" if value < 1000 else f"{value:,.0f} TB"
