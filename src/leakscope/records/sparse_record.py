"""Records whose file leaves out what is not known, rather than saying null."""

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class SparseRecord(BaseModel):
    """A frozen record; fields that are None are left out when it is written."""

    model_config = ConfigDict(frozen=True)

    @model_serializer(mode="wrap")
    def _known(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None}
