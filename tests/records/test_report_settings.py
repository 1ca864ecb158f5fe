"""What settings say of themselves."""

import pytest

from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings


def test_the_interface_in_words():
    assert ReportSettings().interface is None
    silent = ReportSettings(confidence=2).interface
    assert silent == "stays silent where 1/p of its best suggestion exceeds 2"
    blocked = ReportSettings(block_list="d1").interface
    assert blocked == "suggests nothing that completes an entry of a block list"
    assert ReportSettings(confidence=2, block_list="d1").interface == f"{silent} and {blocked}"


@pytest.mark.parametrize("wrong", [{"false_discovery_rate": 0.0}, {"false_discovery_rate": 1.0}])
def test_a_rate_is_a_share(wrong):
    with pytest.raises(LeakscopeError, match="between 0 and 1"):
        ReportSettings(**wrong)


def test_budgets_are_not_negative():
    with pytest.raises(LeakscopeError, match="Budgets"):
        ReportSettings(decoy_words=-1)
