"""Odd rows in every format that is read: each becomes a document or is set aside and counted."""
