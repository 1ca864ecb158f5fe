"""Private training as a whole: each step as by hand, what is recorded, and its snapshots."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import KINDS, Architecture
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.models.word.networks import make_network
from leakscope.records.errors import LeakscopeError
from leakscope.training import training_run
from leakscope.training.dp.accounting.accountant import epsilon
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import open_ledger
from leakscope.training.dp.noise.noise_source import InsecureNoise
from leakscope.training.dp.privacy_plan import plan_of
from leakscope.training.dp.privacy_units import units_of
from leakscope.training.dp.sampling import InsecureUsers, PoissonSampler
from leakscope.training.loop import train
from leakscope.training.steps.batches import TrainingText
from leakscope.training.train_settings import TrainSettings
from leakscope.training.vocabulary import known_words
from private_training import TINY, private, tiny_corpus


@pytest.fixture
def corpus(tmp_path):
    return tiny_corpus(tmp_path / "corpus")


def by_hand(corpus, settings, steps):
    """The same training in plain lines: for each drawn user a gradient by autograd, clipped."""
    terms, documents = settings.mitigation, corpus.load()
    words = known_words(corpus.lexicon, settings.vocabulary, settings.vocabulary_users)
    generator = torch.Generator().manual_seed(settings.seed)
    network = make_network(settings.architecture, len(words) + 2, generator)
    entries = [
        words.index(word) if word in words else len(words)
        for word in corpus.lexicon.spell(documents.ids)
    ]
    mark = len(words) + 1
    text = TrainingText(np.array(entries), documents.offsets, mark, settings.max_words)
    units = units_of(documents, settings.max_words, terms.unit)
    sampler = PoissonSampler(
        units, terms.rate, terms.words_per_user, seed=settings.seed,
        source=InsecureUsers(terms.insecure_seed),
    )  # fmt: skip
    weights = list(network.parameters())
    optimizer = torch.optim.Adam(weights, lr=settings.learning_rate)
    seen = []
    for step in range(steps):
        draw = sampler.draw(step)
        seen.append(len(draw))
        total = [torch.zeros_like(weight) for weight in weights]
        for user in range(len(draw)):
            mine = slice(draw.offsets[user], draw.offsets[user + 1])
            losses = []
            for piece, size in zip(draw.pieces[mine], draw.sizes[mine], strict=True):
                batch = text.batch(np.array([piece]))
                logits = network.output(network.hidden(batch.inputs[:, :size]))[0]
                losses.append(
                    torch.nn.functional.cross_entropy(logits, batch.labels[:size], reduction="none")
                )
            gradients = torch.autograd.grad(torch.cat(losses).mean(), weights, allow_unused=True)
            gradients = [
                torch.zeros_like(w) if g is None else g
                for w, g in zip(weights, gradients, strict=True)
            ]
            norm = torch.cat([each.flatten() for each in gradients]).norm()
            for sum_, gradient in zip(total, gradients, strict=True):
                sum_.add_(gradient * min(1.0, terms.clip / float(norm)))
        InsecureNoise(terms.insecure_seed).add_(total, terms.noise_multiplier * terms.clip, step)
        for weight, sum_ in zip(weights, total, strict=True):
            weight.grad = sum_ / (terms.rate * len(units))
        optimizer.step()
    return network, len(units), seen


@pytest.mark.parametrize("method", ["ghost", "microbatch"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", ["user", "document"])
def test_every_step_is_as_by_hand(corpus, tmp_path, kind, method, unit):
    rate = 0.3 if unit == "user" else 0.1
    settings = private(kind, method=method, unit=unit, rate=rate)
    train(corpus, tmp_path / "m", settings)
    config = load_config(tmp_path / "m")
    steps = settings.epochs * int(np.ceil(1 / rate))
    network, units, seen = by_hand(corpus, settings, steps)
    found = load_file(tmp_path / "m" / "model.safetensors")
    # Adam divides by the size of tiny gradients, which makes much of their rounding.
    for name, weight in network.state_dict().items():
        torch.testing.assert_close(found[name], weight, atol=2e-4, rtol=2e-3)
    assert config.privacy.steps == steps and config.privacy.units == units
    assert len(set(seen)) > 1, "the draws differ in size, the denominator does not"
    assert config.privacy.expected_units == pytest.approx(rate * units)


def test_what_is_recorded(corpus, tmp_path):
    settings = private(noise_multiplier=None, target_epsilon=4.0, epochs=5)
    trained = train(corpus, tmp_path / "m", settings)
    found = load_config(tmp_path / "m").privacy
    assert found.epsilon <= 4.0 and found.epsilon > 3.9
    assert found.epsilon == epsilon(found.noise_multiplier, 0.3, 20, found.delta)
    assert found.delta <= found.units**-1.1 and found.lost_steps == 0 and found.steps == 20
    assert found.insecure_seed and "--insecure-seed" in found.caveats[0]
    assert any("vocabulary" in caveat for caveat in found.caveats)
    epsilons = [line["epsilon"] for line in trained.history]
    assert epsilons == sorted(epsilons) and epsilons[-1] == found.epsilon
    # The text's own figures would be without noise.
    for line in trained.history:
        assert line["train_loss"] is None and line["train_perplexity"] is None
    assert load_config(tmp_path / "m").training["mitigation"]["kind"] == "dp"
    table = pq.read_table(tmp_path / "m" / "history.parquet")
    assert table["epsilon"].to_pylist() == epsilons


def test_secure_noise_differs_from_run_to_run(corpus, tmp_path):
    for name in ("a", "b"):
        train(corpus, tmp_path / name, private(insecure_seed=None, epochs=1))
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("a", "b"))
    assert not torch.equal(first["embedding.weight"], second["embedding.weight"])
    assert not load_config(tmp_path / "a").privacy.insecure_seed


def test_snapshots_are_taken_at_epsilons(corpus, tmp_path):
    settings = private(delta=0.031, snapshot_at_epsilon=(3.0, 5.0), epochs=8, checkpoint_steps=7)
    train(corpus, tmp_path / "m", settings)
    names = sorted(path.name for path in (tmp_path / "m" / "snapshots").iterdir())
    assert names == ["epsilon-3", "epsilon-5"]
    for name, most in (("epsilon-3", 3.0), ("epsilon-5", 5.0)):
        found = load_config(tmp_path / "m" / "snapshots" / name).privacy
        one_more = epsilon(found.noise_multiplier, found.rate, found.steps + 1, found.delta)
        assert found.epsilon <= most < one_more
        assert load_model(tmp_path / "m" / "snapshots" / name).vocabulary


def snapshots_of(model):
    found = {path.name: load_config(path) for path in (model / "snapshots").iterdir()}
    assert all(load_model(model / "snapshots" / name).vocabulary for name in found)
    return found


def test_every_epsilon_gets_its_snapshot_and_what_is_not_reached_is_told(corpus, tmp_path):
    said = []
    wanted = (0.001, 3.0, 3.0000001, 3.01, 40.0)
    trained = train(
        corpus, tmp_path / "m", private(delta=0.031, snapshot_at_epsilon=wanted, epochs=8),
        progress=lambda stage, done, total=None, note="": said.append((stage, note)),
    )  # fmt: skip
    found = snapshots_of(tmp_path / "m")
    assert sorted(found) == ["epsilon-3", "epsilon-3.0000001", "epsilon-3.01"]
    assert len({config.progress["step"] for config in found.values()}) == 1
    assert all(config.privacy.epsilon <= 3.0 for config in found.values())
    end = np.ceil(1000 * load_config(tmp_path / "m").privacy.epsilon) / 1000
    told = [note for stage, note in said if stage == "plan"]
    assert "epsilon 0.001: the first step" in told[0] and len(told) == 2
    assert told[1] == f"No snapshot at epsilon 40: the training ends at epsilon {end}."
    assert [stage for stage, _ in said[:4]] == ["warning", "plan", "plan", "train"]
    assert "Delta is above 0.1 over the number of users" in said[0][1]
    assert trained.missed == tuple(told)


def test_no_snapshot_at_an_epsilon_is_lost_in_a_kill(corpus, tmp_path, monkeypatch):
    class KilledError(BaseException):
        pass

    wanted = {"epsilon-1.5": 1.5, "epsilon-2.1": 2.1, "epsilon-2.15": 2.15, "epsilon-2.6": 2.6}
    settings = private(
        noise_multiplier=1.0, epochs=3, delta=0.031, snapshot_at_epsilon=tuple(wanted.values())
    )  # 12 steps, the snapshots after 5, 8, 8 and 11
    save = training_run.save_model

    def killed_in(kill, out):
        """A training that is killed in its kill-th step, before anything is kept of it, or in
        writing its (kill - 12)-th model; then run again to its end.
        """
        writes = 0

        def stop(stage, done, total=None, note=""):
            if stage == "train" and done == kill:
                raise KilledError

        def save_model(path, *rest, **more):
            nonlocal writes
            writes += 1
            if writes == kill - 12:
                raise KilledError
            save(path, *rest, **more)

        monkeypatch.setattr(training_run, "save_model", save_model)
        with pytest.raises(KilledError):
            train(corpus, out, settings, progress=stop)
        monkeypatch.setattr(training_run, "save_model", save)
        return train(corpus, out, settings)

    for kill in (1, 4, 5, 8, 11, 13, 14, 15, 16, 17):
        out = tmp_path / f"m{kill}"
        assert killed_in(kill, out).missed == ()
        found = snapshots_of(out)
        assert set(found) == set(wanted), kill
        for name, config in found.items():
            assert config.privacy.epsilon <= wanted[name]
            one_more = epsilon(
                config.privacy.noise_multiplier, 0.3, config.privacy.steps + 1, config.privacy.delta
            )
            assert one_more > wanted[name]
            assert config.progress["step"] == config.privacy.steps - config.privacy.lost_steps > 0
            assert config.progress["epsilon"] == config.privacy.epsilon
            # A checkpoint comes right before each of these steps; the first of all after 4.
            assert config.privacy.lost_steps <= (kill if kill <= 4 else 1)
        last = load_config(out)
        assert last.progress["epsilon"] == last.privacy.epsilon
        lines = pq.read_table(out / "history.parquet").select(["step", "epsilon"]).to_pylist()
        told = [config.progress for config in (*found.values(), last)]
        assert sorted({(one["step"], one["epsilon"]) for one in told}) == [
            (line["step"], line["epsilon"]) for line in lines
        ]


def test_an_epoch_that_ended_in_a_kill_is_not_forgotten(corpus, tmp_path, monkeypatch):
    """Killed after the checkpoint of an epoch's snapshot and before the snapshot, or right after
    it, a training goes on with the next epoch.
    """
    save = training_run.save_model
    for kill in (1, 2):
        calls = []

        def save_model(path, *rest, calls=calls, kill=kill):
            calls.append(path)
            if kill == 2:
                save(path, *rest)
            raise KeyboardInterrupt

        monkeypatch.setattr(training_run, "save_model", save_model)
        with pytest.raises(KeyboardInterrupt):
            train(corpus, tmp_path / f"m{kill}", private(epochs=3))
        monkeypatch.setattr(training_run, "save_model", save)
        train(corpus, tmp_path / f"m{kill}", private(epochs=3))
        assert sorted(snapshots_of(tmp_path / f"m{kill}")) == [f"epoch-00{n}" for n in (1, 2, 3)]
        assert load_config(tmp_path / f"m{kill}").progress["epoch"] == 3


def test_a_step_that_draws_nobody_counts(corpus, tmp_path):
    settings = private(rate=0.02, epochs=1)
    train(corpus, tmp_path / "m", settings)
    assert load_config(tmp_path / "m").privacy.steps == 50


def test_words_of_few_users_and_public_vocabularies(corpus, tmp_path):
    train(corpus, tmp_path / "few", private(vocabulary_users=18, epochs=1))
    few = load_model(tmp_path / "few").vocabulary
    users = dict(zip(corpus.lexicon.words, corpus.lexicon.users.tolist(), strict=True))
    assert 0 < len(few) < len(corpus.lexicon) and all(users[word] > 17 for word in few)
    assert any(
        "fewer than 18 users" in text for text in load_config(tmp_path / "few").privacy.caveats
    )
    train(corpus, tmp_path / "p", private(epochs=1), vocabulary_from=tmp_path / "few")
    assert load_model(tmp_path / "p").vocabulary == few
    caveats = load_config(tmp_path / "p").privacy.caveats
    assert any("vocabulary" in caveat for caveat in caveats), "it comes from the same text"
    other = build_rows(
        [Row("x", "w1 w2 w3 w4"), Row("y", "w2 w5")], tmp_path / "other",
        settings=BuildSettings(validation=0.0),
    )  # fmt: skip
    train(other, tmp_path / "public", TrainSettings(TINY["gru"], epochs=1))
    start = tmp_path / "public"
    train(corpus, tmp_path / "q", private(epochs=1), vocabulary_from=start, warm_start=start)
    caveats = load_config(tmp_path / "q").privacy.caveats
    assert not any("vocabulary" in caveat for caveat in caveats)
    assert any("started from" in caveat for caveat in caveats)


def test_a_start_from_the_same_text_is_refused(corpus, tmp_path):
    train(corpus, tmp_path / "plain", TrainSettings(TINY["gru"], epochs=1, vocabulary=50))
    with pytest.raises(LeakscopeError, match="this very text"):
        train(corpus, tmp_path / "m", private(), warm_start=tmp_path / "plain")


def test_two_trainings_cannot_share_a_ledger(corpus, tmp_path):
    def again(stage, done, total=None, note=""):
        if stage == "train" and done == 2:
            with pytest.raises(LeakscopeError, match="Another training is writing"):
                open_ledger(tmp_path / "m", terms, 0)

    settings = private(epochs=1)
    units = units_of(corpus.load(), 12, "user")
    terms = plan_of(settings.mitigation, len(units), 4).terms("other")
    train(corpus, tmp_path / "m", settings, progress=again)
    with pytest.raises(LeakscopeError, match="other privacy settings"):
        open_ledger(tmp_path / "m", terms, 0)


def test_what_a_user_gives_does_not_hang_on_the_lexicon(tmp_path):
    rows = [Row(f"u{i % 7}", " ".join(f"w{(i * k) % 11}" for k in range(1 + i))) for i in range(30)]
    more = [Row("z", "w10 " * 400), *rows]
    keys = []
    for name, given in (("a", rows), ("b", more)):
        built = build_rows(given, tmp_path / name, settings=BuildSettings(validation=0.0))
        keys.append(units_of(built.load(), 12, "user").keys.tolist())
    assert len(keys[1]) == len(keys[0]) + 1 and set(keys[0]) < set(keys[1])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rate": None, "users_per_step": 1000.0}, "only 23 users"),
        ({"target_epsilon": 3.0}, "either the noise multiplier or the target"),
        ({"clip": 0.0}, "clip"),
        ({"snapshot_at_epsilon": (5.0, 3.0)}, "must increase"),
        ({"snapshot_at_epsilon": (5.0,), "snapshot_steps": 3}, "by steps or at epsilons"),
    ],
)
def test_terms_that_are_refused(corpus, tmp_path, changes, says):
    with pytest.raises(LeakscopeError, match=says):
        train(corpus, tmp_path / "m", private(**changes))


def test_dropout_is_refused():
    with pytest.raises(LeakscopeError, match="--dropout 0"):
        TrainSettings(
            Architecture("gru", 1, 6, 8, dropout=0.1),
            mitigation=PrivacySettings(rate=0.1, noise_multiplier=1.0),
        )


def test_plain_trainings_keep_their_records(corpus, tmp_path):
    train(corpus, tmp_path / "m", TrainSettings(TINY["gru"], epochs=1, vocabulary=20))
    raw = json.loads((tmp_path / "m" / "config.json").read_text())
    assert raw["mitigation"] == {"kind": "none"} and "mitigation" not in raw["training"]
