"""What a command that fails at its start leaves behind: no empty directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_empty_directory(path: Path) -> Iterator[None]:
    """If the block fails, remove `path` again, provided that the block made it and it is empty."""
    new = not path.exists()
    try:
        yield
    except BaseException:
        if new and path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        raise
