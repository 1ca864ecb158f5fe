"""Where the cases of a trial are: a folder of this disk, which a real server offers as a bucket."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServedFolder:
    """A folder whose files are objects at `s3://bucket`, too, and the cache of remote files."""

    root: Path
    cache: Path

    @property
    def case(self) -> Path:
        """The folder of one case. All cases have the same, since manifests name it."""
        return self.root / "case"

    @property
    def made(self) -> Path:
        """The folder of what all cases use."""
        return self.root / "made"

    def url(self, path: Path) -> str:
        """Where a path below the folder is for those who go through the server."""
        return f"s3://bucket/{path.relative_to(self.root)}"

    def urls(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """A command with URLs instead of paths."""
        return tuple(self.url(each) if isinstance(each, Path) else each for each in arguments)

    def cached(self) -> set[str]:
        """The names of all files in the cache."""
        found = (path for path in self.cache.rglob("*") if path.is_file())
        return {str(path.relative_to(self.cache)) for path in found}

    def clear(self) -> None:
        """Remove the case and all that is known of it."""
        for folder in (self.case, self.cache):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def served(name: str) -> Iterator[ServedFolder]:
    """A place, and its server until the end of the block; whoever is forked meanwhile reaches it.
    The server is a program of its own, so that this process stays without threads.
    """
    from s3_server import S3Server

    with (
        tempfile.TemporaryDirectory(prefix=f"trial-{name}-") as folder,
        S3Server(Path(folder)) as server,
    ):
        place = ServedFolder(server.files, Path(folder) / "cache")
        told = server.environment(place.cache)
        before = {each: os.environ.get(each) for each in told}
        os.environ.update(told)
        try:
            yield place
        finally:
            for each, value in before.items():
                os.environ.pop(each) if value is None else os.environ.update({each: value})
