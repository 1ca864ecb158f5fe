"""Seals: what the bytes of every file of an artifact must be.

`seal.txt` lists the digest of each file of a directory, and ends with a digest of itself. Its lines
are those of `b2sum --tag`, so that `b2sum --check seal.txt` reads it too. A file that stands alone
while work goes on has a seal of its own beside it, `NAME.seal`.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

SEAL = "seal.txt"
OWN = ".seal"
"""What the seal of a single file adds to its name."""
MOST_BYTES = 64 << 20
"""A longer seal is none of ours: that would be half a million files."""
_HEAD = "# leakscope seal 1: what the files here must be; see leakscope verify.\n"
_LINE = re.compile(r"BLAKE2b-128 \(([^()\n\\]+)\) = ([0-9a-f]{32})")
_LAST = "# The lines above: "


def digest_of_bytes(content: bytes) -> str:
    """A hexadecimal digest, the same as `b2sum --length=128` gives."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def render_seal(files: Mapping[str, str]) -> str:
    """The text of a seal of these files: their digests by their names within the directory."""
    lines = "".join(f"BLAKE2b-128 ({name}) = {files[name]}\n" for name in sorted(files))
    return f"{_HEAD}{lines}{_LAST}{digest_of_bytes((_HEAD + lines).encode())}\n"


@lru_cache(maxsize=64)
def parsed_seal(content: bytes) -> Mapping[str, str] | None:
    """The digests by name; None if a single bit is not as it was written."""
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    found: dict[str, str] = {}
    for line in lines[1:-2]:
        parts = _LINE.fullmatch(line)
        if parts is None or not is_inside(parts[1]):
            return None
        found[parts[1]] = parts[2]
    return found if render_seal(found).encode() == content else None


def is_inside(name: str) -> bool:
    """Whether a name leads to a file below the directory."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and str(path) == name


def seals_of(path: Path) -> list[tuple[Path, str]]:
    """Where the seal of a file may be, the nearest first, and under which name it lists it."""
    return [
        (path.with_name(path.name + OWN), path.name),
        (path.parent / SEAL, path.name),
        (path.parent.parent / SEAL, f"{path.parent.name}/{path.name}"),
    ]
