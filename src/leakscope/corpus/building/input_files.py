"""What a corpus was made from, by name and digest."""

import hashlib
from pathlib import Path

from leakscope.corpus.manifest import InputFile
from leakscope.corpus.readers.detect import detect
from leakscope.corpus.readers.received_repository import received_repository
from leakscope.records.artifacts import digest_of_file
from leakscope.records.errors import LeakscopeError
from leakscope.records.received_files import real_path


def describe(path: Path, format: str | None) -> InputFile:
    """What the manifest says about one input. Raise if the input does not exist: check the path."""
    if not path.exists():
        raise LeakscopeError(f"{path} does not exist: check the path.")
    if not path.is_file() and not path.is_dir():
        raise LeakscopeError(f"{path} is neither a file nor a folder; save the data to a file.")
    format = format or detect(path)
    if format == "git":
        head = received_repository(path).head
        return InputFile(name=path.name, format=format, digest=head)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _is_inside(file, real_path(path)))
        listing = "\n".join(f"{file.relative_to(path)} {digest_of_file(file)}" for file in files)
        digest = hashlib.blake2b(listing.encode(errors="replace"), digest_size=16).hexdigest()
        return InputFile(name=path.name, format=format, digest=digest)
    return InputFile(name=path.name, format=format, digest=digest_of_file(path))


def _is_inside(file: Path, root: Path) -> bool:
    """Tell whether it is a file of the folder, and not a link that leads out of it."""
    return file.is_file() and real_path(file).is_relative_to(root)
