"""Work that is killed when one of its files takes its place."""

import os
import signal
from collections.abc import Callable
from typing import Any


def ended(work: Callable[[], Any]) -> bool:
    """Run the work in a forked process; whether it came to its end and was not killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return not os.WIFSIGNALED(status)


def killed_at(call: int, work: Callable[[], Any]) -> bool:
    """Whether the work, in a process of its own, came to the `call`-th such moment, and was killed
    there.
    """

    def doomed_work() -> None:
        left, rename = [call], os.replace

        def doomed(*given: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(*given, **options)

        os.replace = doomed
        work()

    return not ended(doomed_work)


def replacements(work: Callable[[], Any]) -> int:
    """How many such moments the work has; it is done here."""
    count, rename = [0], os.replace

    def counted(*given: Any, **options: Any) -> Any:
        count[0] += 1
        return rename(*given, **options)

    os.replace = counted
    try:
        work()
    finally:
        os.replace = rename
    return count[0]
