"""Options from the fields of settings records."""

from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from leakscope.commands.option_tables import COMMANDS, command_options, named_options
from leakscope.commands.options import Part, described, field_docs, options_of


@dataclass(frozen=True)
class Toy:
    """A record with one field of each kind."""

    plain: int = 3
    """First line,
    second line."""
    renamed: str | None = field(default=None, metadata={"option": "other_name"})
    """Has another name."""
    mode: Literal["slow", "fast"] = field(
        default="slow", metadata={"option": "hurry", "flag": "fast"}
    )
    """Be fast."""
    hidden: int = field(default=1, metadata={"option": None})
    """Is no option."""
    apart: tuple[float, ...] = field(default=(), metadata={"separated": True, "group": "Elsewhere"})
    undocumented: bool = False


def toy(**how):
    return options_of(Part("test_options:Toy", "Toys", **how))


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def test_a_field_is_an_option_with_its_docstring_as_help():
    found = {option.name: option for option in toy()}
    assert list(found) == ["plain", "other_name", "hurry", "apart", "undocumented"]
    assert found["plain"].help == "First line, second line." and found["plain"].default == 3
    assert found["other_name"].field == "renamed" and found["other_name"].default is None
    assert found["hurry"].type is bool and found["hurry"].flag == "fast"
    assert found["hurry"].default is False
    assert found["apart"].separated and found["apart"].group == "Elsewhere"
    assert found["undocumented"].help == "" and found["undocumented"].group == "Toys"
    assert found["other_name"].spelled == "--other-name"


def test_a_part_may_take_some_fields_only():
    assert [option.name for option in toy(only=("plain", "hidden"))] == ["plain"]
    assert "plain" not in [option.name for option in toy(without=("plain",))]
    assert [option.name for option in toy(preset=("plain",)) if option.preset] == ["plain"]


def test_docstrings_belong_to_the_field_above_them():
    assert field_docs(Toy) == {
        "plain": "First line, second line.",
        "renamed": "Has another name.",
        "mode": "Be fast.",
        "hidden": "Is no option.",
    }


@pytest.mark.parametrize(
    "command", sorted(set(COMMANDS) - {"train", "corpus build", "corpus synth"})
)
def test_every_option_has_help_that_is_a_sentence(command):
    for option in command_options(command):
        assert option.help.endswith("."), (command, option.name)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_names_stand_for_one_thing_each(command):
    """But for those that a mitigation shares with all trainings, or with another mitigation."""
    options = command_options(command)
    doubled = {option.name for option in options if named_options(command)[option.name] != option}
    shared = {"clip", "privacy_weight", "privacy_warmup", "users_per_batch"}
    assert doubled == (shared if command == "train" else set())
    assert all(option.default is not MISSING or option.preset for option in options)


def test_groups_of_report_come_in_order_with_their_own_options_first():
    found = [(option.group, option.name) for option in command_options("report")]
    groups = list(dict.fromkeys(group for group, _ in found))
    assert groups == [
        "What to measure", "Public model", "Hardening", "Hugging Face models", "Endpoints",
        "Running it", "Gates", "On a cluster",
    ]  # fmt: skip
    assert found[0] == ("What to measure", "top_k")
    assert ("Public model", "threshold") in found and ("Hardening", "confidence") in found
    public = [name for group, name in found if group == "Public model"]
    assert public[0] == "public" and public[-1] == "benchmark"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (int, "a whole number"),
        (float | None, "a number"),
        (Literal["a", "b", "c"], "a, b or c"),
        (Literal["auto"] | int, "auto or a whole number"),
        (tuple[float, ...], "numbers, such as 3,5,7"),
        (tuple[Path, ...], "a path"),
        (dict[str, int], "a JSON object"),
        (str | None, "a text"),
    ],
)
def test_types_in_words(kind, says):
    assert described(kind) == says
