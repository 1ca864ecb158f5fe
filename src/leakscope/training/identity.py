"""What makes a training the one that it is, and what has changed where it is another."""

import json
from dataclasses import dataclass
from typing import Any

_PARTS = {
    "corpus": "another corpus",
    "lexicon": "another corpus",
    "from": "another --warm-start",
    "without": "other users left out",
    "vocabulary": "another --vocabulary-from",
}
_OPTIONS = {"rate": "sampling rate", "method": "clipping", "insecure": "insecure seed"}
"""Settings that the command line calls otherwise."""


@dataclass(frozen=True)
class Identity:
    """All that a training must be resumed with."""

    digest: str
    """Of all of it; two trainings with the same are the same."""
    shareable: dict[str, Any]
    """The same as plain data, as far as it may be told."""

    def changes(self, before: dict[str, Any]) -> str:
        """What is not as it was `before` (the `shareable` of another), in words."""
        now = json.loads(json.dumps(self.shareable))
        keys = [key for key in {**before, **now} if key != "settings"]
        found = [_PARTS[key] for key in keys if before.get(key) != now.get(key)]
        old, new = before["settings"], now["settings"]
        if ("privacy" in old) != ("privacy" in new):
            found.append(f"differential privacy {'before' if 'privacy' in old else 'now'}")
            old, new = ({**each, "privacy": None} for each in (old, new))
        found += compared(_flat(old), _flat(new))
        # What is not told is the value of an insecure seed.
        return ", ".join(dict.fromkeys(found)) or "insecure seed"


def compared(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Settings that differ, each with both values, by their names for people."""
    return [
        f"{_named(name)} {_plain(before.get(name))} before, {_plain(now.get(name))} now"
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
