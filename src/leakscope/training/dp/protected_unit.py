"""What differential privacy protects."""

from typing import Literal

Unit = Literal["user", "document"]
"""All that one user wrote, or one document."""

Relation = Literal["add-remove", "replace-one"]
"""What two training texts that must look alike differ in: one unit more or less, or one unit with
other text."""
RELATIONS: dict[Relation, str] = {"add-remove": "add/remove one", "replace-one": "replace one"}
"""As reports name them."""
