"""A URL as the output of a command: made in its mirror, found again there, and uploaded at the end.

What the command finds is what it would find in a local directory: nothing, or what an unfinished
attempt of this machine left, or, if it can take that up, what is there remotely.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.engine.progress import Progress
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER
from leakscope.storage.fetching import pull
from leakscope.storage.mirror import Mirror, MirrorState, room_in_cache
from leakscope.storage.publishing import already_at, check_ours, publish
from leakscope.storage.remote_address import RemoteAddress


@dataclass(frozen=True)
class Making:
    """Who makes an output, and how it is known again."""

    command: str
    request: str
    """The digest of all that the command was given."""
    takes_up: bool
    """Whether the command goes on with what it finds, also if that is finished."""
    again: Callable[[Path], Any] | None = None
    """Gives the command's result for a finished output; None: it is made once more."""


class RemoteOutput:
    """An output that is being made. `publish` uploads it."""

    def __init__(self, mirror: Mirror, making: Making, *, is_made: bool) -> None:
        self._mirror, self._making = mirror, making
        self.is_made = is_made
        """Whether an earlier attempt finished it, so that it only has to be uploaded."""
        self.path = mirror.path

    def made_from(self, inputs: dict[str, str]) -> None:
        """Note the digests of what the inputs hold; raise if it is finished and was made from
        others.
        """
        state = self._mirror.state()
        if not self.is_made:
            self._mirror.note(state.model_copy(update={"inputs": inputs}))
        elif state.inputs != inputs:
            known = inputs | state.inputs
            other = [name for name in known if state.inputs.get(name) != inputs.get(name)]
            raise LeakscopeError(
                f"{self._mirror.address.url} holds a finished {self._making.command} that is not "
                f"uploaded yet and was made from other contents of {' and '.join(other)}; put "
                "those back, or choose another --out."
            )

    def finish(self, progress: Progress) -> None:
        """Note that it is made, and upload it."""
        self._mirror.note(
            self._mirror.state().model_copy(
                update={
                    "phase": "made",
                    "command": self._making.command,
                    "request": self._making.request,
                }
            )
        )
        publish(self._mirror, progress)


@contextmanager
def remote_output(
    address: RemoteAddress, making: Making, progress: Progress
) -> Iterator[RemoteOutput]:
    """Take a URL for the output of a command. If the block fails, what was made stays here, and the
    same command finds it.
    """
    if address.inner:
        raise LeakscopeError(
            f"{address.url}/{address.inner} is a snapshot's place; choose another --out."
        )
    mirror = Mirror(address)
    with mirror.locked(alone=True), room_in_cache():
        mirror.sweep()
        state = _prepared(mirror, making, progress)
        is_made = state.phase == "made" and not making.takes_up and making.again is not None
        if state.phase == "made" and not making.takes_up and making.again is None:
            known = state.files
            mirror.clear()
            state = MirrorState(files=known)
        if not is_made:
            mirror.note(
                state.model_copy(
                    update={
                        "phase": "working",
                        "command": making.command,
                        "request": making.request,
                    }
                )
            )
        found = mirror.path.exists()
        try:
            yield RemoteOutput(mirror, making, is_made=is_made)
        except BaseException as error:
            if mirror.state().phase == "working" and not mirror.path.exists():
                mirror.clear()  # nothing to take up
            elif found and not state.files and isinstance(error, LeakscopeError):
                told = f"{error} What was begun for {address.url} is kept in {mirror.home}."
                error.args = (told, *error.args[1:])
            raise


def _prepared(mirror: Mirror, making: Making, progress: Progress) -> MirrorState:
    """See what is there, remotely and here; raise if the command may not go on with it."""
    url, state, listed = mirror.address.url, mirror.state(), mirror.store.listed()
    if state.phase == "copy":
        if listed and not making.takes_up:
            raise already_at(url)
        if listed:
            pull(mirror, progress)
        else:
            mirror.clear()  # a copy of what is there no more
        return mirror.state()
    if state.command != making.command:
        raise LeakscopeError(
            f"{url} is the output of an unfinished {state.command} on this machine; finish that "
            "first, or choose another --out."
        )
    check_ours(mirror, listed)
    state = mirror.state()
    if state.phase == "working" and mirror.is_finished():  # killed before that was noted
        (mirror.path / MARKER).unlink(missing_ok=True)  # which was to go next
        state = state.model_copy(update={"phase": "made"})
    if state.phase == "made" and not making.takes_up and state.request != making.request:
        raise LeakscopeError(
            f"{url} holds a finished {state.command} that is not uploaded yet; give the very "
            "command that made it again, or choose another --out."
        )
    return state
