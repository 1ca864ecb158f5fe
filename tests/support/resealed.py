"""Directories that somebody has changed and sealed again, as whoever can write files can."""

from pathlib import Path

from leakscope.records.artifacts import read_seal, seal_files
from leakscope.records.seal import SEAL


def reseal(folder: Path) -> None:
    """Put the files of a directory into its seal as they are now."""
    known = read_seal(folder / SEAL) or {}
    seal_files(folder, [name for name in known if (folder / name).exists()])
