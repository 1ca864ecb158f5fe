"""How much memory is meant by a text such as 2GB."""

import re

from leakscope.records.errors import LeakscopeError

_UNITS = {"MB": 10**6, "GB": 10**9, "MIB": 1 << 20, "GIB": 1 << 30}
_LEAST = 10**9


def memory_bytes(text: str) -> int:
    """In bytes; at least a gigabyte."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([MG]I?B)", text.strip().upper())
    if found is None:
        raise LeakscopeError("--memory is a size such as 2GB or 1500MB.")
    size = int(float(found[1]) * _UNITS[found[2]])
    if size < _LEAST:
        raise LeakscopeError("--memory must be at least 1GB.")
    return size
