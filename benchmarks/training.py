"""Training against a plain PyTorch loop over the same batches."""

import torch

from benchmarks import material
from benchmarks.lines import Line, interleaved
from leakscope.models.word.architecture import PRESETS
from leakscope.models.word.networks import Network, make_network
from leakscope.training.steps.batches import Batch, TrainingText, epoch_order
from leakscope.training.steps.loss import training_loss
from leakscope.training.steps.plain_step import descend, make_optimizer
from leakscope.training.train_settings import TrainSettings

PRESET = "lstm-2x128"


def plain_step(network: Network, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    """Padded labels, full logits, cross-entropy that ignores the padding, Adam as it comes."""
    labels = torch.full((batch.inputs.numel(),), -100)
    labels[batch.places] = batch.labels
    states, _ = network.body(network.embedding(batch.inputs))
    logits = network.output(states).flatten(0, 1)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
    optimizer.step()
    return float(loss.detach())


def lines(words: int = 300_000, steps: int = 25) -> list[Line]:
    on = material.corpus(words)
    settings = TrainSettings.from_preset(PRESET)
    documents = on.load()
    entries = documents.ids.clip(max=settings.vocabulary).astype("int64")
    mark = settings.vocabulary + 1
    text = TrainingText(entries, documents.offsets, mark, settings.max_words)
    order = list(epoch_order(text, settings.batch_size, 0, 0))[:steps]
    networks = [
        make_network(PRESETS[PRESET].architecture, mark + 1, torch.Generator().manual_seed(0))
        for _ in range(2)
    ]
    fast = make_optimizer(networks[0], settings.optimizer, settings.learning_rate)
    usual = torch.optim.Adam(networks[1].parameters(), lr=settings.learning_rate)
    losses: tuple[list[float], list[float]] = ([], [])

    def ours() -> None:
        for pieces in order:
            loss = training_loss(networks[0], text.batch(pieces), None)
            descend(networks[0], fast, loss, settings.clip)
            losses[0].append(float(loss.detach()))

    def theirs() -> None:
        for pieces in order:
            losses[1].append(plain_step(networks[1], usual, text.batch(pieces)))

    mine, plain = interleaved(ours, theirs, 3)
    apart = max(abs(a - b) / b for a, b in zip(*losses, strict=True))
    detail = f"losses differ by at most {apart:.2%} over {len(losses[0])} steps"
    return [Line(f"plain loop / train {PRESET}", plain / mine, 1.3, False, detail=detail)]
