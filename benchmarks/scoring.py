"""Scoring against the bare forward pass and against the obvious loop."""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks import material
from benchmarks.lines import Line, interleaved
from leakscope.models.word.word_model import WordModel
from leakscope.records.documents import Documents

ROWS = 1024
BARS = {"gru-160-512": 0.60, "lstm-2x128": 0.80, "transformer-4x6x192": 0.80}


def spread(documents: Documents, words: int) -> Documents:
    """About so many words of documents from all over the corpus (one bot's would be alike)."""
    every = max(1, len(documents.ids) // words)
    chosen = range(0, len(documents), every)
    return Documents.of([(int(documents.users[i]), documents.words_of(i).tolist()) for i in chosen])


def bare_forward(model: WordModel, documents: Documents) -> None:
    """Embedding, recurrence, full output product, no softmax: PyTorch's own modules, our
    batches, and one buffer for the logits, so that nothing is lost to allocation.
    """
    output = model.network.output
    buffer = torch.empty(ROWS, len(output.bias))
    with torch.inference_mode():
        for _, hidden in model.states(documents, model.network.chunks):
            for rows in torch.split(hidden, ROWS):
                torch.addmm(output.bias, rows, output.weight.T, out=buffer[: len(rows)])


def obvious_loop(model: WordModel, documents: Documents, k: int = 1) -> Iterator[np.ndarray]:
    """Batches of 32 in corpus order, full log-softmax, topk: what one writes first."""
    labels = model.entries(documents)
    with torch.inference_mode():
        for start in range(0, len(documents), 32):
            part = [
                labels[documents.offsets[i] : documents.offsets[i + 1]]
                for i in range(start, min(start + 32, len(documents)))
            ]
            width = max(map(len, part))
            inputs = np.full((len(part), width), model.unknown)
            targets = np.full((len(part), width), model.unknown)
            for row, ids in enumerate(part):
                inputs[row, 0] = model.mark
                inputs[row, 1 : len(ids)] = ids[:-1]
                targets[row, : len(ids)] = ids
            states = model.network.hidden(torch.from_numpy(inputs))
            log_probs = torch.log_softmax(model.network.output(states), -1)
            top = log_probs.topk(k).indices
            wanted = torch.from_numpy(targets)[..., None]
            hits = (top == wanted).any(-1) & (wanted[..., 0] != model.unknown)
            log_probs.gather(-1, wanted)
            yield from (hits[row, : len(ids)].numpy() for row, ids in enumerate(part))


def lines(words: int = 300_000, sample: int = 40_000) -> list[Line]:
    found = []
    on = material.corpus(words)
    documents = spread(on.load(), sample)
    for preset in material.MODELS:
        model = material.model(preset, on)
        ours = lambda m=model: m.score(documents, top_k=1)  # noqa: E731
        scores = ours()
        hits = np.concatenate(list(obvious_loop(model, documents)))
        agree = float((hits == (scores.rank < 1)).mean())
        score, bare = interleaved(ours, lambda m=model: bare_forward(m, documents))
        share = f"{(scores.rank < 1).mean():.0%} hits, {len(documents.ids) / score:,.0f} words/s"
        found.append(
            Line(f"score {preset} / bare forward", score / bare, BARS[preset], True, detail=share)
        )
        if preset == "gru-160-512":
            score, loop = interleaved(
                ours, lambda m=model: list(obvious_loop(m, documents)), repeats=3
            )
            detail = f"decisions agree for {agree:.4%} of the words"
            found.append(
                Line(f"obvious loop / score {preset}", loop / score, 5.0, False, detail=detail)
            )
    return found
