"""Private steps in plain lines, and the networks and users that they are tried on."""

import numpy as np
import torch
from torch import nn

import tiny_causal
from leakscope.training.dp.noise.noise_source import InsecureNoise
from leakscope.training.dp.sampling import InsecureUsers

ENTRIES = 19


def plain_steps(network, optimizer, losses_of, users, plan, seed, steps):
    """Take steps the slow way: `losses_of(user)` is one user's mean loss."""
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    for step in steps:
        sums = [torch.zeros_like(weight) for weight in weights]
        bits = InsecureUsers(seed).bits(users, step)
        for user in range(users):
            if int(bits[user]) / 2**64 >= plan.rate:
                continue
            gradients = torch.autograd.grad(losses_of(user), weights, allow_unused=True)
            gradients = [
                torch.zeros_like(weight) if gradient is None else gradient
                for weight, gradient in zip(weights, gradients, strict=True)
            ]
            norm = float(torch.cat([gradient.flatten() for gradient in gradients]).norm())
            for total, gradient in zip(sums, gradients, strict=True):
                total.add_(gradient * min(1.0, plan.clip / norm))
        InsecureNoise(seed).add_(sums, plan.noise_multiplier * plan.clip, step)
        for weight, total in zip(weights, sums, strict=True):
            weight.grad = total / (plan.rate * users)
        optimizer.step()


def drawn_users(users, seed=0, most=4, longest=9):
    rng = np.random.default_rng(seed)
    return [
        [rng.integers(0, ENTRIES, rng.integers(2, longest + 1)).tolist() for _ in range(count)]
        for count in rng.integers(1, most + 1, users)
    ]


def text_loss(network, documents):
    """The mean loss over all tokens of a user, one document at a time."""
    total, tokens = 0.0, 0
    for document in documents:
        ids = torch.tensor([document])
        logits = network(input_ids=ids).logits[0, :-1]
        total = total + nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum")
        tokens += len(document) - 1
    return total / tokens


def drawn_network(kind, seed=0):
    """A tiny causal network in float64, also in its norms, which Llama computes in float32."""
    network = tiny_causal.network(kind.split("-")[0], ENTRIES, seed, context=16).double()
    network.requires_grad_(True)
    if kind == "llama":
        for holder in [network.model, *network.model.layers]:
            for name, layer in list(holder.named_children()):
                if type(layer).__name__ == "LlamaRMSNorm":
                    plain = nn.RMSNorm(16, eps=layer.variance_epsilon, dtype=torch.float64)
                    setattr(holder, name, plain)
    if kind == "gpt2-lora":
        import peft

        wanted = peft.LoraConfig(
            r=3, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, lora_dropout=0.5
        )
        network = peft.get_peft_model(network, wanted).double()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weight in network.named_parameters():
                if "lora" in name:
                    weight.copy_(torch.randn(weight.shape, generator=generator).double() * 0.2)
    return network
