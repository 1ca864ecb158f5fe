"""Compiled kernels, without the interpreter's lock."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: `numba.njit` with these options. Machine code is kept for the next process,
    beside the source or in the user's cache; where neither can be written it is made again.

    What was kept is used until the kernel's own file changes, so what it calls belongs there too.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # numba finds no place to write to
            return numba.njit(nogil=True, **options)(function)

    return decorate
