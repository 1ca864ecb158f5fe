"""The privacy record that goes with weights of other formats: `leakscope_privacy.json` beside
them. It names the files of weights by their digests, so it says nothing of any other ones.
"""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leakscope.records.artifacts import digest_of_file, write_json
from leakscope.records.models.dp_record import PrivacyRecord

CARRIED = "leakscope_privacy.json"
UNREADABLE = f"not known: {CARRIED} beside the weights cannot be read"
OTHER_WEIGHTS = f"not known: the weights are not those that {CARRIED} was written for"
_MOST = 2**20  # bytes; ours have about three thousand


class CarriedPrivacy(BaseModel):
    """What `leakscope_privacy.json` holds."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    weights: Annotated[dict[str, str], Field(min_length=1)]
    """The digest of every file of weights, by its name."""
    privacy: PrivacyRecord


class KnownPrivacy(NamedTuple):
    """The privacy of weights, or why a record beside them says nothing; neither: there is none."""

    record: PrivacyRecord | None = None
    reason: str | None = None


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a model's or an adapter's weights."""
    return sorted(file for file in folder.glob("*.safetensors") if file.is_file())


def write_carried(folder: Path, record: PrivacyRecord) -> Path:
    """Write the record of the weights in a directory; where it is."""
    path = folder / CARRIED
    write_json(path, CarriedPrivacy(weights=_digests(folder), privacy=record))
    return path


def read_carried(folder: Path) -> KnownPrivacy:
    """What is known of the weights in a directory by the record that lies beside them."""
    path = folder / CARRIED
    if not path.is_file():
        return KnownPrivacy()
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
        carried = CarriedPrivacy.model_validate_json(content if len(content) <= _MOST else b"")
    except (OSError, ValidationError):
        return KnownPrivacy(reason=UNREADABLE)
    if carried.weights != _digests(folder):
        return KnownPrivacy(reason=OTHER_WEIGHTS)
    return KnownPrivacy(carried.privacy)


def _digests(folder: Path) -> dict[str, str]:
    return {file.name: digest_of_file(file) for file in weight_files(folder)}
