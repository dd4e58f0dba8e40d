"""What every Metrics does: in memory, nowhere, and as lines of the embedded metric format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragdrop.app import Ports
from ragdrop.config import Settings
from ragdrop.ports.search_services import Metrics
from ragdrop.ports.telemetry import UNITS
from ragdrop.stores.aws.monitoring import EmfMetrics, NoMetrics
from testing.memory_services import MemoryMetrics
from tests.world import ENVIRONMENT

MADE: list[Metrics] = [MemoryMetrics(), NoMetrics(), EmfMetrics(function="query", stage="stack-dev")]


@pytest.mark.parametrize("metrics", MADE)
def test_every_metric_is_taken_with_and_without_a_dependency(metrics: Metrics) -> None:
    for name in UNITS:
        metrics.put({name: 1})
        metrics.put({name: 0.5}, dependency="index")


@pytest.mark.parametrize("metrics", MADE)
def test_a_metric_that_does_not_exist_is_a_mistake_of_ours(metrics: Metrics) -> None:
    with pytest.raises((KeyError, AssertionError)):
        metrics.put({"Unheard": 1})


def line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one line that was printed."""
    (printed,) = capsys.readouterr().out.splitlines()
    found: dict[str, Any] = json.loads(printed)
    return found


def test_values_put_together_are_one_line_with_their_units(capsys: pytest.CaptureFixture[str]) -> None:
    EmfMetrics(function="query", stage="stack-dev").put({"Requests": 1, "RequestLatency": 12.5})

    told = line(capsys)
    (directive,) = told["_aws"]["CloudWatchMetrics"]

    assert directive["Namespace"] == "ragdrop"
    assert directive["Metrics"] == [
        {"Name": "Requests", "Unit": "Count"},
        {"Name": "RequestLatency", "Unit": "Milliseconds"},
    ]
    assert (told["Requests"], told["RequestLatency"]) == ([1.0], [12.5])


def test_the_dimensions_are_stage_and_dependency_and_the_line_names_its_function(
    capsys: pytest.CaptureFixture[str],
) -> None:
    EmfMetrics(function="query", stage="stack-dev").put({"Throttles": 1}, dependency="chat")

    told = line(capsys)

    assert told["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["stage"], ["stage", "dependency"]]
    assert (told["stage"], told["function"], told["dependency"]) == ("stack-dev", "query", "chat")
    assert "service" not in told


def test_a_command_that_is_no_function_prints_no_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings.from_environment(ENVIRONMENT)

    Ports(settings).metrics.put({"IndexedDocuments": 1})
    assert capsys.readouterr().out == ""

    Ports(settings, function="ingest").metrics.put({"IndexedDocuments": 1})
    assert line(capsys)["function"] == "ingest"
