"""Alarms and the dashboard: what they look at is emitted, and every alarm has its chapter in the runbook."""

from __future__ import annotations

import json
import re

from pages import cost
from ragdrop.ports.telemetry import NAMESPACE, UNITS, QueryReport, metrics_of
from ragdrop_cli import costs
from tests.architecture.cloudformation import REPOSITORY, of_type, read_template

RESOURCES = dict(read_template("templates/monitoring.yaml")["Resources"])
ALARMS = of_type(RESOURCES, "AWS::CloudWatch::Alarm")
RUNBOOK = (REPOSITORY / "docs/operations.md").read_text("utf-8")


def dashboard() -> list[list[object]]:
    """Every row of every widget, dots filled in."""
    body = json.loads(RESOURCES["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"])
    rows = []
    for widget in body["widgets"]:
        last: list[object] = []
        for row in widget["properties"]["metrics"]:
            names = [part for part in row if isinstance(part, str)]
            full = [last[at] if name == "." else name for at, name in enumerate(names)] if names != ["..."] else last
            rows.append(full)
            last = full
    return rows


def own_names() -> set[str]:
    """The metrics of our namespace that the template names."""
    of_alarms = {alarm["MetricName"] for alarm in ALARMS.values() if alarm["Namespace"] == NAMESPACE}
    return of_alarms | {str(row[1]) for row in dashboard() if row[0] == NAMESPACE}


def test_every_metric_that_the_template_names_is_one_of_ours() -> None:
    assert own_names() == set(UNITS)


def test_every_metric_of_ours_is_looked_at_by_its_stage_alone() -> None:
    for each in ALARMS.values():
        if each["Namespace"] == NAMESPACE:
            assert each["Dimensions"] == [{"Name": "stage", "Value": {"Ref": "Stage"}}]
    assert {tuple(row[2:]) for row in dashboard() if row[0] == NAMESPACE} == {("stage", "${Stage}")}


def test_the_stage_of_the_alarms_is_the_one_that_the_functions_tell() -> None:
    template = read_template()
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    given = template["Resources"]["Monitoring"]["Properties"]["Parameters"]

    assert variables["STAGE"] == given["Stage"] == {"Fn::Sub": "${AWS::StackName}-${Stage}"}


def test_every_alarm_has_a_chapter_in_the_runbook_that_says_what_it_means_what_to_look_at_and_what_to_do() -> None:
    chapters = dict(re.findall(r"^### (\w+Alarm)\n(.*?)(?=^##)", RUNBOOK, re.DOTALL | re.MULTILINE))

    assert set(chapters) == set(ALARMS)
    for name, text in chapters.items():
        assert all(f"{word}:" in text for word in ("Means", "Look at", "Do")), name


def test_every_alarm_goes_to_the_topic_and_is_quiet_without_data() -> None:
    for name, alarm in ALARMS.items():
        assert alarm["AlarmActions"]["Fn::If"][:2] == ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}]], name
        assert alarm["TreatMissingData"] == "notBreaching", name


def test_no_alarm_needs_metric_math_which_emulators_do_not_have() -> None:
    assert [name for name, alarm in ALARMS.items() if "Metrics" in alarm] == []


def test_throttles_are_looked_at_for_all_functions_at_once() -> None:
    alarm = ALARMS["FunctionThrottlesAlarm"]

    assert (alarm["Namespace"], alarm["MetricName"], alarm.get("Dimensions")) == ("AWS/Lambda", "Throttles", None)


def test_the_cost_page_counts_the_alarms_and_metrics_that_there_are() -> None:
    used = {"prompt_tokens": 1, "embedding_tokens": 1, "reader_pairs": 1, "reader_ms": 1.0, "cost": 1.0}
    of_a_question = metrics_of(QueryReport("ask", "acme", 1.0, **used))  # type: ignore[arg-type] # floats
    of_a_search = metrics_of(QueryReport("search", "acme", 1.0))

    assert len(ALARMS) == costs.ALARMS
    assert len({*of_a_question, *of_a_search, "IndexedDocuments", "FailedDocuments"}) == cost.METRICS
