"""The records of one report: `manifest.json` and `metrics.json`."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from leakscope.records.artifacts import digest_of_file, read_json
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import AuditedModel
from leakscope.records.models.public_model import PublicModelRecord
from leakscope.records.models.stand_in_record import StandInsRecord
from leakscope.records.received_files import refuse_special_files
from leakscope.records.runs.gate_verdict import GateVerdict
from leakscope.records.runs.report_settings import ReportSettings, TrainedOn
from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.seal import SEAL

SCHEMA_VERSION = 1


class RunDigests(BaseModel):
    """Which run something was made from, by the digests of two of its files."""

    model_config = ConfigDict(frozen=True)

    manifest: str
    seal: str | None
    """It has the digests of all other files; None: an earlier version made that run."""


class RunManifest(BaseModel):
    """`manifest.json`: everything needed to make the run again, or to compare it with another."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    name: str
    versions: dict[str, str]
    settings: ReportSettings
    revealed: bool
    corpus_digest: str
    lexicon_digest: str
    model_digest: str
    model: AuditedModel
    """The model's own config: architecture, training settings, seeds."""
    options: dict[str, Any] = {}
    """The options of the command as they were given, by their names; `report --config` takes them
    from here."""
    public: PublicModelRecord | None = None
    """The public model, if there was one."""
    stand_ins: StandInsRecord | None = None
    """The models that chance was measured on, if there were any."""
    interface: str | None = None
    """See `Metrics.interface`."""
    gates: tuple[GateVerdict, ...] = ()
    """See `Metrics.gates`."""
    rendered_from: RunDigests | None = None
    """The run whose tables were redacted or revealed to make this one; None: a report made it."""
    sealed: bool = False
    """Whether a seal lists the digests of all files; earlier versions had none."""

    @property
    def trained_on(self) -> TrainedOn:
        """Which documents of the corpus are D."""
        return self.settings.trained_on or "train"


def open_run(path: Path) -> tuple[RunManifest, Metrics]:
    """The manifest and metrics of a run directory."""
    if not path.is_dir():
        raise LeakscopeError(f"{path} is not a run directory; make one by leakscope report.")
    refuse_special_files(path)
    manifest = read_json(path / "manifest.json", RunManifest, "a run of leakscope report")
    if manifest.schema_version != SCHEMA_VERSION:
        raise LeakscopeError(
            f"{path} has run format {manifest.schema_version}, this version reads "
            f"{SCHEMA_VERSION}; make the report again."
        )
    metrics = read_json(path / "metrics.json", Metrics, "a run of leakscope report")
    interface = manifest.settings.interface
    if metrics.interface is None and interface is not None:  # of an earlier version
        metrics = metrics.model_copy(update={"interface": interface})
    return manifest, metrics


def digests_of_run(path: Path) -> RunDigests:
    """By which a run directory can be known again."""
    seal = path / SEAL
    return RunDigests(
        manifest=digest_of_file(path / "manifest.json"),
        seal=digest_of_file(seal) if seal.exists() else None,
    )
