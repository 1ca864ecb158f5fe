"""What a run's manifest says of the models that stood in for the audited one."""

from leakscope.records.sparse_record import SparseRecord


class StandInsRecord(SparseRecord):
    """Models trained like the audited one, each put in its place before users that it was trained
    without.
    """

    name: str
    digests: tuple[str, ...]
    """Of their weights."""
    folds: int
