"""What tests of remote storage share: settings of small artifacts, and their files."""

from pathlib import Path

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
