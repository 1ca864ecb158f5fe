"""Signatures over seals by SSH keys, made and checked by `ssh-keygen -Y`.

It is given what to sign on standard input, and only paths that the user named or that are ours.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from leakscope.records.artifacts import whole_file
from leakscope.records.errors import LeakscopeError

NAMESPACE = "leakscope"
"""A signature that was made for something else, such as a commit, is not one for a seal."""
MOST_BYTES = 64 << 10
"""Of a signature; that of an RSA key of 16,384 bits has 6,000."""


def sign(sealed: Path, key: Path, out: Path) -> None:
    """Sign the file `sealed` with a private key, or a public one whose private part an agent has;
    the signature is written to `out`.
    """
    if not key.is_file():
        raise LeakscopeError(f"There is no key {key}; give the file of an SSH key to --sign.")
    words = ["-Y", "sign", "-f", str(key.resolve()), "-n", NAMESPACE]
    ran = _ssh_keygen(words, sealed.read_bytes())
    if ran.returncode or not ran.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise LeakscopeError(f"ssh-keygen could not sign with {key}; is it an SSH private key?")
    with whole_file(out) as partial:
        partial.write_bytes(ran.stdout)


def is_signed_by(sealed: Path, signature: Path, signers: Path, signer: str) -> bool:
    """Whether `signature` is one over `sealed` by a key that the file `signers` (as `ssh-keygen`
    calls ALLOWED SIGNERS) allows for `signer`.
    """
    if not signers.is_file():
        raise LeakscopeError(f"There is no {signers}; give an allowed signers file to --signers.")
    with signature.open("rb") as handle:
        content = handle.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        return False
    with TemporaryDirectory() as folder:  # private, with a name that nobody else chose
        copy = Path(folder) / "signature"
        copy.write_bytes(content)
        words = ["-Y", "verify", "-f", str(signers.resolve()), "-I", signer, "-n", NAMESPACE]
        return not _ssh_keygen([*words, "-s", str(copy)], sealed.read_bytes()).returncode


def _ssh_keygen(words: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *words], input=given, capture_output=True, check=False)
    except FileNotFoundError:
        raise LeakscopeError(
            "Signatures need ssh-keygen, which is not installed; install OpenSSH."
        ) from None
