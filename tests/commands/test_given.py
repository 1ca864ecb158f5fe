"""Settings objects and options by name become settings records."""

from pathlib import Path

import pytest

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.running_settings import InterfaceSettings, RunningSettings
from leakscope.commands.command_settings import SuggestSettings
from leakscope.commands.given import Given
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings

URL = "http://127.0.0.1:1/v1"


def test_options_find_their_records():
    given = Given("report", (), {"top_k": 3, "public": Path("base"), "threshold": [2, 50]})
    assert given.make(ReportSettings) == ReportSettings(top_k=3, thresholds=(2.0, 50.0))
    assert given.make(PublicSettings) == PublicSettings("base")
    assert given.make(RunningSettings) == RunningSettings()
    assert given.has("top_k") and not given.has("reveal")


def test_options_go_on_top_of_objects():
    asked = ReportSettings(top_k=3, reveal=True)
    given = Given("report", (asked, None), {"top_k": 5})
    assert given.make(ReportSettings) == ReportSettings(top_k=5, reveal=True)
    assert given.has("least_context"), "an object says all of its fields"


def test_texts_become_what_the_fields_are():
    given = Given(
        "report", (),
        {"base": "here", "batch_tokens": "64", "text_only": True, "extra_body": '{"a": 1}',
         "threshold": 4, "block_list": "list", "requests_per_minute": "2.5"},
    )  # fmt: skip
    assert given.make(LoadingSettings) == LoadingSettings(base=Path("here"), batch_tokens=64)
    assert given.make(Endpoint, url=URL) == Endpoint(URL, mode="text", extra={"a": 1})
    assert given.make(ReportSettings).thresholds == (4.0,)
    assert given.make(InterfaceSettings).block_list == Path("list")
    assert given.make(RequestLimits).per_minute == 2.5
    off = Given("report", (), {"text_only": False})
    assert off.make(Endpoint, url=URL).mode == "log-probs"
    terms = Given("train", (), {"snapshot_at_epsilon": "3,5,7"})
    assert terms.options["snapshot_at_epsilon"] == (3.0, 5.0, 7.0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"topk": 3}, "report has no option topk; did you mean top_k?"),
        ({"quite": 3}, "leakscope report --help lists all of them"),
        ({"top_k": "many"}, "--top-k is a whole number."),
        ({"batch_tokens": "many"}, "--batch-tokens is auto or a whole number."),
        ({"chat_template": "system"}, "--chat-template is assistant or user."),
        ({"extra_body": "[1"}, "--extra-body is a JSON object."),
        ({"extra_body": '{"x": NaN}'}, "--extra-body is a JSON object."),
        ({"threshold": "a,b"}, "--threshold is numbers, such as 3,5,7."),
        ({"key": "secret"}, "has no option key"),
    ],
)
def test_what_cannot_be_is_one_sentence(options, says):
    with pytest.raises(LeakscopeError) as raised:
        Given("report", (), options)
    assert says in str(raised.value)


def test_objects_of_other_commands_are_refused():
    with pytest.raises(LeakscopeError, match="SuggestSettings is not a settings class of report"):
        Given("report", (SuggestSettings(),), {})


def test_plain_options_make_the_same_records_again():
    objects = (
        ReportSettings(top_k=2, thresholds=(3.0,), confidence=2.0),
        PublicSettings("crossfit", public_dir=Path("kept")),
        Endpoint(URL, "tiny", "text", "<s>", extra={"a": [1]}),
        RequestLimits(key="secret", attempts=2),
    )
    first = Given("report", objects, {"workers": 2, "base": Path("b")})
    plain = first.as_plain()
    assert plain["public_dir"] == "kept" and plain["text_only"] is True and plain["workers"] == 2
    assert "secret" not in str(plain) and "reveal" not in plain
    again = Given("report", (), plain)
    assert again.make(Endpoint, url=URL) == objects[2]
    assert again.make(RequestLimits, key="secret") == objects[3]
    for record in (ReportSettings, PublicSettings, RunningSettings, LoadingSettings):
        assert again.make(record) == first.make(record)
