"""What the functions ask of AWS is allowed to their roles: every test of a Deployment holds it, these the rest."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import RateLimits
from ragdrop.errors import DatabaseError
from ragdrop.ports.message_queue import Change, Continuation, Delivery
from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, LocalContext

DAY_S = 86_400
PUMP, VALVE = "demo/handbook/pump.md", "demo/handbook/valve.md"


@pytest.fixture
def linked(deployment: Deployment) -> Deployment:
    """Two documents, of which only the first is found and leads to the second."""
    deployment.put_object(PUMP, "# Pump\n\nThe pump's code is QX-5521. Its [valve](valve.md) is spare.")
    deployment.put_object(VALVE, "# Valve\n\nMarzipan.")
    return deployment


@pytest.mark.parametrize("function", ["query", "generate"])
def test_a_session_may_remember_what_it_has_followed(linked: Deployment, function: str) -> None:
    linked.chat.reply = "The pump's code is QX-5521. [1]"

    for _ in range(2):
        status, _ = linked.post(function, {"query": "code QX-5521", "limit": 1, "session": "s1", "min_relevance": 0})
        assert status == 200

    role = f"{function.capitalize()}Role"
    assert {(role, "GetItem", "VisitedTable"), (role, "PutItem", "VisitedTable")} <= linked.roles.used


@pytest.mark.parametrize("function", ["query", "generate", "mcp"])
def test_vectors_of_questions_may_be_shared_when_ten_seconds_have_passed(linked: Deployment, function: str) -> None:
    linked.chat.reply = "The pump's code is QX-5521. [1]"
    now = [time.time()]
    linked.handlers[function].app.ports.clock = lambda: now[0]

    for limit in (1, 2, 3):  # the same question again, and no answer is in the cache
        if function == "mcp":
            tool(linked, "tools/call", name="rag_context_search", arguments={"query": "code QX-5521", "limit": limit})
        else:
            body = {"query": "code QX-5521", "limit": limit, "min_relevance": 0}
            assert linked.post(function, body)[0] == 200
        now[0] += 11

    assert (f"{function.capitalize()}Role", "BatchWriteItem", "TelemetryTable") in linked.roles.used


def test_generate_refuses_a_question_when_the_tenant_has_used_its_tokens_of_the_day(linked: Deployment) -> None:
    linked.chat.reply = "The pump's code is QX-5521. [1]"
    linked.handlers["query"].app.operate.operator.set_rates("demo", RateLimits(daily_tokens=1))
    now = [time.time() // DAY_S * DAY_S + DAY_S / 2]  # noon: the day does not end between two questions
    linked.handlers["generate"].app.ports.clock = lambda: now[0]

    statuses = []
    for _ in range(2):
        statuses.append(linked.post("generate", {"query": "code QX-5521", "min_relevance": 0})[0])
        now[0] += 11  # an environment reads the counts at most every ten seconds

    assert statuses == [200, 429]
    assert ("GenerateRole", "Query", "TelemetryTable") in linked.roles.used


def test_ingest_calibrates_a_tenant_in_the_batch_that_brings_its_twentieth_document(deployment: Deployment) -> None:
    keys = [f"demo/handbook/{number}.md" for number in range(20)]
    for key in keys:
        text = f"# Pump {key}\n\nThe code of pump {key} is QX-5521."
        deployment.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=key, Body=text.encode())

    done = deployment.reconcile(*keys, remaining_ms=300_000)  # with little time left the next batch would calibrate

    tenant = deployment.handlers["ingest"].app.ports.registry.tenant("demo")
    assert (done, tenant.documents) == ({"batchItemFailures": []}, 20)
    assert tenant.fits


def test_the_sweep_may_forget_what_was_replaced_a_month_ago(linked: Deployment) -> None:
    linked.put_object(PUMP, "# Pump\n\nThe pump's code is ZV-1.")
    sweep = linked.handlers["sweep"]
    sweep.app.ports.clock = lambda: time.time() + 40 * DAY_S

    (done,) = sweep.handler({}, LocalContext(remaining_ms=900_000))["tenants"]

    assert (done["objects"], done["expired"]) == (2, 1)


def tool(deployment: Deployment, method: str, **params: object) -> Any:
    """The result of a request to the MCP server."""
    event = deployment.event(
        "mcp-search", body=json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    )
    response = deployment.handlers["mcp"].handler(event, LocalContext(remaining_ms=5_000))  # it waits for ingest
    answer = json.loads(response["body"])
    assert response["statusCode"] == 200, answer
    assert not answer["result"].get("isError"), answer
    return answer["result"]


def test_an_agent_may_write_list_read_and_ask_and_see_the_statistics(deployment: Deployment) -> None:
    deployment.chat.reply = "The pump's code is QX-5521. [1]"
    arguments = {"content": "# Pump\n\nThe pump's code is QX-5521.", "source": "pump.md", "vault": "handbook"}
    tool(deployment, "tools/call", name="rag_context_index", arguments=arguments)
    deployment.reconcile("demo/handbook/pump.md")

    [listed] = tool(deployment, "resources/list")["resources"]
    read = tool(deployment, "resources/read", uri=listed["uri"])
    answered = tool(deployment, "tools/call", name="rag_query", arguments={"query": "code QX-5521"})
    tool(deployment, "tools/call", name="rag_context_stats", arguments={})
    tool(deployment, "tools/call", name="rag_context_health", arguments={})

    assert "QX-5521" in read["contents"][0]["text"]
    assert "QX-5521" in answered["content"][0]["text"]


def test_ingest_may_merge_segments_of_which_some_hold_what_was_replaced(deployment: Deployment) -> None:
    ingest = deployment.handlers["ingest"]
    for number in range(9):
        deployment.put_object(PUMP, f"# Pump\n\nThe pump's code is QX-{number}.")
    [sent] = deployment.sqs.receive_message(QueueUrl=ingest.app.ports.queue.bulk_url)["Messages"]
    message = json.loads(sent["Body"])
    event = deployment.event("ingest-put")
    event["Records"][0]["body"] = json.dumps(message)

    assert message["type"] == "ragdrop:merge"
    assert ingest.handler(event, LocalContext()) == {"batchItemFailures": []}
    status, found = deployment.post("query", {"query": "code QX-8", "min_relevance": 0})

    assert (status, len(found["results"])) == (200, 1)
    assert ("IngestRole", "BatchGetItem", "RegistryTable") in deployment.roles.used
    segments = deployment.s3.list_objects_v2(Bucket="state", Prefix="index/")["Contents"]
    assert len([each for each in segments if each["Key"].endswith(".retired")]) >= 2


def test_ingest_may_remove_the_segment_of_a_merge_that_another_one_overtook(linked: Deployment) -> None:
    ports = linked.handlers["ingest"].app.ports
    index, tenant, soon = ports.bucket_index, ports.registry.tenant("demo"), Deadline.after(30)

    def meanwhile(_found: object) -> set[tuple[DocumentKey, int]]:
        index.merge(tenant.index, soon, everything=True)
        return set()

    merge = linked.roles.acting("ingest", lambda *_: index.merge(tenant.index, soon, meanwhile, everything=True))

    assert merge({}, None) == 0
    assert ("IngestRole", "DeleteObjectVersion", "StateBucket") in linked.roles.used


@pytest.mark.parametrize("function", ["query", "generate", "mcp"])
def test_every_surface_may_tell_a_lost_index_from_an_empty_one(linked: Deployment, function: str) -> None:
    ports = linked.handlers["ingest"].app.ports
    ports.manifests.delete("demo", ports.registry.tenant("demo").index.name)

    if function == "mcp":
        tool(linked, "tools/call", name="rag_context_search", arguments={"query": "code QX-5521"})
    else:
        linked.post(function, {"query": "code QX-5521", "min_relevance": 0})

    assert (f"{function.capitalize()}Role", "Query", "RegistryTable") in linked.roles.used


def test_the_sweep_may_remove_segments_that_no_reader_needs_any_more(linked: Deployment) -> None:
    index = linked.handlers["ingest"].app.ports.bucket_index
    tenant = linked.handlers["ingest"].app.ports.registry.tenant("demo")
    index.merge(tenant.index, Deadline.after(30), everything=True)
    sweep = linked.handlers["sweep"]
    sweep.app.ports.clock = lambda: time.time() + 2 * 3_600

    sweep.handler({}, LocalContext(remaining_ms=900_000))

    names = [each["Key"] for each in linked.s3.list_objects_v2(Bucket="state", Prefix="index/")["Contents"]]
    assert len(names) == 1


def test_the_sweep_may_write_back_what_a_lost_segment_contained(linked: Deployment) -> None:
    [lost, *_] = linked.s3.list_objects_v2(Bucket="state", Prefix="index/")["Contents"]
    linked.s3.delete_object(Bucket="state", Key=lost["Key"])

    linked.handlers["sweep"].handler({}, LocalContext(remaining_ms=900_000))
    status, found = linked.post("query", {"query": "code QX-5521", "min_relevance": 0})

    assert (status, found["degraded"]) == (200, False)
    assert {each["path"] for each in found["results"]} >= {"pump.md"}


def test_ingest_may_hand_the_rest_of_a_large_document_over_to_itself(deployment: Deployment) -> None:
    queue = deployment.handlers["ingest"].app.ports.queue
    deployment.roles.acting("ingest", lambda *_: queue.go_on(Continuation("demo/team/large.txt", 1, 2, 1)))({}, None)

    assert ("IngestRole", "SendMessage", "IngestBulkQueue") in deployment.roles.used


def test_ingest_may_move_messages_of_a_vault_with_many_changes_and_give_them_back(deployment: Deployment) -> None:
    queue = deployment.handlers["ingest"].app.ports.queue
    moved = [Delivery("m", "r", 1, (Change(f"demo/team/{number}.md"),), body="{}") for number in range(3)]
    deployment.roles.acting("ingest", lambda *_: queue.move(moved))({}, None)
    [message, *_] = deployment.sqs.receive_message(QueueUrl=queue.bulk_url)["Messages"]
    again = Delivery("m", message["ReceiptHandle"], 1, (), queue="bulk")

    deployment.roles.acting("ingest", lambda *_: queue.retry_after(again, 0))({}, None)

    assert ("IngestRole", "ChangeMessageVisibility", "IngestBulkQueue") in deployment.roles.used


@pytest.mark.parametrize("function", ["query", "sweep"])
def test_many_keys_may_be_sent_as_bulk_work(deployment: Deployment, function: str) -> None:
    queue = deployment.handlers[function].app.ports.queue
    keys = [f"demo/team/{number}.md" for number in range(11)]

    deployment.roles.acting(function, lambda *_: queue.send_all(keys))({}, None)

    assert (f"{function.capitalize()}Role", "SendMessage", "IngestBulkQueue") in deployment.roles.used


def test_the_sweep_may_correct_counters(linked: Deployment) -> None:
    sweep = linked.handlers["sweep"]
    now = [time.time()]
    sweep.app.ports.clock = lambda: now[0]
    sweep.app.ports.registry.add_to_tenant("demo", vault="handbook", documents=3, chunks=3)

    sweep.handler({}, LocalContext(remaining_ms=900_000))  # notes how many there are; nothing may change for a while
    now[0] += DAY_S
    (done,) = sweep.handler({}, LocalContext(remaining_ms=900_000))["tenants"]

    assert abs(done["corrected"]["documents"]) == 3


def test_what_a_role_may_not_do_is_refused_and_noted(deployment: Deployment) -> None:
    query = deployment.handlers["query"]
    visits = deployment.roles.acting("sweep", lambda *_: query.app.ports.visited.visited("demo", "s1", 0))

    with pytest.raises(DatabaseError):
        visits({}, None)

    assert deployment.roles.denied == {"SweepRole: dynamodb:GetItem on VisitedTable"}
    deployment.roles.denied.clear()


def test_the_sweep_may_ask_golden_questions_and_keep_how_they_were_answered(linked: Deployment) -> None:
    sweep = linked.handlers["sweep"]
    for number in range(2):  # other questions are asked at once
        golden = [{"question": f"code QX-5521 {number}", "document": "pump.md"}]
        linked.put_object("demo/handbook/.ragdrop.json", json.dumps({"golden_questions": golden, "min_relevance": 0}))
        sweep.handler({}, LocalContext(remaining_ms=900_000))
        sweep.app.ports.breakers._next_sync_s = 0.0  # a second has passed: what was counted is shared

    run = sweep.app.ports.registry.golden_runs("demo")["handbook"]
    assert (run.answered, run.not_measured) == (1, None)
    assert ("SweepRole", "PutItem", "RegistryTable") in linked.roles.used
    assert ("SweepRole", "GetItem", "TelemetryTable") in linked.roles.used
    assert ("SweepRole", "UpdateItem", "TelemetryTable") in linked.roles.used
