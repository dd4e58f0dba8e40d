"""Rules of access that change, that cannot be read, and that let files widen them."""

from __future__ import annotations

import json
import time

import pytest

from ragdrop.domain.deadlines import rfc3339
from tests.functions.conftest import EXAMPLE_BUCKET, Deployment
from tests.functions.ruled import ALL, HIDDEN, OPEN, RULES, Ruled


@pytest.fixture
def ruled(deployment: Deployment) -> Ruled:
    return Ruled(deployment)


def test_a_moment_of_the_past_is_read_by_the_permissions_of_now(ruled: Ruled) -> None:
    as_of = rfc3339(time.time(), precision="milliseconds")
    before = ruled.paths("reader", as_of=as_of)
    ruled.rule([*RULES, {"path": "pump.md", "groups": ["eng"]}])

    assert "pump.md" in before
    assert "pump.md" not in ruled.paths("reader", as_of=as_of)
    assert "pump.md" in ruled.paths("reader of eng", as_of=as_of)


def test_a_changed_rule_counts_from_the_next_question_on_and_indexes_nothing(ruled: Ruled) -> None:
    revisions = {path: ruled.send("admin", "GET", f"/documents/team/{path}")[1]["revision"] for path in ALL}
    assert "hr/pay.md" not in ruled.paths("reader of eng")

    ruled.rule([{"path": "hr/**", "groups": ["eng"]}])

    assert "hr/pay.md" in ruled.paths("reader of eng")
    assert "hr/pay.md" not in ruled.paths("reader of `hr`")
    assert ruled.send("reader of `hr`", "GET", "/documents/team/hr/pay.md")[0] == 404
    assert {p: ruled.send("admin", "GET", f"/documents/team/{p}")[1]["revision"] for p in ALL} == revisions


def test_rules_that_cannot_be_read_deny_and_the_file_says_so(ruled: Ruled) -> None:
    ruled.rule([{"path": "hr/**", "groups": "hr"}], min_relevance=0.5)
    assert ruled.paths("reader of `hr`") == ALL - {"hr/pay.md", "hr/open/news.md"}

    ruled.deployment.put_object("demo/team/.ragdrop.json", '{"access": [')
    _, record = ruled.send("admin", "GET", "/documents/team/.ragdrop.json")

    assert ruled.paths("reader of `hr`") == set()
    assert ruled.paths("admin") == ALL
    assert (record["status"], record["error"]["code"]) == ("failed", "INVALID_SETTINGS")


def test_a_file_widens_its_folder_only_where_the_rule_says_so(ruled: Ruled) -> None:
    ruled.deployment.put_object("demo/team/hr/wide.md", "---\naccess: ['*']\n---\nThe pump is wide.")
    assert "hr/wide.md" not in ruled.paths("reader")

    ruled.rule([{"path": "hr/**", "groups": ["hr"], "widen": True}])

    assert "hr/wide.md" in ruled.paths("reader")
    assert "hr/pay.md" not in ruled.paths("reader")


def test_a_file_whose_access_cannot_be_read_is_for_admins_and_says_so(ruled: Ruled) -> None:
    for name, front in (("a", "access: {hr: 1}"), ("b", "access: [hr board]"), ("c", "access: [hr\ntitle: x")):
        ruled.deployment.put_object(f"demo/team/{name}.md", f"---\n{front}\n---\n# Pump\n\nThe pump {name}.")

        assert f"{name}.md" not in ruled.paths("reader of `hr`")
        assert any(
            "only admins" in each for each in ruled.send("admin", "GET", f"/documents/team/{name}.md")[1]["warnings"]
        )


def test_a_changed_tag_counts_from_the_next_question_on_and_indexes_nothing(ruled: Ruled) -> None:
    before = ruled.send("admin", "GET", "/documents/team/tagged.txt")[1]
    assert before["access"] == [{"groups": ["board", "hr"], "by": "tag"}]
    assert "tagged.txt" not in ruled.paths("reader of eng")

    ruled.tag("tagged.txt", "eng")

    assert "tagged.txt" in ruled.paths("reader of eng")
    assert "tagged.txt" not in ruled.paths("reader of `hr`")
    assert ruled.send("reader of `hr`", "GET", "/documents/team/tagged.txt")[0] == 404
    after = ruled.send("admin", "GET", "/documents/team/tagged.txt")[1]
    assert (after["revision"], after["indexed_at"]) == (before["revision"], before["indexed_at"])


