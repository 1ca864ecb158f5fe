"""Users that meet in a batch are noticed, in whichever way; those that do not are left in peace."""

import peft
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout

import tiny_causal
from leakscope.records.errors import LeakscopeError
from leakscope.training import LoopOptions, PrivacySettings, make_private, next_token_loss
from leakscope.training.dp.custom_loop.users_apart import CheckTimes
from plain_steps import ENTRIES, drawn_users

USERS = 6
MEET = "depends on other users"
CHANCE = "another loss each time"


@pytest.fixture(autouse=True)
def without_onednn(monkeypatch):
    """Its kernels for half precision need AMX, which virtual machines may announce but not have."""
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)


def gpt2(kind="plain"):
    """In float32, as it is used; `half`: adapters on frozen weights in bfloat16."""
    network = tiny_causal.network("gpt2", ENTRIES, context=32, scale=0.2).requires_grad_(True)
    if kind != "plain":
        torch.manual_seed(0)
        config = peft.LoraConfig(
            r=3, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, init_lora_weights=False
        )
        network = peft.get_peft_model(network, config)
    if kind == "half":
        for weight in network.parameters():
            if not weight.requires_grad:
                weight.data = weight.data.bfloat16()
        for name, weight in network.named_parameters():
            if weight.requires_grad:
                assert weight.dtype == torch.float32, name
    return network.eval()


class Recurrent(nn.Module):
    """A word-level LSTM that reads rows padded at the end."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(ENTRIES, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True)
        self.output = nn.Linear(12, ENTRIES)

    def forward(self, input_ids, **_):
        class Answer:
            logits = self.output(self.lstm(self.embedding(input_ids))[0])

        return Answer


def padded(side):
    """A collate of one's own: (ids, mask), padded by a token that there is."""

    def collate(examples):
        longest = max(map(len, examples))
        ids = torch.full((len(examples), longest), 3)
        mask = torch.zeros(len(examples), longest, dtype=torch.bool)
        for row, example in enumerate(examples):
            here = (
                slice(0, len(example)) if side == "right" else slice(longest - len(example), None)
            )
            ids[row, here] = torch.tensor(example)
            mask[row, here] = True
        return ids, mask

    return collate


def by_length(examples):
    return padded("right")(sorted(examples, key=len))


