"""The surroundings of Ray: its variables, its token, its silence. Ray itself is imported
elsewhere.
"""

import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from leakscope.records.errors import LeakscopeError

_ALWAYS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Else a driver that runs under uv sends its whole working directory to the cluster.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
    # GPUs are given to those workers that ask for one, and hidden from the others.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
}


_BY_RAY = ("RAY_CLIENT_MODE", "PYTHONBREAKPOINT")
"""What Ray sets itself."""


@contextmanager
def for_own_cluster(folder: Path) -> Iterator[None]:
    """For a cluster that is started here, whose token is in `folder`, and which only this machine
    can reach.
    """
    token = folder / "token"
    token.touch(mode=0o600, exist_ok=False)
    token.write_text(secrets.token_hex(32))
    changes = {
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_AUTH_TOKEN": None,  # it would come first
        "TMPDIR": str(folder),  # what killed workers leave behind is removed with it
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray's only way to listen on loopback
    }
    with _environment(_ALWAYS | changes), _silence():
        yield


@contextmanager
def for_existing_cluster() -> Iterator[None]:
    """For a cluster of somebody else's, with the user's token."""
    _check_token()
    with _environment(_ALWAYS), _silence():
        yield


def _check_token() -> None:
    """Raise if there is no token where Ray looks for one; it would end the process."""
    if os.environ.get("RAY_AUTH_TOKEN"):
        return
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    path = Path(named) if named else Path.home() / ".ray" / "auth_token"
    try:
        if path.read_text().strip():
            return
    except (OSError, UnicodeDecodeError):
        pass
    raise LeakscopeError(
        f"There is no token for the cluster in {path}; put the cluster's token there, for your "
        f"eyes only, or name its file by RAY_AUTH_TOKEN_PATH."
    )


@contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Ray and what it starts see these variables; afterwards all are as they were."""
    before = {name: os.environ.get(name) for name in (*changes, *_BY_RAY)}
    _set(changes)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _silence() -> Iterator[None]:
    """What Ray logs in this process is not for the terminal; workers log into files of Ray's."""
    logger = logging.getLogger("ray")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
