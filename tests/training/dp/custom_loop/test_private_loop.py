"""`make_private` against plain loops; what it records, resumes and refuses."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from leakscope.records.errors import LeakscopeError
from leakscope.training import (
    LoopOptions,
    PrivacySettings,
    TokenRows,
    make_private,
    next_token_loss,
)
from leakscope.training.dp.accounting.accountant import epsilon
from leakscope.training.dp.caveats import CUSTOM_LOOP, INSECURE, WARM
from leakscope.training.dp.custom_loop.private_loop import PrivateLoop
from leakscope.training.dp.dp_settings import LEDGER
from plain_steps import drawn_network, drawn_users, plain_steps, text_loss

SEED = 7
USERS = 12


def terms(**changes):
    given = {"rate": 0.4, "noise_multiplier": 0.8, "clip": 0.3, "insecure_seed": SEED}
    return PrivacySettings(**(given | changes))


def sgd(network):
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    return torch.optim.SGD(weights, lr=0.1, momentum=0.9)


def weights_of(network):
    return [weight.detach().clone() for weight in network.parameters()]


def assert_same_change(start, found, expected, relative=1e-10):
    changes = [
        [after.detach() - before for before, after in zip(start, ends, strict=True)]
        for ends in (found, expected)
    ]
    scale = max(float(change.abs().max()) for change in changes[1])
    assert scale > 0
    for mine, plain in zip(*changes, strict=True):
        assert float((mine - plain).abs().max()) <= relative * scale


def norms(network, losses):
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    gradients = [torch.autograd.grad(loss, weights) for loss in losses]
    return [float(torch.cat([each.flatten() for each in found]).norm()) for found in gradients]


@pytest.mark.parametrize("method", ["auto", "microbatch"])
@pytest.mark.parametrize("kind", ["gpt2", "llama", "gpt2-lora"])
def test_steps_are_those_of_a_plain_loop(kind, method, tmp_path):
    network, data = drawn_network(kind), drawn_users(USERS)
    plain, start = copy.deepcopy(network).eval(), weights_of(network)
    # In the midst of the norms, so that some users are clipped and some are not.
    clip = float(np.median(norms(plain, [text_loss(plain, documents) for documents in data])))
    private = make_private(
        network, sgd(network), data, terms(method=method, clip=clip), steps=3, out=tmp_path
    )
    assert [taken.step for taken in private] == [1, 2, 3]
    plain_steps(
        plain, sgd(plain), lambda user: text_loss(plain, data[user]), USERS, private.plan, SEED,
        range(3),
    )  # fmt: skip
    assert_same_change(start, network.parameters(), plain.parameters())
    assert all(weight.grad is None for weight in network.parameters())


class Judge(nn.Module):
    """No language model at all."""

    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(4, 5), nn.Dropout(0.9), nn.Linear(5, 2)
        self.scale = nn.Parameter(torch.ones(5))
        self.double()

    def forward(self, x):
        return self.last(self.drop(self.first(x).tanh() * self.scale))


def judged(network, rows):
    x, label = rows
    return nn.functional.cross_entropy(network(x), label, reduction="none")


def pairs(examples):
    return torch.stack([x for x, _ in examples]), torch.tensor([label for _, label in examples])


def drawn_examples(users=USERS):
    generator = torch.Generator().manual_seed(1)
    return [
        [
            (torch.randn(4, generator=generator).double(), (user + i) % 2)
            for i in range(user % 4 + 1)
        ]
        for user in range(users)
    ]


def test_any_module_with_a_collate_of_ones_own(tmp_path):
    torch.manual_seed(0)
    network, data = Judge(), drawn_examples()
    plain, start = copy.deepcopy(network).eval(), weights_of(network)
    private = make_private(
        network,
        sgd(network),
        data,
        terms(),
        steps=4,
        out=tmp_path,
        options=LoopOptions(loss_of=judged, collate=pairs),
    )
    assert len(list(private)) == 4
    plain_steps(
        plain, sgd(plain), lambda user: judged(plain, pairs(data[user])).mean(), USERS,
        private.plan, SEED, range(4),
    )  # fmt: skip
    assert_same_change(start, network.parameters(), plain.parameters())


def test_no_step_sees_more_words_of_a_user_than_allowed(tmp_path):
    """Every user has tokens of its own, so rows tell whose they are."""
    data = [[[user] * 9, [user] * 3, [user] * 7] for user in range(USERS)]
    seen = []

    def spy(network, rows):
        if torch.is_grad_enabled():  # one user at a time, as the method is
            assert len(set(rows.ids[:, 0].tolist())) == 1
            seen.append((int(rows.ids[0, 0]), tuple((rows.mask.sum(1) - 1).tolist())))
        return next_token_loss(network, rows)

    network = drawn_network("gpt2")
    settings = terms(words_per_user=6, rate=1.0, method="microbatch")
    private = make_private(
        network,
        sgd(network),
        data,
        settings,
        steps=1,
        out=tmp_path,
        options=LoopOptions(loss_of=spy),
    )
    private.take()
    for user in range(USERS):
        given = [words for owner, words in seen if owner == user]
        assert given and all(sum(words) == 6 for words in given)
    assert len({words for _, words in seen}) > 1


def test_documents_may_be_the_units(tmp_path):
    network, data = drawn_network("gpt2"), drawn_users(USERS)
    flat = [document for documents in data for document in documents]
    plain, start = copy.deepcopy(network), weights_of(network)
    settings = terms(unit="document")
    private = make_private(network, sgd(network), data, settings, steps=1, out=tmp_path)
    assert private.plan.units == len(flat) > USERS
    private.take()
    plain_steps(
        plain, sgd(plain), lambda unit: text_loss(plain, [flat[unit]]), len(flat), private.plan,
        SEED, range(1),
    )  # fmt: skip
    assert_same_change(start, network.parameters(), plain.parameters())
    assert private.record().unit == "document"


def test_a_step_that_draws_nobody_is_noise_and_counts(tmp_path):
    network = drawn_network("gpt2")
    start = weights_of(network)
    settings = terms(rate=1e-9, insecure_seed=None)
    with make_private(
        network, sgd(network), drawn_users(USERS), settings, steps=1, out=tmp_path
    ) as private:
        private.take()
    moved = torch.cat(
        [
            (after.detach() - before).flatten() / 0.1 * private.plan.denominator
            for before, after in zip(start, network.parameters(), strict=True)
        ]
    )
    assert float(moved.std()) == pytest.approx(0.8 * 0.3, rel=0.05)
    assert private.record().steps == 1


def test_noise_is_never_the_same_twice_without_a_seed(tmp_path):
    ends = []
    for name in ("one", "two"):
        network = drawn_network("gpt2")
        settings = terms(insecure_seed=None)
        make_private(
            network, sgd(network), drawn_users(USERS), settings, steps=1, out=tmp_path / name
        ).take()
        ends.append(next(network.parameters()).detach())
    assert not torch.equal(*ends)


def test_the_record_is_the_accountants(tmp_path):
    network = drawn_network("gpt2")
    private = make_private(
        network, sgd(network), drawn_users(USERS), terms(delta=1e-3), steps=3, out=tmp_path
    )
    assert private.record().epsilon == 0
    for taken in private:
        assert taken.total == 3
        assert taken.epsilon() == epsilon(0.8, 0.4, taken.step, 1e-3)
    record = private.record()
    assert record.epsilon == epsilon(0.8, 0.4, 3, 1e-3)
    assert (record.steps, record.lost_steps, record.units) == (3, 0, USERS)
    assert record.expected_units == 0.4 * USERS
    assert record.caveats[0] == INSECURE
    assert {WARM, CUSTOM_LOOP} <= set(record.caveats)
    with pytest.raises(LeakscopeError, match="All steps"):
        private.take()


def test_snapshots_are_announced(tmp_path):
    network = drawn_network("gpt2")
    wanted = epsilon(0.8, 0.4, 2, 1e-3)
    settings = terms(delta=1e-3, snapshot_at_epsilon=(wanted + 1e-6,))
    private = make_private(
        network, sgd(network), drawn_users(USERS), settings, steps=3, out=tmp_path
    )
    assert [len(taken.snapshots) for taken in private] == [0, 1, 0]


def test_every_snapshot_is_announced_and_none_is_lost_in_a_crash(tmp_path):
    costs = [0, *(epsilon(0.8, 0.4, steps, 1e-3) for steps in range(1, 5))]
    both = (costs[2] + 1e-6, costs[2] + 2e-6)
    wanted = (costs[1] / 2, *both, costs[4])
    names = [f"epsilon-{value!r}" for value in wanted]
    given = {"steps": 3, "snapshot_at_epsilon": wanted}
    first = loop_in(tmp_path, **given)
    assert [first.take().snapshots for _ in range(2)] == [(), tuple(names[1:3])]
    assert list(first.missed) == [names[0], names[3]]
    assert f"ends at epsilon {np.ceil(1000 * costs[3]) / 1000:g}" in first.missed[names[3]]
    # The weights were lost, the steps are spent: no other step stays within those two.
    again = loop_in(tmp_path, done=1, **given)
    assert again.due == tuple(names[1:3])
    assert again.record().epsilon == costs[2] <= wanted[1]
    assert again.take().snapshots == ()
    assert list(loop_in(tmp_path, done=2, **given).missed) == names[:3]


OPEN = []


def loop_in(folder, network=None, **changes):
    """A loop in a folder; the one before it is closed, as it is when its process dies."""
    while OPEN:
        OPEN.pop().close()
    network = network or drawn_network("gpt2")
    given = {"steps": 6, "out": folder, "done": 0, "options": LoopOptions()}
    options = {name: changes.pop(name) for name in list(changes) if name in given}
    data = changes.pop("data", drawn_users(USERS))
    settings = terms(**({"delta": 1e-3} | changes))
    OPEN.append(make_private(network, sgd(network), data, settings, **(given | options)))
    return OPEN[-1]


def test_lost_steps_are_counted(tmp_path):
    first = loop_in(tmp_path)
    for taken in first:
        if taken.step == 5:
            break
    second = loop_in(tmp_path, done=2)  # a checkpoint after the second step was all that remained
    assert (second.done, second.total) == (2, 6)
    assert second.record().lost_steps == 3
    assert [taken.step for taken in second] == [3, 4, 5, 6]
    record = second.record()
    assert (record.steps, record.lost_steps) == (9, 3)
    assert record.epsilon == epsilon(0.8, 0.4, 9, 1e-3)


def test_a_resumed_loop_goes_on_as_if_nothing_had_happened(tmp_path):
    whole, network = drawn_network("gpt2"), drawn_network("gpt2")
    plain = torch.optim.SGD(whole.parameters(), lr=0.1)
    settings = terms()
    data = drawn_users(USERS)
    list(make_private(whole, plain, data, settings, steps=5, out=tmp_path / "whole"))
    for done, until in ((0, 2), (2, 5)):
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        with make_private(
            network, optimizer, data, settings, steps=5, out=tmp_path / "parts", done=done
        ) as private:
            for taken in private:
                if taken.step == until:
                    break
    for mine, other in zip(network.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_an_error_in_a_step_leaves_no_gradient_without_noise(tmp_path, monkeypatch):
    def full(step):
        assert any(weight.grad.any() for weight in network.parameters())
        raise OSError("disk full")

    network = drawn_network("gpt2")
    start = weights_of(network)
    private = loop_in(tmp_path, network, rate=1.0)
    monkeypatch.setattr(private._mechanism.ledger, "begin_step", full)
    with pytest.raises(OSError, match="disk full"):
        private.take()
    assert all(weight.grad is None for weight in network.parameters())
    assert all(map(torch.equal, network.parameters(), start))
    assert private.done == 0


def test_fewer_steps_are_left_within_a_target_after_a_loss(tmp_path):
    target = {"noise_multiplier": None, "target_epsilon": 8.0}
    first = loop_in(tmp_path, steps=40, **target)
    for _ in range(10):
        first.take()
    second = loop_in(tmp_path, steps=40, options=LoopOptions(restart=True), **target)
    assert second.total == 30
    list(second)
    assert 7.5 < second.record().epsilon <= 8


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clip": 0.4}, "clip 0.3 before, 0.4 now"),
        ({"noise_multiplier": 0.9}, "noise multiplier 0.8 before, 0.9 now"),
        ({"rate": 0.3}, "sampling rate 0.4 before, 0.3 now"),
        ({"data": drawn_users(USERS, seed=1)}, "another text"),
        ({"words_per_user": 3}, "words per user 500 before, 3 now"),
        ({"insecure_seed": None}, "insecure seed True before, False now"),
    ],
)
def test_other_terms_are_refused_on_resume(changes, said, tmp_path):
    loop_in(tmp_path).take()
    with pytest.raises(LeakscopeError, match=rf"other privacy settings \({said}"):
        loop_in(tmp_path, done=1, **changes)


def test_a_checkpoint_without_its_ledger_is_refused(tmp_path):
    with pytest.raises(LeakscopeError, match="not known"):
        loop_in(tmp_path, done=1)


@pytest.mark.parametrize("changes", [{"steps": 0}, {"done": -1}, {"steps": 3, "done": 4}])
def test_senseless_numbers_of_steps_are_refused(changes, tmp_path):
    with pytest.raises(LeakscopeError, match="at least 1 step"):
        loop_in(tmp_path, **changes)


def test_what_is_written_is_private_and_only_the_ledger(tmp_path):
    with loop_in(tmp_path / "out") as private:
        list(private)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [LEDGER]
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "out" / LEDGER).stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_where_something_is_refused(tmp_path):
    with pytest.raises(LeakscopeError):
        loop_in(tmp_path / "out", data=[])
    assert not (tmp_path / "out").exists()


def test_documents_longer_than_the_context_are_refused(tmp_path):
    long = [[list(range(17))]] * USERS
    with pytest.raises(LeakscopeError, match="at most 16 tokens"):
        loop_in(tmp_path, data=long)
    loop_in(tmp_path, data=long, words_per_user=15).take()


def test_a_loss_that_is_not_by_row_is_refused(tmp_path):
    network = drawn_network("gpt2")
    private = make_private(
        network,
        sgd(network),
        drawn_users(USERS),
        terms(rate=1.0),
        steps=1,
        out=tmp_path,
        options=LoopOptions(loss_of=lambda network, rows: next_token_loss(network, rows).mean()),
    )
    with pytest.raises(LeakscopeError, match="one loss for each row"):
        private.take()
    assert private.record().steps == 0


def centred(network, rows):
    """Looks at all rows together, as contrastive losses do."""
    x, label = rows
    return judged(network, (x - x.mean(0), label))


def centring(examples):
    x, label = pairs(examples)
    return x - x.mean(0), label


def padding(examples):
    """Pads by numbers that the network looks at."""
    x, label = pairs(examples)
    return x + len(examples), label


@pytest.mark.parametrize("method", ["auto", "microbatch"])
@pytest.mark.parametrize(
    "changes", [{"loss_of": centred}, {"collate": centring}, {"collate": padding}]
)
def test_users_that_meet_in_the_loss_or_in_collate_are_noticed(changes, method, tmp_path):
    torch.manual_seed(0)  # some weights look at hardly anything that the others do
    network, options = Judge(), LoopOptions(**({"loss_of": judged, "collate": pairs} | changes))
    settings = terms(rate=1.0, method=method)
    private = make_private(
        network, sgd(network), drawn_examples(), settings, steps=1, out=tmp_path, options=options
    )
    with pytest.raises(LeakscopeError, match="depends on other users"):
        private.take()
    assert private.record().steps == 0
    assert all(weight.grad is None for weight in network.parameters())


def test_a_closed_loop_takes_no_step_but_keeps_its_record(tmp_path):
    private = loop_in(tmp_path)
    private.take()
    private.close()
    private.close()
    assert private.record().steps == 1
    with pytest.raises(LeakscopeError, match="closed"):
        private.take()


def test_the_public_names_are_there_and_do_not_wait_for_the_accountant():
    import leakscope.training as public

    assert sorted(public.__all__) == list(public.__all__)
    assert public.PrivateLoop is PrivateLoop
    assert public.TokenRows is TokenRows
    assert all(hasattr(public, name) for name in public.__all__)
    with pytest.raises(AttributeError):
        _ = public.nonsense
    code = "import sys, leakscope.training; sys.exit('dp_accounting' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
