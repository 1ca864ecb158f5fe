from typing import get_args

import pytest
from pydantic import BaseModel

from leakscope.auditing.canaries.bound_gate import BoundGate
from leakscope.auditing.gating.gates import DP_EPSILON, FIGURES, UNGATED, Gate
from leakscope.auditing.updates.diff_gate import DiffGate
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.run_metrics import AuditedPart, Metrics
from leakscope.reporting.facts.guarantee import Guarantee

METRICS = Metrics.model_construct(unique_sequences=3, reasons={})
WARNED = METRICS.model_copy(update={"warnings": ("The model knows nothing.",)})


def guarantee(epsilon, *, insecure=False, reason=None, delta=0.001, units=100):
    record = PrivacyRecord.model_construct(
        epsilon=epsilon, insecure_seed=insecure, delta=delta, units=units, unit="user"
    )
    return Guarantee(record, reason)


@pytest.mark.parametrize(
    ("text", "holds"),
    [("dp_epsilon>8", False), ("dp_epsilon > 7.9", True), ("dp_epsilon>=8", True),
     ("dp_epsilon==8", True), ("dp_epsilon<1e1", True), ("unique_sequences>8", False)],
)  # fmt: skip
def test_a_gate_on_the_guarantee(text, holds):
    assert Gate.parse(text).holds(METRICS, guarantee(8.0)) is holds


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (guarantee(1.0, insecure=True), "insecure-seed"),
        (guarantee(None, reason="no noise"), "no noise"),
        (guarantee(1.0, delta=0.0011), "delta is above"),
        (guarantee(0.0, delta=0.46, units=2), "delta is above"),
        (guarantee(1.0, delta=1e-5, units=9), "there are only 9 users"),
        (Guarantee(None, "not known"), "not known"),
        (None, "no DP epsilon"),
    ],
)
@pytest.mark.parametrize("text", ["dp_epsilon>8", "dp_epsilon<0"])
def test_what_is_not_guaranteed_is_never_a_pass(text, given, why):
    with pytest.raises(LeakscopeError, match=f"cannot be checked: .*{why}"):
        Gate.parse(text).holds(METRICS, given)


def test_other_gates_need_no_guarantee_and_the_name_is_listed():
    assert Gate.parse("unique_sequences>2").holds(METRICS)
    with pytest.raises(LeakscopeError, match="dp_epsilon"):
        Gate.parse("epsilon>2")


@pytest.mark.parametrize("text", ["unique_sequences>0", "unique_sequences>8"])
def test_a_run_with_a_warning_passes_no_gate_on_what_it_measured(text):
    with pytest.raises(LeakscopeError, match="cannot be checked: the model knows nothing"):
        Gate.parse(text).holds(WARNED)
    assert not Gate.parse("dp_epsilon>8").holds(WARNED, guarantee(8.0))  # known without the report


def test_a_public_model_that_may_know_the_users_passes_no_gate_on_its_judgement():
    judged = METRICS.model_copy(update={"leakage_epsilon": 1.0, "public_unique_sequences": 3})
    itself = GivenModelRecord(
        name="m", digests=("d",), warnings=("The public model is the audited model itself.",)
    )
    sound = GivenModelRecord(name="m", digests=("d",))
    for text in ("leakage_epsilon>2", "public_unique_sequences>5"):
        assert not Gate.parse(text).holds(judged, None, sound)
        with pytest.raises(LeakscopeError, match="cannot be checked: the public model is the"):
            Gate.parse(text).holds(judged, None, itself)
    assert Gate.parse("unique_sequences>2").holds(judged, None, itself)  # hangs on no judge


