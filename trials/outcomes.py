"""What became of each case, the table of counts, and the file that keeps them."""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path


class Verdict(StrEnum):
    """What became of one case. The first ones are as it should be; `BAD` must not happen."""

    ACCEPTED = "accepted"
    SET_ASIDE = "set aside"
    READ = "read"
    REFUSED = "refused"
    RESUMED = "resumed"
    FINISHED = "finished"
    NOTICED = "noticed"
    LOST = "lost"
    SILENT = "silent"
    UNNOTICED = "unnoticed"
    EXECUTED = "executed"
    REMOVED = "removed"
    LEFT_OVER = "left over"
    GREEDY = "greedy"
    UNEXPECTED = "unexpected"
    HANG = "hang"


MEANING = {
    Verdict.ACCEPTED: "a document of the corpus, word for word",
    Verdict.SET_ASIDE: "counted among what was set aside",
    Verdict.READ: "used, with the right result",
    Verdict.REFUSED: "refused in one sentence",
    Verdict.RESUMED: "killed, and then finished as if nothing had been",
    Verdict.FINISHED: "finished before the signal came",
    Verdict.NOTICED: "changes no answer, and `leakscope verify` names it",
    Verdict.LOST: "gone or altered, and counted nowhere",
    Verdict.SILENT: "another answer, and nobody said so",
    Verdict.UNNOTICED: "changes no answer, and nothing would notice it",
    Verdict.EXECUTED: "something that was read was run, fetched or unpickled",
    Verdict.REMOVED: "a file of somebody else is gone or changed",
    Verdict.LEFT_OVER: "files are left that a quiet run does not leave",
    Verdict.GREEDY: "took more memory than it may",
    Verdict.UNEXPECTED: "a traceback, a crash, or no sentence of ours",
    Verdict.HANG: "did not end in its time",
}
BAD = tuple(Verdict)[tuple(Verdict).index(Verdict.LOST) :]

EVERY = 50


@dataclass(frozen=True)
class Outcome:
    """One case: what kind it is of, which one, what became of it, and why if that is bad."""

    kind: str
    name: str
    verdict: Verdict
    detail: str = ""


def bad(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [each for each in outcomes if each.verdict in BAD]


def counts(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """How many of each verdict, by kind; kinds in their order."""
    table: dict[str, Counter[str]] = {}
    for each in outcomes:
        table.setdefault(each.kind, Counter())[each.verdict.value] += 1
    return {kind: dict(found) for kind, found in table.items()}


def told(group: str, outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Draw the outcomes one after the other, and say how far it is and what is bad."""
    found: list[Outcome] = []
    for each in outcomes:
        found.append(each)
        if len(found) % EVERY == 0:
            sys.stderr.write(f"{group}: {len(found)} cases\n")
        if each.verdict in BAD:
            sys.stderr.write(f"{each.verdict.value}: {each.kind}, {each.name!a}: {each.detail!a}\n")
        sys.stderr.flush()
    return found


def show(group: str, outcomes: list[Outcome], seconds: float) -> None:
    """Print the table of a group."""
    table = counts(outcomes)
    seen = [each for each in Verdict if any(each.value in found for found in table.values())]
    columns = list(dict.fromkeys([*seen, *_always(group)]))
    width = max(len(kind) for kind in [*table, "all"])
    print(f"\n{group}: {len(outcomes)} cases in {seconds:.0f} s")
    print(f"{'':<{width}}  " + "  ".join(f"{each.value:>10}" for each in columns))
    total = Counter(each.verdict.value for each in outcomes)
    for kind, found in [*table.items(), ("all", total)]:
        cells = "  ".join(f"{found.get(each.value, 0):>10}" for each in columns)
        print(f"{kind:<{width}}  {cells}")


def _always(group: str) -> tuple[Verdict, ...]:
    """The zeros that are worth a column."""
    own = {
        "rows": (Verdict.LOST,),
        "files": (Verdict.EXECUTED, Verdict.GREEDY),
        "kills": (Verdict.SILENT, Verdict.REMOVED, Verdict.LEFT_OVER),
        "flips": (Verdict.SILENT, Verdict.UNNOTICED),
        "changes": (Verdict.SILENT, Verdict.LEFT_OVER),
        "disks": (Verdict.SILENT, Verdict.LEFT_OVER),
        "writes": (Verdict.SILENT, Verdict.LEFT_OVER),
    }
    return (*own.get(group, ()), Verdict.UNEXPECTED, Verdict.HANG)


def save(folder: Path, group: str, outcomes: list[Outcome], *, seed: int, seconds: float) -> None:
    """Keep the counts of a group, and each bad case, as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {
        "group": group,
        "seed": seed,
        "cases": len(outcomes),
        "seconds": round(seconds, 1),
        "leakscope": version("leakscope"),
        "table": counts(outcomes),
        "bad": [asdict(each) for each in bad(outcomes)],
    }
    text = json.dumps(kept, indent=2, ensure_ascii=True) + "\n"
    (folder / f"{group}.json").write_text(text, encoding="utf-8")
