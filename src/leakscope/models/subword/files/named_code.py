"""Files of a model that name code: a module to import, a kernel to fetch from a hub.

Code in the model's own directory is refused by transformers (`trust_remote_code` is off); these
are taken from elsewhere, whether or not that is on.
"""

import json
from pathlib import Path
from typing import Any

from leakscope.records.errors import LeakscopeError


def refuse_named_code(file: Path) -> None:
    """Raise if a config.json or adapter_config.json names code; one that cannot be read is left
    to those who read it next.
    """
    try:
        due: list[Any] = [json.loads(file.read_bytes())]
    except (OSError, ValueError, RecursionError):
        return
    while due:
        value = due.pop()
        if isinstance(value, dict):
            if any(_names_code(name, said) for name, said in value.items()):
                raise LeakscopeError(
                    f"{file} names code that would be imported or fetched, which leakscope does "
                    "not run; take that entry out if you trust the rest."
                )
            due += value.values()
        elif isinstance(value, list):
            due += value


def _names_code(name: str, said: Any) -> bool:
    if name == "megatron_config":  # PEFT imports the module that megatron_core names
        return bool(said)
    if not name.endswith(("attn_implementation", "experts_implementation")):
        return False
    values = said.values() if isinstance(said, dict) else [said]
    return any("/" in str(value) for value in values)  # transformers fetches such a kernel
