"""Find the user that a person's page is about, and where they stand."""

from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.corpus.user_keys import numbers_of
from leakscope.leakage.run_directory import corpus_of_run
from leakscope.records.artifacts import damaged
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import RunManifest, open_run
from leakscope.reporting.person.person_facts import NamedPerson
from leakscope.reporting.rows.listing import rows_with

ASK = "give the corpus by --corpus to learn whether it is a user's whom the report is not about"


def find_person(
    run: Path, key: str | None, number: int | None, corpus: Corpus | None
) -> NamedPerson:
    """The user with this key or this number; raise if there is none."""
    manifest, _ = open_run(run)
    if corpus is not None:
        corpus = corpus_of_run(run, manifest, corpus)
    if key is not None:
        number = _number_of(run, manifest, key, corpus)
    if number is None:
        raise LeakscopeError("Name the user by either --user or --number.")
    names = ["user", "user_key"] if manifest.revealed else ["user"]
    known = rows_with(run / "users.parquet", names, "user", [number]).to_pylist()
    if known:
        return NamedPerson(number, known[0].get("user_key"), "audited")
    if corpus is None:
        raise LeakscopeError(f"The run has no audited user {number}; {ASK}.")
    return _outside(run, manifest, number, corpus)


def _number_of(run: Path, manifest: RunManifest, key: str, corpus: Corpus | None) -> int:
    if corpus is not None:
        found = numbers_of(corpus, [key]).get(key)
        if found is None:
            raise LeakscopeError(
                f"{corpus.path} has no user with this key; write it as the corpus does."
            )
        return found
    if not manifest.revealed:
        raise LeakscopeError(
            f"{run} is redacted and has no user keys; give the corpus by --corpus, or the user's "
            f"number by --number."
        )
    names = ["user", "user_key"]
    rows = rows_with(run / "users.parquet", names, "user_key", [key]).to_pylist()
    if not rows:
        raise LeakscopeError(f"The run has no audited user with this key; {ASK}.")
    return int(rows[0]["user"])


def _outside(run: Path, manifest: RunManifest, number: int, corpus: Corpus) -> NamedPerson:
    """A user whom the run does not have: one without training documents, or not audited."""
    for shard in corpus.shards:
        keys = shard.user_keys()
        if number not in keys:
            continue
        documents = words = 0
        for chunk in shard.documents():
            own = chunk.users == number
            documents += int(own.sum())
            words += int(chunk.lengths()[own].sum())
        if not documents:
            return NamedPerson(number, keys[number], "not trained on")
        if manifest.settings.audited is None:
            raise damaged(run / "users.parquet")
        return NamedPerson(number, keys[number], "not audited", documents, words)
    raise LeakscopeError(f"{corpus.path} has no user {number}.")
