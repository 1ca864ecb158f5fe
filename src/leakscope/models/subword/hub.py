"""Models of the Hugging Face hub, by name: found in the local cache, or fetched into it.

Only what leakscope reads is fetched: safetensors, configurations and tokenizers; no pickles and no
code. Where the cache is, and with what token the hub is asked, `huggingface_hub` knows itself
(`HF_HOME`, `HF_TOKEN`, `HF_HUB_OFFLINE`).
"""

import re
from importlib.util import find_spec
from pathlib import Path

from leakscope.records.errors import LeakscopeError
from leakscope.records.received_files import refuse_special_files

FILES = ["*.safetensors", "*.json", "*.jinja", "merges.txt", "vocab.txt", "tokenizer.model"]
NOT = ["*/*", "consolidated*"]
"""Folders hold other formats; `consolidated` are the same weights once more."""
_NAME = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(@(?P<revision>[\w./-]+))?")
_CACHED = re.compile(r"models--(?P<owner>.+?)--(?P<name>.+)")


def is_hub_name(path: Path) -> bool:
    """Whether a path that is not there is a name such as owner/model or owner/model@revision. If
    its folder is there, it is rather a mistyped path, which is nobody else's business.
    """
    parent = Path(path.parts[0]) if path.parts else path
    return (
        not path.exists()
        and not parent.exists()
        and path.suffix.lower() != ".gguf"
        and _NAME.fullmatch(path.as_posix()) is not None
    )


def find_model(path: Path) -> Path:
    """Where a model is: at `path`, or where the hub's cache has the model of that name, after it
    was fetched if the hub can be reached.
    """
    if not is_hub_name(path):
        refuse_special_files(path)
        return path
    if find_spec("huggingface_hub") is None:
        raise LeakscopeError(
            f"{path} is not on this machine, and a model of the hub needs the package "
            "huggingface_hub; pip install 'leakscope[huggingface]'."
        )
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import (  # noqa: PLC0415
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    asked = _NAME.fullmatch(path.as_posix())
    name, revision = (path.as_posix(), None) if asked is None else asked.group("name", "revision")
    try:
        found = snapshot_download(
            name, revision=revision, allow_patterns=FILES, ignore_patterns=NOT
        )
    except (RepositoryNotFoundError, RevisionNotFoundError):
        raise LeakscopeError(
            f"There is no model {path} on this machine, and none on the hub that HF_TOKEN may "
            "read; check the name."
        ) from None
    except Exception:  # the hub's errors, those of the network, and the disk's are of many kinds
        raise LeakscopeError(
            f"There is no model {path} on this machine or whole in the hub's cache, and it could "
            "not be fetched; give a directory, or see that the hub can be reached."
        ) from None
    return Path(str(found))


def origin_of(path: Path) -> dict[str, str] | None:
    """The name and commit of a model in the hub's cache; None for any other path."""
    known = _CACHED.fullmatch(path.parent.parent.name)
    if known is None or path.parent.name != "snapshots":
        return None
    return {"name": f"{known['owner']}/{known['name']}", "commit": path.name}
