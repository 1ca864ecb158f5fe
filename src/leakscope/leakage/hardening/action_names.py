"""How an action list names users and files: by keys and names if revealed, else by numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leakscope.corpus.document_lookup import keys_of, origins_of
from leakscope.corpus.shard_origins import origin_names
from leakscope.corpus.store import Corpus
from leakscope.records.artifacts import damaged, read_parquet
from leakscope.records.columns import check_columns
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.user_columns import users_schema

NO_CORPUS = "The files and rows that documents come from are in the corpus; give it with --corpus."
NOT_KEPT = "The corpus does not say where its documents come from; build it again to know."


@dataclass(frozen=True)
class ActionNames:
    """Names of one list, all of one kind."""

    revealed: bool
    _keys: Mapping[int, str]
    _corpus: Corpus | None
    _run: Path

    def user(self, number: int) -> int | str:
        """The key of a user, or the number."""
        if not self.revealed:
            return number
        if number not in self._keys:
            raise damaged(self._run / "users.parquet")
        return self._keys[number]

    def origins(self, documents: list[int]) -> dict[int, tuple[int | str, int]]:
        """The file and row of each document whose origin is known."""
        if self._corpus is None:
            return {}
        names = origin_names(self._corpus.manifest.origins)
        return {
            document: (names[at.input] if self.revealed else at.input + 1, at.row)
            for document, at in origins_of(self._corpus, documents).items()
        }

    @property
    def without_origins(self) -> str | None:
        """Why no origin is known."""
        if self._corpus is None:
            return NO_CORPUS
        return None if self._corpus.manifest.origins else NOT_KEPT


def names_for(run: Path, corpus: Corpus | None, *, reveal: bool) -> ActionNames:
    """The names of a run's users and files. A redacted run has no keys: they come from the corpus
    if they are to be revealed.
    """
    revealed = open_run(run)[0].revealed
    if not revealed and not reveal:
        return ActionNames(False, {}, corpus, run)
    path = run / "users.parquet"
    columns = ["user", "user_key"]
    table = read_parquet(path, columns)
    check_columns(path, table, users_schema(), columns)
    users = table["user"].to_pylist()
    if revealed:
        keys = dict(zip(users, table["user_key"].to_pylist(), strict=True))
        return ActionNames(
            True, {u: key for u, key in keys.items() if key is not None}, corpus, run
        )
    if corpus is None:
        raise LeakscopeError(
            "The run is redacted, so it has no keys of users; give its corpus with --corpus."
        )
    return ActionNames(True, keys_of(corpus, set(users)), corpus, run)