MANY = METRICS.model_copy(
    update={
        "unique_by_length": {2: 7, 5: 2, 9: 1},
        "leakage_epsilon_by_length": {2: 3.0, 5: 40.0, 9: 8.0},
        "chance_by_length": {2: 1.5},
        "curated": {"1.5": 3, "10": 2},
        "validation_accuracy": {1: 0.25, 3: 0.5},
        "unique_pii": {"phone": 2},
        "elsewhere": {
            "truncated": {"tried": 9, "out": 4},
            "reworded": {"tried": 9, "out": 0},
            "others": {"tried": 0, "out": 0},
        },
        "users": 9,
        "documents": 20,
        "words": 300,
        "audited": AuditedPart(users=3, documents=8, words=70),
    }
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("unique_by_length[5]>0", 2), ("unique_by_length[5+]>0", 3), ("unique_by_length[6]>0", 0),
        ("unique_by_length[10+]>0", 0), ("leakage_epsilon_by_length[2+]>9", 40.0),
        ("leakage_epsilon_by_length[9]>9", 8.0), ("chance_by_length[9]>0", 0),
        ("curated[10]>0", 2), ("curated[10.0]>0", 2), ("curated[1.5]>0", 3),
        ("validation_accuracy[3]<0.9", 0.5), ("unique_pii[phone]>0", 2), ("unique_pii[email]>0", 0),
        ("elsewhere[truncated.out]>0", 4), ("elsewhere[reworded.out]>0", 0),
        ("elsewhere[truncated.tried]<5", 9), ("elsewhere[others.tried]<5", 0),
        ("audited[users]<2", 3), ("audited[documents]<2", 8), ("audited[words]<2", 70),
    ],
)  # fmt: skip
def test_a_gate_may_name_one_of_several_numbers(text, value):
    assert Gate.parse(text).value(MANY) == value


@pytest.mark.parametrize(
    "text",
    ["curated>0", "unique_sequences[2]>0", "unique_pii[phones]>0", "unique_by_length[long]>0",
     "reasons[a]>0", "curated[]>0", "elsewhere>0", "elsewhere[truncated]>0", "elsewhere[tried]>0",
     "audited[people]>0", "gates>0", "gates[0]>0"],
)  # fmt: skip
def test_gates_on_what_is_not_there_are_refused_at_once(text):
    with pytest.raises(LeakscopeError, match="is not a gate"):
        Gate.parse(text)


@pytest.mark.parametrize("text", ["curated[3]>0", "validation_accuracy[2]>0"])
def test_a_number_that_was_not_measured_is_never_a_pass(text):
    with pytest.raises(LeakscopeError, match=r"was measured for .* only"):
        Gate.parse(text).value(MANY)
    unmeasured = METRICS.model_copy(update={"curated": None, "reasons": {"curated": "no public"}})
    with pytest.raises(LeakscopeError, match="cannot be checked: no public"):
        Gate.parse("curated[3]>0").value(unmeasured)


def test_prompts_that_nobody_tried_are_never_a_pass():
    with pytest.raises(LeakscopeError, match="cannot be checked: no prompt of this kind was tried"):
        Gate.parse("elsewhere[others.out]>0").value(MANY)
    unasked = MANY.model_copy(update={"elsewhere": None, "reasons": {"elsewhere": "not asked for"}})
    with pytest.raises(LeakscopeError, match="cannot be checked: not asked for"):
        Gate.parse("elsewhere[truncated.out]>0").value(unasked)


def test_everybody_counts_as_audited_where_nobody_was_chosen():
    everybody = MANY.model_copy(update={"audited": None})
    assert Gate.parse("audited[users]<5").value(everybody) == 9


@pytest.mark.parametrize("bound", ["1e999", "-1e999", "inf", "-Infinity", "NaN", "9" * 400])
@pytest.mark.parametrize(
    ("parse", "figure"),
    [
        (Gate.parse, "unique_sequences"), (Gate.parse, "dp_epsilon"), (Gate.parse, "curated[10]"),
        (DiffGate.parse, "one_user_found"), (BoundGate.parse, "epsilon_lower"),
    ],
)  # fmt: skip
def test_a_bound_that_is_not_finite_is_refused(parse, figure, bound):
    with pytest.raises(LeakscopeError, match=f"compared with {bound}; give a finite number"):
        parse(f"{figure}>{bound}")


def _holds_numbers(kind):
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return any(_holds_numbers(field.annotation) for field in kind.model_fields.values())
    return kind in (int, float) or any(_holds_numbers(each) for each in get_args(kind))


NUMBERS = [name for name, each in Metrics.model_fields.items() if _holds_numbers(each.annotation)]


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_of_the_metrics_is_gated_or_its_gate_is_refused_with_a_reason(name):
    if name in UNGATED:
        with pytest.raises(LeakscopeError, match=UNGATED[name]):
            Gate.parse(f"{name}>0")
    else:
        assert {name, f"{name}[...]"} & set(FIGURES)


def test_what_is_gated_is_all_and_hardly_anything_is_refused():
    assert {"elsewhere", "audited", "curated", "unique_sequences"} <= set(NUMBERS)
    assert set(UNGATED) == {"gates"} <= set(NUMBERS)
    assert {each.removesuffix("[...]") for each in FIGURES} == {*NUMBERS, DP_EPSILON} - {*UNGATED}


