"""The fixture of these tests."""

from small_update import update

__all__ = ["update"]
