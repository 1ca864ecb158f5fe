"""What the inputs of a command hold, by digests: an output that waits for its upload is of these.

An artifact of ours is known by its seals, so that not all of it is read; data by what the manifest
of a corpus says of it; a model from elsewhere by the files that decide what it answers.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leakscope.commands.remote_inputs import MODELS, parts_left_out
from leakscope.records.artifacts import digest_of, digest_of_file, read_seal
from leakscope.records.seal import SEAL
from leakscope.storage.publishing import RECORDS

READ_BY = ("format", "base")
"""Options that tell how inputs are read."""
_DATA = ("inputs", "source")
_MADE_BESIDE = ("public",)
"""What commands add to a model's directory."""


def contents_of(inputs: Mapping[str, Sequence[Path]], asked: Mapping[str, Any]) -> dict[str, str]:
    """A digest for each argument or option that names inputs. `asked`: the options
    `READ_BY`, None where one was not given.
    """
    return {
        name: digest_of([_digest(name, path, asked) for path in paths])
        for name, paths in inputs.items()
    }


def _digest(name: str, path: Path, asked: Mapping[str, Any]) -> str:
    """What identifies an input; nothing, if the name is of something else."""
    if name in _DATA and not (path / "lexicon.parquet").is_file():
        from leakscope.corpus.building.input_files import describe

        return describe(path, asked["format"]).digest
    if name in MODELS:
        return _of_model(path, asked["base"], parts_left_out(name))
    return _of_place(path)


def _of_model(path: Path, base: Path | None, without: Sequence[str]) -> str:
    from leakscope.auditing.model_loading import pretrained_digest
    from leakscope.models.subword.hub import find_model
    from leakscope.models.subword.loading import is_pretrained
    from leakscope.records.models.carried_privacy import CARRIED

    found = find_model(path)
    if not is_pretrained(found):
        return _of_place(found, (*without, *_MADE_BESIDE))
    beneath = None if base is None else find_model(Path(base))
    return digest_of([pretrained_digest(found, beneath), _of_place(found / CARRIED)])


def _of_place(path: Path, without: Sequence[str] = ()) -> str:
    """Of a file, or a folder of ours. Anything else, such as a pipe, is never the same again."""
    if path.is_file():
        return digest_of_file(path)
    if any((path / name).is_file() for name in (SEAL, *RECORDS)):
        return digest_of(_of_folder(path, without))
    return os.urandom(16).hex() if path.exists() else ""


def _of_folder(folder: Path, without: Sequence[str]) -> dict[str, str]:
    """The digests of files by their names: what the seals say, and that of any other. What is
    hidden is of unfinished work.
    """
    found: dict[str, str] = {}
    for place, folders, names in os.walk(folder):
        here = Path(place)
        left_out = without if here == folder else ()
        folders[:] = [each for each in folders if each[0] != "." and each not in left_out]
        below = here.relative_to(folder)
        for name, digest in (read_seal(here / SEAL) or {}).items():
            found.setdefault((below / name).as_posix(), digest)
        for name in (each for each in names if each[0] != "."):
            known = (below / name).as_posix()
            if known not in found and (here / name).is_file():
                found[known] = digest_of_file(here / name)
    return found
