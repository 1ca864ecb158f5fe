"""Followers that fail in many ways; here, so that their own processes find them."""

import os
import time
from dataclasses import dataclass

from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class Failing:
    """Followers of which the last fails in step 1, in a certain way."""

    how: str

    def start(self, ranks):
        if self.how == "start":
            raise LeakscopeError("Nothing can be started.")
        return FailingSteps(self.how, ranks)


class FailingSteps:
    def __init__(self, how, ranks):
        self.how, self.ranks = how, ranks

    def take(self, step):
        last = self.ranks._rank == self.ranks._size - 1
        if step == 1 and last:
            if self.how == "refuse":
                raise LeakscopeError("A sentence of its own.")
            if self.how == "crash":
                raise ZeroDivisionError("a mistake")
            if self.how == "die":
                os._exit(9)
            if self.how == "sleep":
                time.sleep(60)
        self.ranks.total(1.0)

    def digest(self):
        return b"mine" if self.how == "drift" else b"same"
