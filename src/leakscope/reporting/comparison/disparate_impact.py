"""Who pays for a mitigation: how much worse each user is served than by the plain model, on the
same validation documents (Mireshghallah et al. 2021, section 3, figure 3c).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscope.records.artifacts import read_parquet
from leakscope.records.models.audited_model import mitigation_of
from leakscope.records.runs.validation_document_columns import FILE, read_documents
from leakscope.reporting.comparison.compared_runs import ComparedRun, is_snapshots

REPLICATES = 1000
Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drop:
    """How much the perplexity of some users rises, on average over them, with a 95% interval."""

    users: int
    value: float
    low: float | None
    """None, as `high`: one of the users has a single document, which says nothing of how that
    user's documents vary."""
    high: float | None


@dataclass(frozen=True)
class Impact:
    """The drop in use of one model against the plain one: perplexities of the same documents, the
    model's less the plain one's. Users are in the order of their training documents, fewest first.
    """

    name: str
    users: Longs
    """[u] numbers of the users who have validation words."""
    documents: Longs
    """[u] their training documents."""
    drops: Floats
    """[u]"""
    replicates: Floats
    """[r, u] the same over documents drawn with replacement, the same ones for both models."""
    single: npt.NDArray[np.bool_]
    """[u] whether the user has only one validation document."""
    absent: int
    """Users with training documents and no validation words."""

    def over(self, chosen: Longs) -> Drop:
        """The mean drop of the users at these places."""
        low, high = self.interval(chosen)
        return Drop(len(chosen), float(self.drops[chosen].mean()), low, high)

    def interval(
        self, chosen: Longs, against: Longs | None = None
    ) -> tuple[float | None, float | None]:
        """The 95% interval of a mean drop, or of how much it is above that of others."""
        joined = chosen if against is None else np.concatenate([chosen, against])
        if self.single[joined].any():
            return None, None
        drawn = self.replicates[:, chosen].mean(1)
        if against is not None:
            drawn = drawn - self.replicates[:, against].mean(1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        return float(low), float(high)

    def groups(self, size: int) -> tuple[Longs, Longs]:
        """The places of the users with the most and with the fewest training documents; at most
        half of all in each.
        """
        places = np.arange(len(self.users))
        size = max(1, min(size, len(places) // 2))
        return places[-size:], places[:size]

    def gap(self, size: int) -> Drop:
        """How much more those with the fewest documents lose than those with the most."""
        most, fewest = self.groups(size)
        value = float(self.drops[fewest].mean() - self.drops[most].mean())
        return Drop(2 * len(most), value, *self.interval(fewest, most))


@dataclass(frozen=True)
class Comparison:
    """All impacts against one plain model."""

    baseline: str
    impacts: list[Impact]
    unmeasured: list[str]
    """Runs that do not tell what single documents cost."""


def disparate_impact(runs: Sequence[ComparedRun]) -> Comparison | None:
    """The impacts of runs against the first one without a mitigation, or, where none says so, the
    first one. None: they are of several corpora or of one training, or too little was measured.
    """
    if len(runs) < 2 or len({run.manifest.corpus_digest for run in runs}) > 1 or is_snapshots(runs):
        return None
    measured = [run for run in runs if (run.path / FILE).exists()]
    if len(measured) < 2:
        return None
    baseline = next((run for run in measured if _is_plain(run)), measured[0])
    others = [run for run in measured if run is not baseline]
    impacts = [found for run in others if (found := impact(run, baseline)) is not None]
    if not impacts:
        return None
    unmeasured = [run.label for run in runs if run not in measured]
    return Comparison(baseline.label, impacts, unmeasured)


def impact(run: ComparedRun, baseline: ComparedRun) -> Impact | None:
    """The impact of one run; None with fewer than two users that both have measured."""
    table = read_parquet(run.path / "users.parquet", ["user", "documents"])
    trained = dict(zip(table["user"].to_pylist(), table["documents"].to_pylist(), strict=True))
    costs = _costs(run.path, baseline.path)
    costs = costs.of_users(np.array(sorted(trained), np.int64))
    users, starts = np.unique(costs.users, return_index=True)
    if len(users) < 2:
        return None
    rng = np.random.default_rng(0)
    counts = np.diff(np.append(starts, len(costs.users)))
    drawn = np.stack([costs.drops(starts, _again(starts, counts, rng)) for _ in range(REPLICATES)])
    documents = np.array([trained[user] for user in users.tolist()], np.int64)
    order = np.lexsort((users, documents))
    return Impact(
        run.label,
        users[order],
        documents[order],
        costs.drops(starts)[order],
        drawn[:, order],
        counts[order] < 2,
        len(trained) - len(users),
    )


@dataclass(frozen=True)
class _Costs:
    """Documents by user: words, and -log p of all of them by the model and by the plain one."""

    users: Longs
    words: Longs
    model: Floats
    plain: Floats

    def of_users(self, known: Longs) -> "_Costs":
        """Those of the users in `known`."""
        here = np.isin(self.users, known)
        return _Costs(self.users[here], self.words[here], self.model[here], self.plain[here])

    def drops(self, starts: Longs, chosen: Longs | None = None) -> Floats:
        """[u] the rise in perplexity of each user, over all documents or over those chosen."""
        at = slice(None) if chosen is None else chosen
        words = np.add.reduceat(self.words[at], starts)
        with np.errstate(over="ignore", invalid="ignore"):
            theirs, usual = (
                np.exp(np.add.reduceat(each[at], starts) / words)
                for each in (self.model, self.plain)
            )
            found: Floats = theirs - usual
        return found


def _again(starts: Longs, counts: Longs, rng: np.random.Generator) -> Longs:
    """[d] for every document one of the same user's, drawn with replacement."""
    draws = rng.random(int(counts.sum())) * np.repeat(counts, counts)
    found: Longs = np.repeat(starts, counts) + draws.astype(np.int64)
    return found


def _costs(run: Path, baseline: Path) -> _Costs:
    """The documents that both runs have measured, by user."""
    tables = [read_documents(path) for path in (run, baseline)]
    known, usual = (table["document"].to_numpy() for table in tables)
    _, mine, plain = np.intersect1d(known, usual, assume_unique=True, return_indices=True)
    users = tables[0]["user"].to_numpy()[mine].astype(np.int64)
    order = np.argsort(users, kind="stable")
    mine, plain = mine[order], plain[order]
    return _Costs(
        users[order],
        tables[0]["words"].to_numpy()[mine],
        -tables[0]["log_prob"].to_numpy()[mine],
        -tables[1]["log_prob"].to_numpy()[plain],
    )


def _is_plain(run: ComparedRun) -> bool:
    record = mitigation_of(run.manifest.model)
    return record is not None and record.kind == "none"
