"""What an endpoint has answered, kept on disk so that nothing is asked twice.

One SQLite file, private to its owner: answers repeat training text. An answer is written before
anybody uses it, so a killed run has lost none.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zstandard

from leakscope.records.artifacts import digest_of, private_directory
from leakscope.records.errors import LeakscopeError

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Answers:
    """Answers by request, for any number of threads."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():  # one that is there may be for others, too
            private_directory(folder)
        self._path = folder / "answers.sqlite"
        self._path.touch(mode=0o600)  # SQLite's other files take after this one
        self._lock = threading.Lock()
        with self._errors():
            self._store = sqlite3.connect(
                self._path, check_same_thread=False, isolation_level=None, timeout=30
            )
            self._store.execute("PRAGMA journal_mode = WAL")
            self._store.execute("PRAGMA synchronous = NORMAL")
            self._store.executescript(_TABLES)

    @staticmethod
    def key(request: dict[str, Any]) -> str:
        """The name of a request: a digest of all that is in it."""
        return digest_of(request)

    def find(self, key: str) -> dict[str, Any] | None:
        """The answer that was kept under this key."""
        with self._errors():
            row = self._store.execute("SELECT answer FROM answers WHERE key = ?", [key]).fetchone()
        if row is None:
            return None
        try:
            found: dict[str, Any] = json.loads(zstandard.decompress(row[0]))
        except (zstandard.ZstdError, ValueError, MemoryError):
            raise self._damaged() from None
        return found

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        """Write an answer; it is on its way to the disk when this returns."""
        packer = zstandard.ZstdCompressor(write_checksum=True)  # of what is packed
        packed = packer.compress(json.dumps(answer).encode())
        with self._errors():
            self._store.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", [key, packed])

    def fact(self, name: str) -> Any:
        """What was noted under a name, or None."""
        with self._errors():
            row = self._store.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()
        if row is None:
            return None
        try:
            found = json.loads(row[0])
        except ValueError:
            raise self._damaged() from None
        if not isinstance(found, list):
            return found  # as versions without digests noted it
        if len(found) != 2 or found[1] != digest_of(found[0]):
            raise self._damaged()
        return found[0]

    def note(self, name: str, value: Any) -> None:
        """Note plain data under a name, with a digest of it."""
        noted = json.dumps([value, digest_of(value)])
        with self._errors():
            self._store.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, noted])

    def __len__(self) -> int:
        with self._errors():
            return int(self._store.execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Write everything to its place."""
        with self._errors():
            self._store.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise LeakscopeError(
                        f"The endpoint's answers cannot be kept in {self._path} ({error}); mend "
                        f"it and give the same command again."
                    ) from None
                raise self._damaged() from None

    def _damaged(self) -> LeakscopeError:
        return LeakscopeError(
            f"The endpoint's answers in {self._path} are damaged; remove the file to ask again."
        )
