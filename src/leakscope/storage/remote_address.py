"""URLs of remote storage, and the local paths that stand for them.

`s3://bucket/corpus` stands for a path in the cache that is made of the URL alone. Everything inside
works on that path as on any other. The URL can be read off it again, in any process, so that
messages and manifests name what the user typed.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from leakscope.records.errors import LeakscopeError

FILES = "files"
"""The folder of a mirror that holds what the URL names."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_COLLAPSED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/([^/].*)", re.DOTALL)
"""What pathlib leaves of a URL."""
_ELSEWHERE = ("http", "https")
"""Addresses of models that are served, not of files."""
_GOOGLE = ("STORAGE_EMULATOR_HOST", "CLOUD_STORAGE_EMULATOR_ENDPOINT")
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": _GOOGLE,
    "gcs": _GOOGLE,
}
_PART = re.compile(r"(.*)/(snapshots/[^/]+)", re.DOTALL)
_CHUNK = 180  # a folder's name has at most 255 bytes
_END = ","  # never in quoted text


@dataclass(frozen=True)
class RemoteAddress:
    """What a URL names: a directory or a file of remote storage, and perhaps a part of it."""

    url: str
    """As it was typed, without a slash at its end."""
    inner: str = ""
    """A snapshot of the model at `url`: its mirror is inside the model's."""

    @property
    def scheme(self) -> str:
        """Such as s3."""
        return self.url.partition("://")[0].lower()

    @property
    def place(self) -> str:
        """What follows the scheme: the bucket, or the host, and the path."""
        return self.url.partition("://")[2]

    @property
    def name(self) -> str:
        """The last part of the URL, by which a local directory would be called."""
        return self.place.rpartition("/")[2]


def endpoint_of(scheme: str) -> str | None:
    """The server that stands in for Amazon's or Google's, by the variables that other tools read,
    too.
    """
    for name in _ENDPOINTS.get(scheme, ()):
        if os.environ.get(name):
            return os.environ[name]
    return None


def cache_root() -> Path:
    """Where mirrors are: LEAKSCOPE_CACHE, or leakscope in the user's cache directory."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    root = os.environ.get("LEAKSCOPE_CACHE") or f"{home}/leakscope"
    return Path(os.path.realpath(os.path.expanduser(root))) / "remote"  # noqa: PTH111


def address_of(given: object) -> RemoteAddress | None:
    """The remote address that a text, or a path made from one, names; None: it names none."""
    if isinstance(given, os.PathLike):
        text = os.fspath(given)
        parts = _COLLAPSED.fullmatch(text) if isinstance(text, str) else None
        if parts is None or Path(text).exists():
            return None
    else:
        parts = _URL.fullmatch(given) if isinstance(given, str) else None
    if parts is None or parts[1].lower() in (*_ELSEWHERE, "file"):
        return None
    scheme, place = parts[1], parts[2].rstrip("/")
    _check(scheme, place)
    inside = _PART.fullmatch(place)
    if inside is not None:
        return RemoteAddress(f"{scheme}://{inside[1]}", inside[2])
    return RemoteAddress(f"{scheme}://{place}")


def _check(scheme: str, place: str) -> None:
    """Refuse what cannot be an address, and secrets in one, without repeating them."""
    user, at, _ = place.partition("/")[0].rpartition("@")
    if "?" in place or (at and (":" in user or scheme.lower() in ("s3", "gs", "gcs"))):
        raise LeakscopeError(
            f"Leave passwords, keys and all that follows a ? out of the {scheme}:// URL; "
            "credentials come from the environment or the usual files."
        )
    parts = place.split("/")
    if not place or any(part in ("", ".", "..") for part in parts) or "\0" in place:
        raise LeakscopeError(
            f"{scheme}://{place} is not the URL of a file or directory; write it such as "
            f"{scheme}://bucket/corpus."
        )


def mirror_home(address: RemoteAddress, *, fresh: bool = False) -> Path:
    """The folder for everything about one URL; `fresh`: a second one, to read all of it anew."""
    server = endpoint_of(address.scheme)
    mark = "" if server is None else hashlib.blake2b(server.encode(), digest_size=4).hexdigest()
    text = quote(f"{address.url} {mark}{'.fresh' if fresh else ''}", safe="") + _END
    chunks = (text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK))
    return cache_root().joinpath(*(f"~{chunk}" for chunk in chunks))


def mirror_path(address: RemoteAddress, *, fresh: bool = False) -> Path:
    """The local path that stands for a URL."""
    path = mirror_home(address, fresh=fresh) / FILES / address.name
    return path / address.inner if address.inner else path


def address_at(path: Path) -> RemoteAddress | None:
    """The URL that a local path stands for; None if it stands for itself, as any path inside a
    mirror does, but for snapshots.
    """
    known = _split(path)
    if known is None:
        return None
    url, inner = known
    if inner == "" or _PART.fullmatch(f"/{inner}"):
        return RemoteAddress(url, inner)
    return None


def placed(given: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The local path that stands for a URL; anything else as it is."""
    if isinstance(given, str) and given.lower().startswith("file://"):
        return unquote(given[len("file://") :])
    address = address_of(given)
    return given if address is None else mirror_path(address)


def spelled(path: str | os.PathLike[str]) -> str:
    """A path as the user knows it: the URL that it stands for, or the path itself."""
    known = _split(Path(path))
    if known is None:
        return os.fspath(path)
    url, inner = known
    return f"{url}/{inner}" if inner else url


def with_urls(text: str) -> str:
    """A text in which paths of mirrors are written as the URLs that they stand for."""
    root = str(cache_root())
    if root not in text:
        return text
    folders = rf"((?:~[^/\n]{{{_CHUNK}}}/)*~[^/\n]{{0,{_CHUNK - 1}}}{_END})"
    pieces, at = [], 0
    for found in re.finditer(f"{re.escape(root)}/{folders}/{FILES}/", text):
        url = unquote(found[1].replace("/~", "")[1:-1]).rpartition(" ")[0]
        name = url.rpartition("/")[2]
        pieces += [text[at : found.start()], url]
        at = found.end() + len(name) * text.startswith(name, found.end())
    return "".join([*pieces, text[at:]])


def _split(path: Path) -> tuple[str, str] | None:
    """The URL and the path inside of what it names, if `path` is in a mirror."""
    try:
        parts = path.relative_to(cache_root()).parts
    except ValueError:
        return None
    chunks = []
    for count, part in enumerate(parts, 1):
        chunks.append(part[1:])
        if not part.startswith("~"):
            return None
        if part.endswith(_END):
            url = unquote("".join(chunks)[:-1]).rpartition(" ")[0]
            rest = parts[count:]
            return (url, "/".join(rest[2:])) if len(rest) > 1 and rest[0] == FILES else None
    return None
