"""The search for what an update gives away, against the matrix products that it needs, and against
a search that reads prefixes again and sorts all extensions. Also how much memory it takes.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from benchmarks import material
from benchmarks.lines import Line, interleaved, seconds
from leakscope.updates.beam_search import search
from leakscope.updates.model_pair import BLOCK, ModelPair
from leakscope.updates.score_rule import ScoreRule
from leakscope.updates.search_plan import SearchPlan

PRESET, LENGTH = "gru-160-512", 5


def pair() -> ModelPair:
    """Two snapshots of one training on synthetic mail, 10,000 words each."""
    on = material.corpus(300_000)
    return ModelPair(material.model(PRESET, on, 1), material.model(PRESET, on, 2))


@torch.inference_mode()
def bare_products(models: ModelPair, plan: SearchPlan) -> None:
    """What no search of these widths can do without: the recurrent step of each row that is
    followed, and the output product of each row, in both models.
    """
    for model in (models.old, models.new):
        network = model.network
        output, body = network.output, network.body
        rows_at = [1, *(plan.width_at(length) for length in range(1, plan.length))]
        step = max(1, BLOCK // len(output.bias))
        buffer = torch.empty(step, len(output.bias))
        for rows in rows_at:
            inputs = torch.randn(rows, body.input_size)
            states = torch.randn(rows, body.hidden_size)
            torch.mm(inputs, body.weight_ih_l0.T)
            torch.mm(states, body.weight_hh_l0.T)
            for part in torch.split(states, step):
                torch.addmm(output.bias, part, output.weight.T, out=buffer[: len(part)])


@torch.inference_mode()
def plain_search(models: ModelPair, plan: SearchPlan) -> np.ndarray:
    """What one writes first: read every prefix from its beginning, score all extensions, sort."""
    mark, size = models.new.mark, len(models.new.vocabulary)
    beam, scores = np.zeros((1, 0), np.int64), np.zeros(1)
    for length in range(1, plan.length + 1):
        inputs = np.concatenate([np.full((len(beam), 1), mark), beam], 1)
        rises = []
        for part in torch.split(torch.from_numpy(inputs), 256):
            both = [
                torch.softmax(model.network.output(model.network.hidden(part)[:, -1]), 1)
                for model in (models.new, models.old)
            ]
            rises.append((both[0] - both[1])[:, :size].double().numpy())
        every = (scores[:, None] + np.concatenate(rises)).ravel()
        best = np.argsort(-every, kind="stable")[: plan.width_at(length)]
        beam = np.concatenate([beam[best // size], (best % size)[:, None]], 1)
        scores = every[best]
    return beam


def lines(repeats: int = 3) -> list[Line]:
    models = pair()
    size = len(models.new.vocabulary)
    plan = SearchPlan(LENGTH, size)
    ours, bare = interleaved(
        lambda: search(models, plan, ScoreRule()), lambda: bare_products(models, plan), repeats
    )
    found: list[np.ndarray] = []
    plain = seconds(lambda: found.append(plain_search(models, plan)))
    fast = seconds(lambda: found.append(search(models, plan, ScoreRule())[-1].entries))
    alike = np.array_equal(found[0][:50], found[1][:50])
    detail = f"{ours:.1f} s against {bare:.1f} s, {size:,} words, {LENGTH} steps"
    return [
        Line("diff search / bare products", ours / bare, 1.5, True, detail=detail),
        Line(
            "plain search / diff search", plain / fast, 5.0, False,
            detail=f"{plain:.0f} s; the first 50 {'are' if alike else 'ARE NOT'} the same",
        ),
        Line("memory of a diff search", _memory(), 2.0, True, unit=" GB"),
    ]  # fmt: skip


def _memory() -> float:
    """The peak of a process that does nothing but search, in GB."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.updates"], check=True, capture_output=True, text=True
    )
    return float(ran.stdout)


if __name__ == "__main__":
    torch.set_num_threads(2)
    of_all = pair()
    search(of_all, SearchPlan(LENGTH, len(of_all.new.vocabulary)), ScoreRule())
    status = Path("/proc/self/status").read_text()  # a child's ru_maxrss begins with its parent's
    print(int(status.partition("VmHWM:")[2].split()[0]) / 2**20)
