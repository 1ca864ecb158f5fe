"""What differential privacy protects."""

from typing import Literal

Unit = Literal["user", "document"]
"""All that one user wrote, or one document."""