def test_an_answer_from_the_cache_knows_of_a_tag_that_was_taken_off(ruled: Ruled) -> None:
    assert [ruled.paths("reader") for _ in range(2)] == [OPEN, OPEN]

    ruled.deployment.s3.delete_object_tagging(Bucket=EXAMPLE_BUCKET, Key="demo/team/tagged.txt")
    ruled.deployment.reconcile("demo/team/tagged.txt")

    assert ruled.paths("reader") == {*OPEN, "tagged.txt"}


def test_a_rollback_puts_a_version_back_with_the_tag_of_now(ruled: Ruled) -> None:
    moment = rfc3339(time.time(), precision="milliseconds")
    time.sleep(0.01)
    ruled.deployment.put_object("demo/team/pump.md", "# Pump\n\nThe pump is blue.")
    ruled.tag("pump.md", "eng")

    assert ruled.send("admin", "POST", "/vaults/team/rollback", {"to": moment, "prefix": "pump"})[0] == 200
    ruled.deployment.reconcile("demo/team/pump.md")

    assert "red" in ruled.send("admin", "GET", "/documents/team/pump.md?content=1")[1]["text"]
    assert ruled.send("reader", "GET", "/documents/team/pump.md")[0] == 404
    assert ruled.send("reader of eng", "GET", "/documents/team/pump.md")[0] == 200


REFUSALS = (
    ("reader", "GET", "/documents/team/hr/pay.md", "access to a document was refused", ["rule"]),
    ("reader", "GET", "/documents/team/secret.md/history", "access to a document was refused", ["file"]),
    ("writer", "DELETE", "/documents/team/tagged.txt", "access to a document was refused", ["tag"]),
    ("writer", "POST", "/documents/team/tagged.txt/retry", "access to a document was refused", ["tag"]),
)


@pytest.mark.parametrize(("who", "method", "path", "line", "by"), REFUSALS)
def test_each_refusal_of_a_named_document_is_one_line_that_says_who_asked_and_not_for_what(
    ruled: Ruled, caplog: pytest.LogCaptureFixture, who: str, method: str, path: str, line: str, by: list[str]
) -> None:
    caplog.clear()
    assert ruled.send(who, method, path)[0] == 404

    [record] = [each.__dict__ for each in caplog.records if each.message == line]
    assert (record["tenant"], record["vault"], record["by"]) == ("demo", "team", by)
    assert record["credential"]
    assert not any(word in str(record) for word in (HIDDEN, "pay.md", "secret.md", "tagged.txt"))


def test_a_refused_answer_and_a_refused_change_of_rules_say_who_asked(
    ruled: Ruled, caplog: pytest.LogCaptureFixture
) -> None:
    _, asked = ruled.send("admin", "POST", "/ask", {"query": "pump secret"})
    caplog.clear()
    assert ruled.send("reader", "GET", f"/answers/{asked['answer_id']}")[0] == 404
    assert ruled.send("writer", "PUT", "/documents/team/.ragdrop.json", "{}")[0] == 403
    assert ruled.send("reader", "POST", "/search", {"query": "x"}, {"X-Ragdrop-Groups": "hr"})[0] == 403

    lines = [each.__dict__ for each in caplog.records]
    [answer] = [each for each in lines if each["message"] == "access to an answer was refused"]
    assert (answer["tenant"], answer["answer_id"]) == ("demo", asked["answer_id"])
    refused = [each for each in lines if each["message"] == "a request was refused"]
    assert [each["code"] for each in refused] == ["NOT_FOUND", "FORBIDDEN", "FORBIDDEN"]
    assert all(each["tenant"] == "demo" and each["credential"] for each in refused)
    assert HIDDEN not in str(lines)


@pytest.mark.parametrize("name", ["access", "acces", "golden_questions"])
def test_what_is_wrong_with_a_settings_file_names_no_hidden_folder(ruled: Ruled, name: str) -> None:
    wrong = [{"path": "hr/raises/**", "groups": "hr", "document": "hr/raises/1.md"}]
    ruled.deployment.put_object("demo/team/.ragdrop.json", json.dumps({name: wrong}))

    _, record = ruled.send("reader", "GET", "/documents/team/.ragdrop.json")

    assert record["error"]["code"] == "INVALID_SETTINGS"
    assert name in record["error"]["message"]
    assert "raises" not in json.dumps(record)
