"""Settings that have changed, in words: for errors that refuse to go on with others."""

from typing import Any

_OPTIONS = {"rate": "sampling rate", "method": "clipping", "insecure": "insecure seed"}
"""Settings that the command line calls otherwise."""


def changes_between(
    before: dict[str, Any], now: dict[str, Any], when: tuple[str, str] = ("before", "now")
) -> list[str]:
    """Settings that differ, each with both values, by their names for people. Nested settings are
    compared one by one. `when` says which value is whose.
    """
    before, now = _flat(before), _flat(now)
    return [
        f"{_named(name)} {_plain(before.get(name))} {when[0]}, {_plain(now.get(name))} {when[1]}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]


def _flat(nested: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        inner = _flat(value) if isinstance(value, dict) else None
        flat |= {key: value} if inner is None else {f"{key}.{name}": x for name, x in inner.items()}
    return flat


def _named(name: str) -> str:
    last = name.rpartition(".")[2]
    return _OPTIONS.get(last, last.replace("_", " "))


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(each) for each in value) or "none"
    return "none" if value is None else str(value)
