"""`verify`."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscope.auditing.integrity.ssh_signature import is_signed_by, sign
from leakscope.auditing.integrity.verification import SIGNATURE, Verified, all_intact, verify_path
from leakscope.commands.command_settings import VerifySettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.records.seal import SEAL


@takes_options_of("verify")
def verify(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *settings: object,
    **options: Any,
) -> list[Verified]:
    """Whether corpora, models, trainings, runs and block lists are as they were written, and those
    below them. With `sign`, what is intact as a whole is signed.
    """
    asked = Given("verify", settings, options).make(VerifySettings)
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [each for path in given for each in verify_path(Path(path))]
    if asked.signers is not None and asked.signer is not None:
        found = [_with_signer(each, asked.signers, asked.signer) for each in found]
    if asked.sign is not None and all_intact(found):
        found = [_signed(each, asked.sign) for each in found]
    return found


def _with_signer(found: Verified, signers: Path, signer: str) -> Verified:
    """The same, with what its signature is worth. A block list has no seal to be signed."""
    seal, signature = found.path / SEAL, found.path / SIGNATURE
    if not seal.is_file() or not signature.is_file():
        return replace(found, signed=False)
    good = is_signed_by(seal, signature, signers, signer)
    return replace(found, signed=good, signature=f"{'good' if good else 'not one'} by {signer}")


def _signed(found: Verified, key: Path) -> Verified:
    if not (found.path / SEAL).is_file():
        return found
    sign(found.path / SEAL, key, found.path / SIGNATURE)
    return replace(found, signature="made now")
