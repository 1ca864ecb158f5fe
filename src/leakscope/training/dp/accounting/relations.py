"""The relations that an epsilon may be about."""

from typing import Literal

Relation = Literal["add-remove", "replace-one"]
"""What two training texts that must look alike differ in: one unit more or less, or one unit with
other text."""
RELATIONS: dict[Relation, str] = {"add-remove": "add/remove one", "replace-one": "replace one"}
"""As reports name them."""
