"""From what a command about canaries was given to the model that it measures."""

import os
from pathlib import Path

from leakscope.auditing.canaries.measuring import ModelAccess
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.running_settings import EndpointAccess
from leakscope.commands.given import Given
from leakscope.models.remote.endpoint import Endpoint, RequestLimits, is_address
from leakscope.records.errors import LeakscopeError

_ENDPOINTS_ONLY = ("text_only", "begin_mark", "answers", "max_requests")


def access_of(given: Given, model: str | os.PathLike[str]) -> ModelAccess:
    """The model of a path or an address, with the options that tell how to open it."""
    loading = given.make(LoadingSettings)
    if not is_address(os.fspath(model)):
        if any(name in given.options for name in _ENDPOINTS_ONLY):
            raise LeakscopeError(
                f"{model} is not the address of an endpoint (http:// or https://)."
            )
        return ModelAccess(loading, Path(model))
    access = given.make(EndpointAccess)
    return ModelAccess(
        loading,
        endpoint=given.make(Endpoint, url=os.fspath(model)),
        limits=given.make(RequestLimits),
        answers=access.answers,
        api_key_env=access.api_key_env,
    )
