"""The clipped sum in a few plain lines: for each user the gradient, its norm, the factor."""

import numpy as np
import torch

from leakscope.training.steps.batches import Batch


def clipped_sum(losses, weights, clip):
    """From each user's loss: the sums for all weights, and the norms before clipping."""
    sums, norms = [torch.zeros_like(weight) for weight in weights], []
    for loss in losses:
        gradients = torch.autograd.grad(loss, weights, allow_unused=True)
        gradients = [
            torch.zeros_like(weight) if gradient is None else gradient
            for weight, gradient in zip(weights, gradients, strict=True)
        ]
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        norms.append(float(norm))
        factor = 1.0 if norm == 0 else min(1.0, clip / float(norm))
        for total, gradient in zip(sums, gradients, strict=True):
            total.add_(factor * gradient)
    return sums, np.array(norms)


def user_losses(network, texts, weighting):
    """Each user's loss: texts[u] is a list of documents, each a list of entries; one document at a
    time, so that nothing is padded.
    """
    for documents in texts:
        losses = []
        for document in documents:
            entries = torch.tensor([document])
            logits = network.output(network.hidden(entries[:, :-1]))[0]
            losses.append(
                torch.nn.functional.cross_entropy(logits, entries[0, 1:], reduction="none")
            )
        joined = torch.cat(losses)
        yield joined.mean() if weighting == "mean" else joined.sum()


def batch_of(texts, order):
    """The documents as a padded batch, in some order, and the user of each."""
    flat = [(user, document) for user, documents in enumerate(texts) for document in documents]
    flat = [flat[i] for i in order]
    sizes = np.array([len(document) - 1 for _, document in flat])
    here = np.arange(sizes.max()) < sizes[:, None]
    inputs = np.zeros(here.shape, np.int64)
    inputs[here] = np.concatenate([document[:-1] for _, document in flat])
    labels = np.concatenate([document[1:] for _, document in flat]).astype(np.int64)
    places = torch.from_numpy(np.flatnonzero(here))
    batch = Batch(torch.from_numpy(inputs), places, torch.from_numpy(labels))
    return batch, np.array([user for user, _ in flat])


def assert_same(found, expected, relative=1e-10):
    """That every tensor is the same, relative to the largest number of all."""
    scale = max(float(each.abs().max()) for each in expected)
    for mine, plain in zip(found, expected, strict=True):
        assert float((mine - plain).abs().max()) <= relative * scale


def between(norms, where):
    """A clip below all norms, above all, or in their midst."""
    if where == "below":
        return 0.5 * float(norms.min())
    return 2 * float(norms.max()) if where == "above" else float(np.median(norms)) * 1.01
