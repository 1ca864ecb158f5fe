"""The tables of `benchmarks.twins`."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

Line = dict[str, Any]
LISTS = ("all", "length >= 5", "q <= 0.01", "q <= 0.05", "q <= 0.1", "q <= 0.2")


def show(path: Path) -> None:
    """Print what the lines of a file say."""
    lines: list[Line] = [json.loads(line) for line in path.read_text().splitlines()]
    judged = [line for line in lines if "of" in line]
    for kind in sorted({line["kind"] for line in judged}):
        some = [line for line in judged if line["kind"] == kind]
        _discoveries(kind, some)
        planted = [line for line in some if "secrets" in line]
        if planted:
            _secrets(planted)
            _areas(planted)
    for name in ("areas: demo", "areas: light"):
        known = [line for line in lines if line["kind"] == name]
        if known:
            print(f"\n{name}")
            _secrets(known)
            _areas(known)
    _nothing([line for line in lines if line["kind"].startswith("null")])


def _by(lines: Iterable[Line], key: Callable[[Line], Any]) -> dict[Any, list[Line]]:
    found = defaultdict(list)
    for line in lines:
        found[key(line)].append(line)
    return dict(sorted(found.items()))


def _discoveries(kind: str, lines: list[Line]) -> None:
    seeds = len({line["seed"] for line in lines})
    print(f"\n{kind}, {seeds} seeds: sequences, of which twins predict so many (share, interval)")
    for (public, k, epoch), some in _by(
        lines, lambda line: (line["public"], line["k"], line["epoch"])
    ).items():
        told = [f"{name}: {_share(some, name)}" for name in ("all", "q <= 0.05")]
        confirming = sum(line["confirmed"] > 0 for line in some)
        chance = sum(line["chance"] for line in some)
        told.append(f"twins in its place show {_alone(some)}")
        print(
            f"  {public:<19} k {k} after {epoch:>2}: {'; '.join(told)}; chance {chance:.0f}; "
            f"{confirming} of {len(some)} reports confirm any"
        )
    for public, some in _by(lines, lambda line: line["public"]).items():
        for name in (*LISTS, "repeated", "once"):
            print(f"  {public:<19} pooled, {name}: {_share(some, name)}")
        print(f"  {public:<19} pooled, twins in the model's place show {_alone(some)}")


def _share(lines: list[Line], name: str) -> str:
    """Sequences of a list, those that twins predict, their share, and its interval over seeds."""
    return _pooled(lines, lambda line: line["of"][name])


def _alone(lines: list[Line]) -> str:
    """Confirmed sequences, and as extreme ones that twins in the model's place show."""
    return _pooled(lines, lambda line: [line["confirmed"], line["shown"]])


def _pooled(lines: list[Line], counts: Callable[[Line], list[int]]) -> str:
    seeds = _by(lines, lambda line: line["seed"]).values()
    sums = np.array([np.sum([counts(line) for line in some], axis=0) for some in seeds])
    total, wrong = sums.sum(axis=0)
    if not total:
        return "0"
    drawn = np.random.default_rng(0).integers(0, len(sums), (5000, len(sums)))
    again = sums[drawn].sum(axis=1)
    shares = again[:, 1] / np.maximum(again[:, 0], 1)
    low, high = np.quantile(shares, [0.025, 0.975])
    return f"{total:,}, {wrong:,} = {wrong / total:.1%} ({low:.1%} to {high:.1%})"


def _secrets(lines: list[Line]) -> None:
    print("\nsecrets in D; of them in a unique sequence; with (precision of the list as a whole):")
    for (public, k, epoch), some in _by(
        lines, lambda line: (line["public"], line["k"], line["epoch"])
    ).items():
        total = sum(line["secrets"] for line in some)
        told = []
        for name in ("any", "q", "ratio", "length"):
            held, size, right = np.sum([line["held"][name] for line in some], axis=0)
            told.append(
                f"{name} {held} = {held / total:.1%} (of {size}, {right / max(size, 1):.0%})"
            )
        print(f"  {public:<19} k {k} after {epoch:>2}: {total}: {', '.join(told)}")


def _areas(lines: list[Line]) -> None:
    print("\nareas, means over seeds: precision and recall; receiver")
    crossfit = [line for line in lines if line["public"] == "crossfit" and line["areas"]["both"]]
    for (k, epoch), some in _by(crossfit, lambda line: (line["k"], line["epoch"])).items():
        random = np.mean([line["shows"] / line["unique"] for line in some])
        told = [
            f"{name} {np.mean([line['areas'][name][0] for line in some]):.3f}, "
            f"{np.mean([line['areas'][name][1] for line in some]):.3f}"
            for name in ("ratio", "length", "both")
        ]
        better = [
            sum(line["areas"]["both"][of] > line["areas"]["ratio"][of] for line in some)
            for of in (0, 1)
        ]
        print(
            f"  k {k} after {epoch:>2}, {len(some)} seeds: random {random:.3f}; {'; '.join(told)}; "
            f"both above ratio in {better[0]}, {better[1]}"
        )


def _nothing(lines: list[Line]) -> None:
    for (kind, k, epoch), some in _by(
        lines, lambda line: (line["kind"], line["k"], line["epoch"])
    ).items():
        none = sum(line["confirmed"] == 0 for line in some)
        able = sum(line.get("together", line["unique"]) >= line["least"] for line in some)
        unique = sorted(line["unique"] for line in some)
        print(
            f"  {kind} k {k} after {epoch}: {none} of {len(some)} confirm none (confirmed "
            f"{sorted(line['confirmed'] for line in some)}); unique {unique[0]} to {unique[-1]}, "
            f"enough to confirm in {able}; chance {sum(line['chance'] for line in some):.0f} of "
            f"{sum(unique)} unique"
        )
