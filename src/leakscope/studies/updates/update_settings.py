"""What a study of updates is told, besides how it trains and searches."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from leakscope.records.errors import LeakscopeError

Scenario = Literal["retrain", "continue", "two-stage", "specialize", "delete"]
TrainingName = Literal["plain", "dp", "adversarial", "triplet"]
_LIST: dict[str, Any] = {"separated": True}


@dataclass(frozen=True)
class UpdateStudySettings:
    """Which updates are made and measured."""

    scenarios: tuple[Scenario, ...] = field(
        default=("retrain", "continue"), metadata={"option": "scenario"}
    )
    """How the model is updated: retrain (anew, on everything), continue (on the added text alone),
    two-stage (on the added text, then on extra text), specialize (from --public-model, on
    everything) or delete (anew, without some users). May be repeated."""
    insertions: tuple[int, ...] = field(default=(10, 50, 100), metadata=_LIST)
    """How often the update has each canary, such as 10,50,100: one update for each number."""
    extra: tuple[float, ...] = field(default=(0.0,), metadata=_LIST)
    """Shares of the pool that the update adds as well, such as 0,0.2,0.5,1: one update for each."""
    pool: float = 0.0
    """Share of the users whose training text the first model does not get, so that updates can add
    it as text that is not sensitive. With 0.5, shares of the pool are shares of its own text."""
    known: tuple[int, ...] = field(default=(0,), metadata=_LIST)
    """How many first words of each canary the attacker knows, such as 0,1: one measurement for
    each number."""
    top_k: tuple[int, ...] = field(default=(), metadata=_LIST)
    """Also measure an attacker who sees only so many of the most probable words, such as 10."""
    per_class: int = 1
    """Canaries of each of the four classes of frequency."""
    controls: int = 3
    """Canaries more of each class that the update does not have: how far chance goes."""
    deleted_users: int = 1
    """For delete: users, drawn at random, whose text the newer model does not get."""
    public_model: Path | None = None
    """For specialize: a model of leakscope train, of the same architecture."""
    update_epochs: int | None = None
    """Epochs of updates that start from another model. By default as many as others have."""
    seeds: tuple[int, ...] = field(default=(0,), metadata={"option": "seed"})
    """Draw, train and measure once with this seed. May be repeated."""
    mitigations: tuple[TrainingName, ...] = field(
        default=("plain",), metadata={"option": "mitigation"}
    )
    """How both models are trained: plain, dp (noise multiplier 0.6), adversarial or triplet. May be
    repeated."""
    trainings: Path | None = None
    """Instead of --mitigation, a TOML file with a table for each training: its name, and options of
    leakscope train by their names."""

    def __post_init__(self) -> None:
        for name, given in (
            ("--scenario", self.scenarios), ("--insertions", self.insertions),
            ("--extra", self.extra), ("--known", self.known), ("--seed", self.seeds),
            ("--mitigation", self.mitigations),
        ):  # fmt: skip
            if not given:
                raise LeakscopeError(f"{name} needs at least one value.")
        for name, given in (
            ("--scenario", self.scenarios), ("--insertions", self.insertions),
            ("--extra", self.extra), ("--known", self.known), ("--seed", self.seeds),
            ("--mitigation", self.mitigations), ("--top-k", self.top_k),
        ):  # fmt: skip
            if len(set(given)) < len(given):
                raise LeakscopeError(f"Give each {name} once.")
        if set(self.scenarios) - set(get_args(Scenario)):
            raise LeakscopeError(f"--scenario is one of {', '.join(get_args(Scenario))}.")
        if set(self.mitigations) - set(get_args(TrainingName)):
            raise LeakscopeError(f"--mitigation is one of {', '.join(get_args(TrainingName))}.")
        self._check_numbers()
        self._check_scenarios()

    def _check_numbers(self) -> None:
        if min(self.insertions) < 1 or min(self.top_k, default=1) < 1:
            raise LeakscopeError("--insertions and --top-k must be at least 1.")
        if self.per_class < 1 or self.deleted_users < 1:
            raise LeakscopeError("--per-class and --deleted-users must be at least 1.")
        if self.controls < 0:
            raise LeakscopeError("--controls must be at least 0.")
        if self.update_epochs is not None and self.update_epochs < 1:
            raise LeakscopeError("--update-epochs must be at least 1.")
        if min(self.known) < 0:
            raise LeakscopeError("--known must be at least 0.")
        if not 0 <= self.pool < 1:
            raise LeakscopeError("--pool is a share of the users: at least 0 and below 1.")
        if any(not 0 <= share <= 1 for share in self.extra):
            raise LeakscopeError("--extra is a share of the pool: from 0 to 1.")
        if any(not 0 <= seed < 2**31 - 1 for seed in self.seeds):
            raise LeakscopeError("--seed must be at least 0 and below 2^31 - 1.")

    def _check_scenarios(self) -> None:
        if any(self.extra) and not self.pool:
            raise LeakscopeError(
                "--extra adds text of a pool that the first model never saw; give --pool, such as "
                "0.5."
            )
        if "two-stage" in self.scenarios and not any(self.extra):
            raise LeakscopeError(
                "The second stage of two-stage trains on extra text; give --extra and --pool."
            )
        if ("specialize" in self.scenarios) != (self.public_model is not None):
            raise LeakscopeError("--scenario specialize and --public-model go together.")
        if self.trainings is not None and self.mitigations != ("plain",):
            raise LeakscopeError("Give --mitigation or --trainings, not both.")
