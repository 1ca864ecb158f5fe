"""What makes a training the one that it is, and what has changed where it is another."""

import json
from dataclasses import dataclass
from typing import Any

from leakscope.records.models.earlier_config import current_training
from leakscope.records.settings_changes import changes_between
from leakscope.training.mitigations.registry import title_of

_INPUTS = {
    "corpus": "another corpus",
    "lexicon": "another corpus",
    "from": "another --warm-start",
    "without": "other users left out",
    "vocabulary": "another --vocabulary-from",
}


def training_changes(
    before: dict[str, Any], now: dict[str, Any], when: tuple[str, str] = ("before", "now")
) -> list[str]:
    """Settings of two trainings that differ, in words; `when` says which value is whose."""
    old, new = (current_training(each) for each in (before, now))
    kinds = [each.get("mitigation", {}).get("kind", "none") for each in (old, new)]
    found = []
    if kinds[0] != kinds[1]:
        found = [
            f"{title_of(kind)} {said}"
            for kind, said in zip(kinds, when, strict=True)
            if kind != "none"
        ]
        old, new = ({**each, "mitigation": None} for each in (old, new))
    return found + changes_between(old, new, when)


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
        found = [_INPUTS[key] for key in keys if before.get(key) != now.get(key)]
        found += training_changes(before["settings"], now["settings"])
        # What is not told is the value of an insecure seed.
        return ", ".join(dict.fromkeys(found)) or "insecure seed"
