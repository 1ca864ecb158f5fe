"""The file of a block list: it says what it is, is checked as a whole, and runs nothing.

Eight bytes of magic, eight for the header's length, the header as JSON, the bits, and a digest of
all that.
"""

import hashlib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leakscope.records.artifacts import damaged, whole_file
from leakscope.records.errors import LeakscopeError

MAGIC = b"LEAKBLK\x01"
DIGEST_BYTES = 16
SALT_BYTES = 16
MOST_BITS = 1 << 32
SCHEMA_VERSION = 1


class BlockHeader(BaseModel):
    """What the file says before its bits; see `BlockList` for the fields."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    size: Annotated[int, Field(ge=1, lt=MOST_BITS)]
    probes: Annotated[int, Field(ge=1)]
    lengths: tuple[Annotated[int, Field(ge=1)], ...]
    count: Annotated[int, Field(ge=0)]
    rate: Annotated[float, Field(gt=0, lt=1)]
    salt: Annotated[str, Field(pattern=f"^[0-9a-f]{{{2 * SALT_BYTES}}}$")]
    """In hexadecimal."""
    lowercase: bool
    corpus_digest: str


def write_block_file(path: Path, header: BlockHeader, bits: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    said = header.model_dump_json().encode()
    content = MAGIC + len(said).to_bytes(8, "little") + said + bits
    with whole_file(path) as partial:
        partial.write_bytes(content + _digest(content))


def read_block_file(path: Path) -> tuple[BlockHeader, bytes]:
    """Header and bits; a file that is cut short, damaged or something else is refused."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise LeakscopeError(f"There is no block list {path}; give the path of one.") from None
    except OSError:
        raise LeakscopeError(f"{path} cannot be read; give the file of a block list.") from None
    if not content.startswith(MAGIC):
        raise LeakscopeError(f"{path} is not a block list of this version of leakscope.")
    body = content[:-DIGEST_BYTES]
    start = len(MAGIC) + 8
    stop = start + int.from_bytes(body[len(MAGIC) : start], "little")
    if _digest(body) != content[-DIGEST_BYTES:] or stop > len(body):
        raise damaged(path)
    try:
        header = BlockHeader.model_validate_json(body[start:stop])
    except ValidationError:
        raise damaged(path) from None
    if header.schema_version != SCHEMA_VERSION:
        raise LeakscopeError(
            f"{path} has block list format {header.schema_version}, this version reads "
            f"{SCHEMA_VERSION}; make it again."
        )
    bits = body[stop:]
    if len(bits) != (header.size + 7) // 8 or list(header.lengths) != sorted(set(header.lengths)):
        raise damaged(path)
    return header, bits


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
