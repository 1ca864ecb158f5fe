"""The gate of `canary bound`: a comparison of the bound with the claim, or with a number."""

import re
from dataclasses import dataclass

from leakscope.auditing.gating.conditions import NUMBER, finite
from leakscope.records.canaries.bound_record import BoundReport
from leakscope.records.errors import LeakscopeError

_FORM = re.compile(rf"\s*epsilon_lower\s*>\s*(claimed|{NUMBER})\s*")


@dataclass(frozen=True)
class BoundGate:
    """`epsilon_lower>claimed`, or `epsilon_lower>` a number."""

    text: str
    limit: float | None
    """None: the claim."""

    @staticmethod
    def parse(text: str) -> "BoundGate":
        """Read a gate."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise LeakscopeError(
                f"'{text}' is not a gate: write 'epsilon_lower>claimed', or a number in place of "
                "claimed."
            )
        return BoundGate(text, None if found[1] == "claimed" else finite(text, found[1]))

    def holds(self, report: BoundReport) -> bool:
        """Whether the bound is on the failing side; without a claim there is nothing to compare."""
        limit = report.claimed if self.limit is None else self.limit
        if limit is None:
            raise LeakscopeError(
                f"The gate '{self.text}' cannot be checked: the model claims no epsilon; give "
                "--claimed."
            )
        return report.epsilon_lower > limit
