"""What a training is told, from options."""

import pytest

from leakscope.commands.command_settings import TrainChoices
from leakscope.commands.given import Given
from leakscope.commands.option_tables import named_options
from leakscope.commands.train_options import train_settings
from leakscope.models.word.architecture import PRESETS, Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.train_settings import TrainSettings


def settings(*objects, **options):
    given = Given("train", objects, options)
    return train_settings(given, given.make(TrainChoices))


def test_nothing_given_is_the_usual_preset():
    assert settings() == TrainSettings.from_preset("lstm-2x128")
    assert settings(arch="gru") == TrainSettings.from_preset("gru-160-512")
    assert settings(preset="lstm-2x550") == TrainSettings.from_preset("lstm-2x550")


def test_what_is_given_stands_instead_of_the_presets():
    found = settings(arch="gru", hidden=9, batch_size=7, seed=3, layers=2)
    assert found.architecture == Architecture("gru", 2, 160, 9)
    assert (found.batch_size, found.seed, found.optimizer) == (7, 3, "adamax")


def test_a_transformer_is_trained_in_pieces_of_its_context():
    assert settings(arch="transformer", context=64).max_words == 64
    with pytest.raises(LeakscopeError, match="leave out --max-words"):
        settings(arch="transformer", max_words=64)


def test_an_object_is_taken_as_it_is_but_for_what_is_given():
    tiny = TrainSettings(Architecture("gru", 1, 4, 6), vocabulary=50, epochs=1)
    assert settings(tiny) == tiny
    assert settings(tiny, epochs=3).epochs == 3 and settings(tiny, epochs=3).vocabulary == 50
    assert settings(tiny, hidden=8).architecture == Architecture("gru", 1, 4, 8)


def test_differential_privacy():
    found = settings(
        mitigation="dp", target_epsilon=3, preset="lstm-2x512", clip=2, clipping="ghost",
        snapshot_at_epsilon="1,2",
    )  # fmt: skip
    assert found.architecture.dropout == 0 and found.clip == 5.0
    assert found.mitigation == PrivacySettings(
        target_epsilon=3.0, clip=2.0, method="ghost",
        snapshot_at_epsilon=(1.0, 2.0),
    )  # fmt: skip
    by_rate = settings(mitigation="dp", noise_multiplier=1, sampling_rate=0.5).mitigation
    assert by_rate.rate == 0.5 and by_rate.users_per_step is None


@pytest.mark.parametrize("option", [{"target_epsilon": 3}, {"unit": "user"}, {"clipping": "auto"}])
def test_options_of_a_mitigation_need_it(option):
    with pytest.raises(LeakscopeError, match="need --mitigation dp"):
        settings(**option)
    assert settings(clip=2).clip == 2


def test_help_names_every_preset_and_says_what_comes_from_it():
    options = named_options("train")
    assert all(name in str(options["preset"].type) for name in PRESETS)
    for name in ("layers", "dropout", "vocabulary", "batch_size", "optimizer", "learning_rate"):
        assert options[name].preset
    assert not options["epochs"].preset
    assert "With --mitigation dp: " in options["clip"].help
