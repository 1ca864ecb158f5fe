"""What tests of remote storage share: settings of small artifacts, and their files."""

import json
from pathlib import Path
from typing import Any

import whole_run

SHAPE = {**whole_run.SHAPE, "epochs": 2, "threads": 1}
ASKED = {"top_k": 2, "threads": 1, "reveal": True}


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of all files below a folder, by their names."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def put(files: dict[str, bytes], folder: Path) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _without_seconds(record: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in record.items() if name != "seconds"}


def comparable(files: dict[str, bytes]) -> dict[str, object]:
    """Files of an artifact without the paths and times that they tell, and digests of these."""
    found: dict[str, Any] = {name: files[name] for name in files if "seal" not in name}
    for name, content in files.items():
        if name.endswith(".json"):
            found[name] = json.loads(content, object_hook=_without_seconds)
            if name == "manifest.json" and "options" in found[name]:
                found[name]["options"] = sorted(found[name]["options"])
    found.pop("history.parquet", None)  # how long each part took
    return found
