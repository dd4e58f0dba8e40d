"""Numbers that the template passes on have the default and the range of the setting that they become."""

from __future__ import annotations

import pytest
from annotated_types import Ge, Le

from ragdrop.config import Settings
from tests.architecture.cloudformation import Resource, read_template

PASSED_ON = (
    *("BREAKER_THRESHOLD", "BREAKER_WINDOW_S", "BREAKER_OPEN_S", "RETRY_ATTEMPTS", "RETRY_BASE_MS", "RETRY_CAP_MS"),
    "INGEST_RETRY_BASE_S",
)


@pytest.mark.parametrize("name", PASSED_ON)
def test_a_parameter_has_the_default_and_the_range_of_its_setting(name: str) -> None:
    template = read_template()
    variables: Resource = template["Globals"]["Function"]["Environment"]["Variables"]
    parameter = template["Parameters"][variables[name]["Ref"]]
    setting = Settings.model_fields[name.lower()]
    [least] = [each.ge for each in setting.metadata if isinstance(each, Ge)]
    [most] = [each.le for each in setting.metadata if isinstance(each, Le)]

    assert (parameter["Default"], parameter["MinValue"], parameter["MaxValue"]) == (setting.default, least, most)
