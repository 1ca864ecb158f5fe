"""How a report is run, whatever it measures."""

from dataclasses import dataclass, field
from pathlib import Path

from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class RunningSettings:
    """How a report is run; nothing of it changes a measurement."""

    snapshots: bool = False
    """Report on every snapshot of the training, and compare them."""
    fail_on: tuple[str, ...] = field(default=(), metadata={"group": "Gates"})
    """A gate such as 'unique_sequences>0', 'curated[10]>0' or 'unique_by_length[5+]>0': exit code 1
    if it holds, and 2 if it cannot be checked. The verdict stands in the run. May be repeated."""
    name: str | None = None
    """What to call the model in tables."""
    workers: int = 1
    """Processes that score shards."""
    threads: int = 2
    """CPU threads in all."""

    def __post_init__(self) -> None:
        if self.workers < 1 or self.threads < 1:
            raise LeakscopeError("--workers and --threads must be at least 1.")
        if self.snapshots and self.name is not None:
            raise LeakscopeError("Snapshots have names of their own; leave out --name.")


@dataclass(frozen=True)
class InterfaceSettings:
    """What stands between the model and its users."""

    block_list: Path | None = None
    """Report on the model behind this block list."""


@dataclass(frozen=True)
class UserChoice:
    """Whose documents a report is about."""

    users: Path | None = None
    """Audit only the users in this file, one key a line. Their sequences are still counted in the
    whole corpus."""


@dataclass(frozen=True)
class EndpointAccess:
    """How an endpoint is entered, and where its answers are kept."""

    answers: Path | None = None
    """A directory to keep the endpoint's answers in and find them again; by default they are kept
    with the run until it is finished."""
    api_key_env: str | None = None
    """The environment variable that holds the key; by default OPENAI_API_KEY, unless the address
    is of another machine and not encrypted."""
