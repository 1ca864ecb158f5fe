"""Model configs as the first version wrote them, and in the form of today.

The first version knew one mitigation. Its configs have `privacy`, which is null or the record of
differential privacy, and the settings of a private training have `privacy`. Today both are called
`mitigation` and name their kind. Digests are still made of the first form, so that a training
keeps its digest from version to version.
"""

from typing import Any


def current_config(config: dict[str, Any]) -> dict[str, Any]:
    """A model's config of any version in the form of today."""
    training = config.get("training")
    found = {name: value for name, value in config.items() if name != "privacy"}
    if isinstance(training, dict):
        found["training"] = current_training(training)
    if config.get("privacy") is not None:
        found["mitigation"] = _of_kind_dp(config["privacy"])
    if "schema_version" in config and config["schema_version"] == 1:
        found["schema_version"] = 2
    return found


def current_training(training: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training, as a config of any version tells them, in the form of today."""
    if "privacy" not in training:
        return training
    found = {name: value for name, value in training.items() if name != "privacy"}
    if training["privacy"] is not None:
        found["mitigation"] = _of_kind_dp(training["privacy"])
    return found


def digested_training(training: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training, in the form of today, as digests are made of them."""
    mitigation = training.get("mitigation")
    if mitigation is None or mitigation["kind"] != "dp":
        return training
    found = {name: value for name, value in training.items() if name != "mitigation"}
    return found | {
        "privacy": {name: value for name, value in mitigation.items() if name != "kind"}
    }


def _of_kind_dp(given: Any) -> Any:
    return {"kind": "dp", **given} if isinstance(given, dict) else given
