"""Writes prv.json: epsilons of opacus's PRV accountant for 200 random settings.

    python tests/training/dp/accounting/golden/make_prv.py

Needs opacus, nothing of leakscope, and some ten minutes. Settings are drawn so that the Gaussian
approximation of epsilon is between 0.05 and 50; none is dropped for what PRV says of it.
"""

import json
import math
from importlib.metadata import version
from pathlib import Path

import numpy as np
from opacus.accountants.prv import PRVAccountant
from scipy.stats import norm

SETTINGS = 200
SEED = 20


def main() -> None:
    rng = np.random.default_rng(SEED)
    rows: list[dict] = []
    while len(rows) < SETTINGS:
        drawn = {
            "noise_multiplier": round(float(np.exp(rng.uniform(np.log(0.45), np.log(10)))), 3),
            "rate": float(f"{np.exp(rng.uniform(np.log(2e-4), np.log(0.9))):.3g}"),
            "steps": int(np.exp(rng.uniform(0, np.log(100_000)))),
            "delta": float(f"{np.exp(rng.uniform(np.log(1e-8), np.log(1e-3))):.2g}"),
        }
        if 0.05 < roughly(**drawn) < 50:
            rows.append(drawn | {"epsilon": prv(**drawn)})
    made = {
        "made_by": f"opacus {version('opacus')}, PRVAccountant.get_epsilon (an upper bound)",
        "command": "python tests/training/dp/accounting/golden/make_prv.py",
        "settings": rows,
    }
    out = Path(__file__).with_name("prv.json")
    out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def prv(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Epsilon by opacus, its error bound at most 0.4% of it."""
    accountant = PRVAccountant()
    accountant.history = [(noise_multiplier, rate, steps)]
    coarse = accountant.get_epsilon(delta, eps_error=0.05)
    return float(accountant.get_epsilon(delta, eps_error=max(0.004 * (coarse - 0.05), 2e-4)))


def roughly(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Epsilon by the central limit theorem, on a grid."""
    mu = rate * math.sqrt(steps * math.expm1(noise_multiplier**-2))
    grid = np.geomspace(0.01, 100, 400)
    deltas = norm.cdf(mu / 2 - grid / mu) - np.exp(grid + norm.logcdf(-mu / 2 - grid / mu))
    enough = np.flatnonzero(deltas <= delta)
    return float(grid[enough[0]]) if len(enough) else math.inf


if __name__ == "__main__":
    main()
