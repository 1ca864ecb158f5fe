"""PEFT adapters: finding their base model, and merging them into it."""

import filecmp
import json
import warnings
from pathlib import Path
from typing import Any

from safetensors import safe_open

from leakscope.models.subword.files.deciding_files import ADAPTER, ADAPTER_WEIGHTS, adapter_files
from leakscope.models.subword.files.named_code import refuse_named_code
from leakscope.models.subword.soundness import check_finite
from leakscope.records.artifacts import damaged
from leakscope.records.errors import LeakscopeError


def base_of(path: Path, given: Path | None) -> Path:
    """The base model of an adapter: the one given, else the one that it names, if that is here.
    If both are, they must hold the same weights.
    """
    named = _named(path)
    if given is None and named is None:
        raise LeakscopeError(
            f"The base model of the adapter {path} is not on this machine; give it by --base."
        )
    if given is not None and named is not None and not _same_weights(given, named):
        raise LeakscopeError(
            f"The adapter {path} was trained on another base model, {named}; name that one."
        )
    return given or named or path


def adapted(path: Path, network: Any) -> Any:
    """The network with an adapter merged into its weights; none of its tensors may be left over
    or missing.
    """
    from peft import PeftModel  # noqa: PLC0415

    adapter_files(path)  # refuses pickles and what is elsewhere
    refuse_named_code(path / ADAPTER)
    before = set(network.state_dict())
    try:
        with safe_open(path / ADAPTER_WEIGHTS, framework="pt") as file:
            saved = set(file.keys())
    except Exception:  # safetensors has errors of its own and passes on the system's
        raise damaged(path / ADAPTER_WEIGHTS) from None
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = PeftModel.from_pretrained(network, str(path), local_files_only=True)
    except Exception:  # PEFT raises what its parts raise: KeyError, ValueError, RuntimeError
        raise _misfit(path) from None
    missing = any("missing adapter keys" in str(warning.message) for warning in told)
    if missing or _left_over(found, saved, before):
        raise _misfit(path)
    check_finite(found, str(path))
    if not hasattr(found.base_model, "merge_and_unload"):
        raise LeakscopeError(
            f"The adapter {path} does not change weights; only kinds that can be merged, such as "
            "LoRA, are supported."
        )
    return found.merge_and_unload()


def _misfit(path: Path) -> LeakscopeError:
    return LeakscopeError(
        f"The adapter {path} does not fit its base model; name the one that it was trained on."
    )


def _left_over(found: Any, saved: set[str], before: set[str]) -> set[str]:
    """Tensors of the adapter's file that went nowhere: its base had more layers."""
    from peft import get_peft_model_state_dict  # noqa: PLC0415

    used = set(get_peft_model_state_dict(found, save_embedding_layers=False))
    whole = {f"base_model.model.{name}" for name in before}
    return saved - used - whole


def _named(path: Path) -> Path | None:
    """The base model that an adapter names, if it is on this machine."""
    try:
        named = json.loads((path / ADAPTER).read_bytes()).get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError, RecursionError):
        raise damaged(path / ADAPTER) from None
    if not isinstance(named, str) or not named:
        return None
    return next((found for found in (Path(named), path / named) if found.exists()), None)


def _same_weights(one: Path, other: Path) -> bool:
    """Whether two models are the same files. What cannot be compared so, such as a GGUF file
    against a directory, passes: their shapes are compared when the adapter is merged.
    """
    if one.resolve() == other.resolve() or not (one.is_dir() and other.is_dir()):
        return True
    mine, theirs = ({file.name for file in path.glob("*.safetensors")} for path in (one, other))
    if not mine or not theirs:
        return True
    _, differing, failed = filecmp.cmpfiles(one, other, mine | theirs, shallow=False)
    return not differing and not failed
