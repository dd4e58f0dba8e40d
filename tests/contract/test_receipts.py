"""What every Receipts does: receipts by id for a while, gone with any document they name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from ragdrop.domain.answers import Feedback, Receipt
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.receipt_chains import ChainLink, next_link
from ragdrop.errors import DatabaseError
from ragdrop.ports.answer_services import Receipts
from ragdrop.stores.dynamodb.receipts_table import DynamoDbReceipts
from tests.contract.aws_fixtures import REGION, table_definition
from tests.contract.registry_examples import NOW_S, new_tenant_name

EXPIRES_AT_S = int(NOW_S) + 100


def receipt(tenant: str, receipt_id: str, *paths: str, vaults: tuple[str, ...] = (), **body: Any) -> Receipt:
    documents = tuple(DocumentKey(tenant, "team", path) for path in paths)
    return Receipt(receipt_id, tenant, vaults, documents, EXPIRES_AT_S, {"answer": "Größe \ud800 {}", **body})


def test_a_receipt_comes_back_as_it_was_until_its_time_has_passed(receipts: Receipts, tenant: str) -> None:
    given = receipt(
        tenant, "one", "notes/größe.md", "b.md", vaults=("team", "hr"), cost=0.25, citations=[{"marker": 1}]
    )
    receipts.put_receipt(given)

    assert receipts.receipt(tenant, "one", NOW_S) == given
    assert receipts.receipt(tenant, "one", EXPIRES_AT_S) is None
    assert receipts.receipt(tenant, "other", NOW_S) is None


def test_a_tenant_does_not_see_the_receipts_of_another(receipts: Receipts, tenant: str) -> None:
    receipts.put_receipt(receipt(tenant, "one"))

    assert receipts.receipt(new_tenant_name(), "one", NOW_S) is None


def test_what_names_a_document_goes_with_it_and_the_rest_stays(receipts: Receipts, tenant: str) -> None:
    for name, paths in {
        "both": ("a.md", "b.md"),
        "first": ("a.md",),
        "second": ("b.md",),
        "alike": ("a.md.bak",),
    }.items():
        receipts.put_receipt(receipt(tenant, name, *paths))

    assert receipts.forget_receipts(DocumentKey(tenant, "team", "a.md")) == 2
    assert receipts.forget_receipts(DocumentKey(tenant, "team", "a.md")) == 0

    left = [name for name in ("both", "first", "second", "alike") if receipts.receipt(tenant, name, NOW_S)]
    assert left == ["second", "alike"]
    assert receipts.forget_receipts(DocumentKey(tenant, "team", "b.md")) == 1


def test_a_receipt_of_sixty_documents_goes_with_the_last_of_them(receipts: Receipts, tenant: str) -> None:
    receipts.put_receipt(receipt(tenant, "wide", *(f"{number}.md" for number in range(60))))

    assert receipts.forget_receipts(DocumentKey(tenant, "team", "59.md")) == 1
    assert receipts.receipt(tenant, "wide", NOW_S) is None


def test_all_receipts_of_a_tenant_go_and_no_other_ones(receipts: Receipts, tenant: str) -> None:
    other = new_tenant_name()
    for name in ("one", "two"):
        receipts.put_receipt(receipt(tenant, name, "a.md"))
    receipts.put_receipt(receipt(other, "three", "a.md"))

    assert receipts.forget_all_receipts(tenant) == 2
    assert receipts.forget_all_receipts(tenant) == 0

    assert receipts.receipt(tenant, "one", NOW_S) is None
    assert receipts.receipt(other, "three", NOW_S) is not None


RIGHT, WRONG = Feedback("right", "", "2027-01-15T08:00:00Z"), Feedback("wrong", "Größe 😀", "2027-01-15T08:00:01Z")


def test_feedback_is_stored_with_its_receipt_and_the_latest_of_a_credential_counts(
    receipts: Receipts, tenant: str
) -> None:
    given = receipt(tenant, "one", "a.md")
    receipts.put_receipt(given)

    assert [receipts.put_feedback(given, *said) for said in (("k1", RIGHT), ("k2", RIGHT), ("k1", WRONG))] == [True] * 3

    said = replace(given, feedback={"k1": WRONG, "k2": RIGHT})
    assert receipts.receipt(tenant, "one", NOW_S) == said
    assert receipts.receipts_with_feedback(tenant, after="", limit=5, now_s=NOW_S) == ([said], None)


def test_receipts_with_feedback_are_listed_in_pages_and_no_others(receipts: Receipts, tenant: str) -> None:
    for name in ("a1", "b2", "c3", "d4"):
        given = receipt(tenant, name)
        receipts.put_receipt(given)
        assert name == "b2" or receipts.put_feedback(given, "k1", RIGHT)

    first, cursor = receipts.receipts_with_feedback(tenant, after="", limit=2, now_s=NOW_S)
    assert ([each.id for each in first], cursor) == (["a1", "c3"], "c3")
    rest, cursor = receipts.receipts_with_feedback(tenant, after="c3", limit=2, now_s=NOW_S)
    assert ([each.id for each in rest], cursor) == (["d4"], None)
    assert receipts.receipts_with_feedback(new_tenant_name(), after="", limit=2, now_s=NOW_S) == ([], None)
    assert receipts.receipts_with_feedback(tenant, after="", limit=5, now_s=EXPIRES_AT_S)[0] == []


def test_feedback_goes_with_its_receipt_and_brings_none_back(receipts: Receipts, tenant: str) -> None:
    given = [receipt(tenant, name, "a.md") for name in ("one", "two")]
    for each in given:
        receipts.put_receipt(each)
        assert receipts.put_feedback(each, "k1", WRONG)

    receipts.forget_receipts(DocumentKey(tenant, "team", "a.md"))

    assert not receipts.put_feedback(given[0], "k1", WRONG)
    assert receipts.receipt(tenant, "one", NOW_S) is None
    assert receipts.receipts_with_feedback(tenant, after="", limit=5, now_s=NOW_S) == ([], None)


def test_the_table_itself_forgets_a_receipt_and_its_notes_by_their_expiry() -> None:
    with mock_aws():
        client = boto3.client("dynamodb", region_name=REGION)
        client.create_table(TableName="telemetry", **table_definition("TelemetryTable"))
        DynamoDbReceipts("telemetry", client).put_receipt(receipt("acme", "one", "a.md"))

        items = client.scan(TableName="telemetry")["Items"]

    assert {item["expires_at"]["N"] for item in items} == {str(EXPIRES_AT_S)}
    assert len(items) == 2


def test_a_table_that_takes_only_a_part_is_asked_once_more_and_then_it_is_an_error() -> None:
    class Busy:
        def __init__(self) -> None:
            self.asked = 0

        def batch_write_item(self, *, RequestItems: dict[str, list[Any]]) -> dict[str, Any]:  # noqa: N803 - the SDK's
            self.asked += 1
            return {"UnprocessedItems": {"telemetry": RequestItems["telemetry"][-1:]}}

    busy = Busy()
    with pytest.raises(DatabaseError):
        DynamoDbReceipts("telemetry", busy).put_receipt(receipt("acme", "one", "a.md"))

    assert busy.asked == 2


def linked(tenant: str, receipt_id: str, head: ChainLink | None, *paths: str) -> Receipt:
    given = receipt(tenant, receipt_id, *paths)
    return replace(given, link=next_link(head, receipt_id, given.body, NOW_S, chain="c"))


def test_receipts_with_links_are_listed_by_id_in_pages_and_older_ones_are_not(receipts: Receipts, tenant: str) -> None:
    first = linked(tenant, "a1", None, "a.md")
    second = linked(tenant, "b2", first.link)
    third = linked(tenant, "c3", second.link)
    for given in (third, first, second, receipt(tenant, "b1")):
        receipts.put_receipt(given)

    def listed(after: str, before: str, limit: int, now_s: float = NOW_S) -> tuple[list[Receipt], str | None]:
        return receipts.chained_receipts(tenant, after=after, before=before, limit=limit, now_s=now_s)

    assert listed("", "~", 3) == ([first, second], "b2")
    assert listed("b2", "~", 3) == ([third], None)
    assert listed("a1", "c", 9) == ([second], None)
    assert listed("", "~", 9, EXPIRES_AT_S) == ([], None)
    assert receipts.receipt(tenant, "a1", NOW_S) == first


def test_a_receipt_that_its_owner_deletes_leaves_its_link(receipts: Receipts, tenant: str) -> None:
    given = linked(tenant, "a1", None, "a.md")
    receipts.put_receipt(given)

    receipts.delete_receipt(given)

    left, _ = receipts.chained_receipts(tenant, after="", before="~", limit=9, now_s=NOW_S)
    assert [(each.link, each.purged, each.body) for each in left] == [(given.link, True, {})]
    assert receipts.receipt(tenant, "a1", NOW_S) is None


def test_a_purge_leaves_the_link_and_nothing_else(receipts: Receipts, tenant: str) -> None:
    given = linked(tenant, "a1", None, "a.md")
    receipts.put_receipt(given)
    assert receipts.put_feedback(given, "k1", WRONG)
    key = DocumentKey(tenant, "team", "a.md")

    assert (receipts.forget_receipts(key), receipts.forget_receipts(key)) == (1, 0)

    left, _ = receipts.chained_receipts(tenant, after="", before="~", limit=9, now_s=NOW_S)
    assert left == [Receipt("a1", tenant, (), (), EXPIRES_AT_S, {}, link=given.link, purged=True)]
    assert receipts.receipt(tenant, "a1", NOW_S) is None
    assert not receipts.put_feedback(given, "k1", WRONG)
    assert receipts.receipts_with_feedback(tenant, after="", limit=5, now_s=NOW_S) == ([], None)
    assert receipts.forget_all_receipts(tenant) == 0
    assert receipts.chained_receipts(tenant, after="", before="~", limit=9, now_s=NOW_S) == ([], None)
