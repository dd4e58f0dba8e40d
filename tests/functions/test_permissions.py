"""Permissions of documents: who lacks the groups sees what they would see if there were no such file."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from ragdrop.domain.keys import DocumentKey
from tests.functions.conftest import deployed
from tests.functions.ruled import ALL, HIDDEN, OPEN, Ruled


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ruled]:
    with pytest.MonkeyPatch.context() as environ, deployed(tmp_path_factory.mktemp("ruled"), environ) as made:
        yield Ruled(made)


def test_a_search_shows_each_caller_what_its_groups_let_it_read(whole: Ruled) -> None:
    shown = {who: whole.paths(who) for who in ("reader", "reader of eng", "reader of `hr`", "admin", "delegate")}

    assert shown == {"reader": OPEN, "reader of eng": OPEN, "reader of `hr`": ALL, "admin": ALL, "delegate": OPEN}


@pytest.mark.parametrize("path", sorted(ALL - OPEN))
def test_a_hidden_document_answers_like_one_that_is_not_there(whole: Ruled, path: str) -> None:
    for query in ("", "?content=1", "?chunks=1", "?span=0-9", "/history", "/history?changes=1"):
        status, hidden = whole.send("reader", "GET", f"/documents/team/{path}{query}")
        _, missing = whole.send("reader", "GET", f"/documents/team/none.md{query}")

        assert status == 404
        assert json.dumps(hidden["error"]).replace(path, "none.md")[:-50] == json.dumps(missing["error"])[:-50]
        assert whole.send("reader of `hr`", "GET", f"/documents/team/{path}{query}")[0] == 200


def test_an_answer_is_made_of_what_its_caller_may_read(whole: Ruled) -> None:
    whole.deployment.chat.reply = lambda messages: f"{messages[-1].content} [1]"

    told = {who: HIDDEN in json.dumps(whole.send(who, "POST", "/ask", {"query": "pump"})) for who in whole.keys}

    assert {who for who, each in told.items() if each} == {"admin", "reader of `hr`", "writer of `hr`"}


def test_an_answer_from_the_cache_is_the_callers_own(whole: Ruled) -> None:
    asked = {"query": "pump secret", "limit": 10, "min_relevance": 0}
    whole.send("reader of `hr`", "POST", "/search", asked)
    _, again = whole.send("reader of `hr`", "POST", "/search", asked)
    _, other = whole.send("reader", "POST", "/search", asked)

    assert (again["served_by"], HIDDEN in json.dumps(again)) == ("cache", True)
    assert (other["served_by"], HIDDEN in json.dumps(other)) == ("index", False)


def test_a_receipt_is_read_by_who_may_read_all_of_its_documents(whole: Ruled) -> None:
    _, asked = whole.send("admin", "POST", "/ask", {"query": "pump secret"})
    _, receipt = whole.send("reader of `hr`", "GET", f"/answers/{asked['answer_id']}")

    assert (receipt["asked_as"], receipt["groups"]) == ("admin", [])
    assert whole.send("reader", "GET", f"/answers/{asked['answer_id']}")[0] == 404
    assert whole.send("reader", "POST", f"/answers/{asked['answer_id']}/feedback", {"kind": "right"})[0] == 404


def test_debug_and_counts_name_no_hidden_document(whole: Ruled) -> None:
    asked = {"query": "pump", "debug": True, "rank_folders": True, "limit": 20, "min_relevance": 0}
    _, found = whole.send("reader", "POST", "/search", asked)
    _, vaults = whole.send("reader", "GET", "/vaults")
    _, listed = whole.send("reader", "GET", "/documents?vault=team")
    _, changes = whole.send("reader", "GET", "/changes?vault=team")

    assert HIDDEN not in json.dumps([found, vaults, listed, changes])
    assert {each["path"] for each in found["debug"]["candidates"]} <= OPEN
    assert "hr/pay" not in json.dumps([{**found["debug"], "candidates": []}, listed, changes])
    assert found["total_indexed"] is None
    assert {each["path"] for each in listed["documents"]} == {*OPEN, ".ragdrop.json"}
    assert [each["documents"] for each in vaults["vaults"]] == [{"indexed": 3}]
    assert whole.send("reader", "GET", "/stats")[1]["total_documents"] is None
    assert whole.send("reader", "GET", "/health")[1]["indexed_documents"] is None
    assert HIDDEN not in json.dumps(whole.send("reader", "GET", "/me"))
    assert whole.send("admin", "GET", "/stats")[1]["total_documents"] == 7


def test_a_link_to_a_hidden_document_is_broken_for_who_may_not_read_it(whole: Ruled) -> None:
    broken = {who: whole.send(who, "GET", "/documents/team/pump.md")[1]["broken_links"] for who in whole.keys}

    assert broken["reader"] == ["[[secret]]", "hr/pay.md"]
    assert broken["reader of `hr`"] == broken["admin"] == []


def test_a_delegate_speaks_for_a_user_and_never_from_a_browser(whole: Ruled) -> None:
    asked = {"query": "pump", "limit": 20, "min_relevance": 0}

    def seen(who: str, groups: str, **more: str) -> tuple[int, bool]:
        status, body = whole.send(who, "POST", "/search", asked, {"X-Ragdrop-Groups": groups, **more})
        return status, HIDDEN in json.dumps(body)

    assert seen("delegate", "hr, other") == (200, True)
    assert seen("delegate", "other") == seen("delegate", "") == (200, False)
    assert seen("delegate of hr", "hr") == (200, True)
    assert seen("delegate of hr", "board")[0] == 403
    assert seen("reader of `hr`", "hr")[0] == seen("admin", "hr")[0] == 403
    assert seen("delegate", "hr", Origin="https://page.example")[0] == 403
    assert seen("delegate", "a b")[0] == 400
    assert whole.send("delegate", "POST", "/app/links", {})[0] == 403


def test_a_writer_changes_neither_what_it_may_not_read_nor_the_rules(whole: Ruled) -> None:
    for path in ("hr/pay.md", "hr/new.md", "secret.md", "secret.md.metadata.json"):
        assert whole.send("writer", "PUT", f"/documents/team/{path}", "x")[0] == 404
        upload = {"vault": "team", "path": path}
        assert whole.send("writer", "POST", "/uploads", upload)[0] == 404
        assert whole.send("writer of `hr`", "POST", "/uploads", upload)[0] == 201
    for method in ("DELETE", "PUT"):
        assert whole.send("writer", method, "/documents/team/secret.md")[0] == 404
        assert whole.send("writer of `hr`", method, "/documents/team/.ragdrop.json", "{}")[0] == 403
    assert whole.send("writer", "POST", "/documents/team/secret.md/retry")[0] == 404
    assert whole.send("writer of `hr`", "POST", "/uploads", {"vault": "team", "path": ".ragdrop.json"})[0] == 403
    for body, status in (('{"\\u0061ccess": []}', 403), ('{"access": []', 403), ('{"max_results": 3}', 202)):
        assert whole.send("writer", "PUT", "/documents/other/.ragdrop.json", body)[0] == status


@pytest.mark.parametrize("path", ["/documents?vault=team&limit=1", "/changes?vault=team&limit=1"])
def test_no_cursor_names_a_hidden_document(whole: Ruled, path: str) -> None:
    seen: list[str] = []
    cursors: list[str] = []
    cursor = None
    while True:
        _, page = whole.send("reader", "GET", path + ("" if cursor is None else f"&cursor={quote(cursor)}"))
        found = page.get("documents", page.get("changes"))
        seen += [each["path"] for each in found]
        if not page["cursor"] or not found:
            break
        cursor = page["cursor"]
        cursors.append(cursor)

    named = [DocumentKey("demo", "team", each) for each in seen]
    assert {*OPEN, ".ragdrop.json"} == set(seen)
    assert len(cursors) <= len(named)
    for shown, key in zip(cursors, named, strict=False):
        plain = base64.urlsafe_b64decode(shown + "==") if "documents" in path else shown.encode()
        assert key.path in plain.decode("utf-8", "replace") or key.digest[:12] in shown