def test_the_largest_of_no_ratio_or_of_one_beyond_any_number_is_never_a_pass():
    for text in ("leakage_epsilon_by_length[3]>9", "leakage_epsilon_by_length[10+]>9"):
        with pytest.raises(LeakscopeError, match="checked: no unique sequence has so many words"):
            Gate.parse(text).value(MANY)
    beyond = MANY.model_copy(update={"leakage_epsilon_by_length": {2: 3.0, 5: 40.0}})
    for text in ("leakage_epsilon_by_length[9]>9", "leakage_epsilon_by_length[5+]>99"):
        with pytest.raises(LeakscopeError, match="checked: a ratio is beyond any number"):
            Gate.parse(text).value(beyond)
    assert Gate.parse("leakage_epsilon_by_length[5]>9").value(beyond) == 40.0


@pytest.mark.parametrize(
    ("text", "checked"),
    [
        ("confirmed_unique>0", False),  # 10 are confirmed, and up to 42 may be
        ("confirmed_unique>9", True),
        ("confirmed_unique>52", True),
        ("confirmed_unique>51", False),
        ("users_with_confirmed>30", False),
        ("confirmed_epsilon>1e9", False),
        ("confirmed_epsilon>3", True),
        ("excess_unique>9", False),  # 9, and up to 44
        ("excess_unique>8", True),
        ("excess_unique_low>5", False),
        ("excess_unique>44", True),
        ("chance_unique>99", True),
    ],
)
def test_what_nobody_could_judge_is_no_pass(text, checked):
    found = METRICS.model_copy(
        update={
            "unique_sequences": 62, "confirmed_unique": 10, "users_with_confirmed": 4,
            "confirmed_epsilon": 5.0, "unjudged_unique": 42, "excess_unique": 9.0,
            "excess_unique_low": -26.0, "chance_unique": 53.0, "chance_maybe_memory": 35.0,
            "least_confirmable": 20, "judged_together": 42,
        }
    )  # fmt: skip
    if text == "confirmed_unique>0":
        assert Gate.parse(text).holds(found)
        found = found.model_copy(update={"confirmed_unique": 0})
    if checked:
        Gate.parse(text).value(found)
        return
    with pytest.raises(LeakscopeError, match="public crossfit or --stand-ins crossfit, or gate on"):
        Gate.parse(text).value(found)
    judged = {"unjudged_unique": 0, "chance_maybe_memory": 0.0}
    Gate.parse(text).value(found.model_copy(update=judged))


def test_nothing_confirmed_is_a_pass_only_where_something_could_be():
    few = METRICS.model_copy(update={"confirmed_unique": 0, "least_confirmable": 180})
    with pytest.raises(LeakscopeError, match="fewer than 180 unique sequences cannot be told"):
        Gate.parse("confirmed_unique>0").value(few)
    stood = few.model_copy(
        update={"least_confirmable": 20, "unique_sequences": 3, "chance_source": "stand-ins"}
    )
    with pytest.raises(LeakscopeError, match="checked: fewer than 20 unique sequences cannot"):
        Gate.parse("confirmed_unique>0").value(stood)
    apart = few.model_copy(update={"unique_sequences": 251, "judged_together": 172})
    with pytest.raises(LeakscopeError, match="fewer than 180 unique sequences cannot be told"):
        Gate.parse("confirmed_unique>0").value(apart)
    enough = apart.model_copy(update={"judged_together": 180})
    assert Gate.parse("confirmed_unique>0").value(enough) == 0
    many = {"unique_sequences": 180, "excess_unique_low": 40.6}
    with pytest.raises(LeakscopeError, match="at least 40 unique sequences are more than chance"):
        Gate.parse("confirmed_unique>0").value(few.model_copy(update=many))
    some = few.model_copy(update=many | {"confirmed_unique": 100})
    assert Gate.parse("confirmed_unique>0").holds(some)
    assert Gate.parse("excess_unique_low>10").holds(few.model_copy(update=many))
    enough = few.model_copy(update={"unique_sequences": 180})
    assert not Gate.parse("confirmed_unique>0").holds(enough)
    none = few.model_copy(update={"unique_sequences": 0})
    assert not Gate.parse("confirmed_unique>0").holds(none)