def masked_loss(network, rows, *, masked=True, positions=True):
    ids, mask = rows
    options = {"attention_mask": mask.long()} if masked else {}
    if positions:
        options["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    logits = network(input_ids=ids, use_cache=False, **options).logits[:, :-1]
    losses = cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return (losses * (mask[:, 1:] & mask[:, :-1])).sum(1)


def unmasked_loss(network, rows):
    return masked_loss(network, rows, masked=False, positions=False)


def loss_over_padding(network, rows):
    ids, _ = rows
    return masked_loss(network, (ids, torch.ones_like(ids, dtype=torch.bool)))


def earlier(network, rows):
    return next_token_loss(network, rows).cumsum(0)


def later(network, rows):
    return next_token_loss(network, rows).flip(0).cumsum(0).flip(0)


def neighbour(network, rows):
    """Every row looks at the one before it, a little."""
    found = next_token_loss(network, rows)
    return found + 0.05 * torch.cat((torch.zeros_like(found[:1]), found[:-1]))


def with_mean(network, rows):
    found = next_token_loss(network, rows)
    return found + found.mean()


def by_gradient_only(network, rows):
    """The losses are right; only what they are derived by is not."""
    found = next_token_loss(network, rows)
    seen = later(network, rows) - found
    return found + seen - seen.detach()


def by_mean_gradient(network, rows):
    """A mean over the batch, behind the back of the losses."""
    found = next_token_loss(network, rows)
    return found.detach() + (found - found.detach()) / len(found)


def dropping(network, rows):
    return dropout(next_token_loss(network, rows), 0.5, training=True)


BAD = {
    "earlier rows": (earlier, None, MEET),
    "later rows": (later, None, MEET),
    "the row before": (neighbour, None, MEET),
    "the mean of all": (with_mean, None, MEET),
    "gradients of others": (by_gradient_only, None, MEET),
    "left padding, no mask": (unmasked_loss, padded("left"), MEET),
    "padding in the loss": (loss_over_padding, padded("right"), MEET),
    "rows in another order": (masked_loss, by_length, MEET),
    "dropout": (dropping, None, CHANCE),
}
GOOD = {
    "right padding": (unmasked_loss, padded("right")),
    "right padding, masked": (masked_loss, padded("right")),
    "left padding, masked": (masked_loss, padded("left")),
    "token ids": (next_token_loss, None),
}


def loop(network, out, loss_of, collate=None, **changes):
    given = {"rate": 1.0, "noise_multiplier": 0.1, "clip": 0.5, "insecure_seed": 1} | changes
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    return make_private(
        network,
        torch.optim.SGD(weights, lr=0.01),
        drawn_users(USERS),
        PrivacySettings(**given),
        steps=40,
        out=out,
        options=LoopOptions(loss_of=loss_of, collate=collate),
    )


@pytest.mark.parametrize("case", BAD)
def test_users_that_meet_are_noticed_before_anything_is_spent(case, tmp_path):
    loss_of, collate, said = BAD[case]
    network = gpt2()
    private = loop(network, tmp_path, loss_of, collate)
    with pytest.raises(LeakscopeError, match=said):
        private.take()
    assert private.record().steps == 0
    assert all(weight.grad is None for weight in network.parameters())


def test_where_gradients_meet_users_are_taken_by_themselves_or_refused(tmp_path):
    private = loop(gpt2(), tmp_path / "auto", by_mean_gradient)
    private.take()
    assert private._mechanism.clipper.method == "microbatch"
    with pytest.raises(LeakscopeError, match="microbatch"):
        loop(gpt2(), tmp_path / "ghost", by_mean_gradient, method="ghost").take()


@pytest.mark.parametrize("method", ["ghost", "microbatch"])
@pytest.mark.parametrize("kind", ["plain", "lora", "half"])
@pytest.mark.parametrize("case", GOOD)
def test_users_that_do_not_meet_are_left_in_peace(case, kind, method, tmp_path):
    loss_of, collate = GOOD[case]
    private = loop(gpt2(kind), tmp_path, loss_of, collate, method=method)
    for _ in range(5):
        private.take()


def test_a_recurrent_network_is_left_in_peace(tmp_path):
    private = loop(Recurrent(), tmp_path, unmasked_loss, padded("right"))
    for _ in range(5):
        private.take()
    with pytest.raises(LeakscopeError, match=MEET):
        loop(Recurrent(), tmp_path / "left", unmasked_loss, padded("left")).take()


class Remembering(nn.Module):
    """Keeps what it saw, in one of several places, where PyTorch does not count changes."""

    def __init__(self, place):
        super().__init__()
        self.layer, self.place, self.seen = nn.Linear(4, 1), place, torch.zeros(4)
        self.register_buffer("kept", torch.zeros(4))

    def forward(self, rows):
        mean = rows.detach().mean(0)
        if self.place == "buffer":
            self.kept.data += mean
        elif self.place == "weight":
            self.layer.bias.data += 1e-3 * mean.sum()
        elif self.place == "attribute":
            rows, self.seen = rows + self.seen, mean
        return self.layer(rows)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("buffer", "in its buffers"),
        ("weight", "another loss|weights changed"),
        ("attribute", "another loss|other users"),
    ],
)
def test_a_network_that_remembers_is_refused(place, said, tmp_path):
    torch.manual_seed(0)
    data = [[torch.randn(4)] for _ in range(USERS)]
    network = Remembering(place)
    private = make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.1),
        data,
        PrivacySettings(rate=1.0, noise_multiplier=1.0),
        steps=3,
        out=tmp_path,
        options=LoopOptions(lambda network, rows: network(rows)[:, 0].square(), torch.stack),
    )
    with pytest.raises(LeakscopeError, match=said):
        private.take()
    assert private.record().steps == 0


def test_users_who_meet_only_later_are_noticed_from_time_to_time(tmp_path):
    meeting = False

    def loss_of(network, rows):
        return (earlier if meeting else next_token_loss)(network, rows)

    private = loop(gpt2(), tmp_path, loss_of)
    for _ in range(5):
        private.take()
    meeting = True
    with pytest.raises(LeakscopeError, match=MEET):
        for _ in range(4):  # the ninth step is checked
            private.take()
    assert private.done == 8


def test_texts_beyond_any_number_tell_nothing(tmp_path):
    """A user who breaks the network contributes nothing; to stop would tell of that user."""
    network = nn.Linear(4, 1)
    data = [[torch.full((4,), 1.0 if user else float("inf"))] for user in range(USERS)]
    private = make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.1),
        data,
        PrivacySettings(rate=1.0, noise_multiplier=1.0),
        steps=3,
        out=tmp_path,
        options=LoopOptions(lambda network, rows: network(rows)[:, 0].square(), torch.stack),
    )
    assert len(list(private)) == 3
    assert all(bool(torch.isfinite(weight).all()) for weight in network.parameters())


def test_checks_come_at_first_and_then_at_growing_distances():
    times = CheckTimes()
    assert [step for step in range(100) if times.due(5)] == [0, 1, 2, 4, 8, 16, 32, 64]
    times = CheckTimes()
    few = {0, 1, 2, 3, 5, 9, 10}
    assert [step for step in range(50) if times.due(1 if step in few else 2)] == [4, 6, 7, 14, 28]
