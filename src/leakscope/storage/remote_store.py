"""Files at a URL: listed, read, written and removed, through pyarrow's file systems or fsspec's."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leakscope.records.errors import LeakscopeError
from leakscope.records.seal import is_inside
from leakscope.storage.bucket_file_systems import BUCKETS, google, s3
from leakscope.storage.remote_address import RemoteAddress
from leakscope.storage.store_errors import no_bucket, told_of, unknown_scheme

_BLOCK = 8 << 20  # bytes that are read or written at once


@dataclass(frozen=True)
class RemoteFile:
    """What a listing says of one file."""

    size: int
    changed: int | None
    """When it was last written, in whole seconds of the server's clock; None: it does not say."""


class RemoteStore:
    """The files at a URL: one file, whose name is empty, or all of those below it."""

    def __init__(self, address: RemoteAddress) -> None:
        self.address = address

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        """A file system of pyarrow, and the path in it."""
        scheme, place = self.address.scheme, self.address.place
        with told_of(self.address):
            if scheme == "s3":
                return s3(), place
            if scheme in BUCKETS:
                return google(), place
            return _by_fsspec(self.address)

    def listed(self) -> dict[str, RemoteFile]:
        """All files by their names below the URL; none: nothing is there. A missing bucket is an
        error.
        """
        from pyarrow.fs import FileSelector, FileType

        files, root = self._opened
        with told_of(self.address):
            found = files.get_file_info(root)
            if found.type == FileType.File:
                return {"": _described(found)}
            if found.type == FileType.NotFound:
                self._check_bucket(files)
                return {}
            below = files.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
            # Some servers write times in a way that the listing is not understood: ask again.
            below = [
                each if each.mtime_ns != 0 else files.get_file_info(each.path) for each in below
            ]
        found_names = {
            each.path.removeprefix(f"{root}/"): _described(each)
            for each in below
            if each.type == FileType.File
        }
        for name in found_names:
            if not is_inside(name):
                raise LeakscopeError(
                    f"{self.address.url} has an object whose name leads out of it, so nothing of "
                    "it is read; remove that object, or copy the rest."
                )
        return found_names

    def one(self, name: str) -> RemoteFile:
        """What is said of one file, which must be there."""
        files, _ = self._opened
        with told_of(self.address, name):
            found = files.get_file_info(self._path(name))
            if found.size is None:
                raise FileNotFoundError
        return _described(found)

    def _check_bucket(self, files: Any) -> None:
        from pyarrow.fs import FileType

        bucket = self.address.place.partition("/")[0]
        wanted = self.address.scheme in BUCKETS
        if wanted and files.get_file_info(bucket).type == FileType.NotFound:
            raise no_bucket(self.address)

    def tag(self, name: str) -> str | None:
        """What the server calls this content of a file, which is another name for another content;
        None: it does not say.
        """
        files, _ = self._opened
        with told_of(self.address, name), files.open_input_file(self._path(name)) as stream:
            return _tag(stream)

    @contextmanager
    def reading(self, name: str) -> Iterator[tuple[str | None, Iterator[bytes]]]:
        """The tag and the content of a file, in blocks."""
        files, _ = self._opened
        with told_of(self.address, name):
            stream = files.open_input_file(self._path(name))
        try:
            with told_of(self.address, name):
                tag = _tag(stream)
            yield tag, self._blocks(name, stream)
        finally:
            stream.close()

    def _blocks(self, name: str, stream: Any) -> Iterator[bytes]:
        while True:
            with told_of(self.address, name):
                block = stream.read(_BLOCK)
            if not block:
                return
            yield block

    def write(self, name: str, source: Any) -> None:
        """Write a file from an open one. It appears when all of it is there."""
        files, _ = self._opened
        with told_of(self.address, name):
            path = self._path(name)
            if self.address.scheme not in BUCKETS:
                files.create_dir(path.rpartition("/")[0], recursive=True)
            with files.open_output_stream(path, compression=None) as stream:
                while block := source.read(_BLOCK):
                    stream.write(block)

    def remove(self, name: str) -> None:
        """Remove a file. What a server does to its folder is no matter: the file must be gone."""
        from pyarrow.fs import FileType

        files, _ = self._opened
        path = self._path(name)
        with told_of(self.address, name):
            try:
                files.delete_file(path)
            except OSError:
                if files.get_file_info(path).type != FileType.NotFound:
                    raise

    def _path(self, name: str) -> str:
        _, root = self._opened
        return f"{root}/{name}" if name else str(root)


def _described(found: Any) -> RemoteFile:
    """What pyarrow found. Listings are exact to a millisecond where answers about one file are not,
    so only whole seconds can be compared.
    """
    changed = found.mtime_ns
    return RemoteFile(found.size, None if changed is None else changed // 1_000_000_000)


def _tag(stream: Any) -> str | None:
    try:
        told = {name.lower(): value for name, value in stream.metadata().items()}
    except NotImplementedError:
        return None
    return told["etag"].decode(errors="replace") if "etag" in told else None


def _by_fsspec(address: RemoteAddress) -> tuple[Any, str]:
    if ":" in address.scheme or "::" in address.url:
        raise unknown_scheme(address.scheme)
    try:
        from fsspec.core import url_to_fs
        from fsspec.registry import available_protocols
    except ImportError:
        raise unknown_scheme(address.scheme, " without fsspec") from None
    if address.scheme not in available_protocols():
        raise unknown_scheme(address.scheme)
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    try:
        opened, path = url_to_fs(address.url)
    except ImportError as error:
        package = f", since {error.name} is not installed" if error.name else ""
        raise unknown_scheme(address.scheme, package) from None
    return PyFileSystem(FSSpecHandler(opened)), path
