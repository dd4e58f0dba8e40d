"""A mirror deletes only what it may, and waiting for a push asks little and gives up in time."""

from __future__ import annotations

import hashlib
import itertools
from typing import NoReturn

import httpx
import pytest
from typer.testing import Result

from ragdrop.client import RagdropClient
from ragdrop_cli.pushing import AT_ONCE, AT_ONCE_HERE, at_once
from tests.unit.cli.world import Answer, CommandLine, refused


def push(ragdrop: CommandLine, *options: str) -> Result:
    return ragdrop.run("push", str(ragdrop.folder / "in"), "--vault", "team", *options)


def sent(ragdrop: CommandLine, method: str = "PUT") -> list[str]:
    """What was asked for by this method since the last look."""
    found = [request.url.path.partition("/team/")[2] for request in ragdrop.api.requests if request.method == method]
    ragdrop.api.requests.clear()
    return sorted(found)


@pytest.fixture
def pushed(ragdrop: CommandLine) -> CommandLine:
    for name in ("a.md", "b.md", "c.md"):
        ragdrop.write(f"in/{name}", name)
    assert push(ragdrop, "--wait").exit_code == 0
    ragdrop.api.requests.clear()
    return ragdrop


def test_a_second_push_sends_nothing(pushed: CommandLine) -> None:
    result = push(pushed, "--wait")

    assert (result.exit_code, result.stdout) == (0, "0 files to vault team: 3 unchanged\n")
    assert sent(pushed) == []


def test_only_what_changed_or_is_new_is_sent(pushed: CommandLine) -> None:
    pushed.write("in/b.md", "changed")
    pushed.write("in/d.md", "new")

    result = push(pushed)

    assert result.stdout == "2 files to vault team: 2 pending, 2 unchanged\n"
    assert sent(pushed) == ["b.md", "d.md"]


def test_what_was_sent_and_is_not_indexed_yet_is_not_sent_again(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.api.polls_needed = 1_000
    push(ragdrop)
    sent(ragdrop)

    push(ragdrop)

    assert sent(ragdrop) == []


def test_a_sidecar_is_compared_like_any_file(pushed: CommandLine) -> None:
    pushed.write("in/a.md.metadata.json", "{}")
    assert push(pushed).exit_code == 0
    assert sent(pushed) == ["a.md.metadata.json"]
    etag = pushed.api.documents.pop("team/a.md.metadata.json")["etag"]  # a sidecar is in no list
    pushed.api.documents["team/a.md"]["sidecar_etag"] = etag

    push(pushed)

    assert sent(pushed) == []


def test_with_all_everything_is_sent(pushed: CommandLine) -> None:
    push(pushed, "--all")

    assert sent(pushed) == ["a.md", "b.md", "c.md"]


def test_delete_removes_what_the_folder_has_not_and_leaves_hidden_names(pushed: CommandLine) -> None:
    (pushed.folder / "in" / "b.md").unlink()
    pushed.api.documents["team/.ragdrop.json"] = pushed.api.documents["team/a.md"] | {"path": ".ragdrop.json"}

    result = push(pushed, "--delete", "--yes")

    assert result.exit_code == 0
    assert result.stdout == "1 file to vault team: 1 deleted, 2 unchanged\n"
    assert sent(pushed, "DELETE") == ["b.md"]


def test_where_nobody_can_be_asked_nothing_is_deleted_without_yes(pushed: CommandLine) -> None:
    (pushed.folder / "in" / "b.md").unlink()

    result = push(pushed, "--delete")

    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert sent(pushed, "DELETE") == []


def test_nothing_is_deleted_where_a_file_could_not_be_sent(pushed: CommandLine) -> None:
    (pushed.folder / "in" / "b.md").unlink()
    (pushed.folder / "in" / "broken.md").symlink_to("nowhere.md")

    assert push(pushed, "--delete", "--yes").exit_code == 1
    assert sent(pushed, "DELETE") == []


def test_an_almost_empty_folder_does_not_empty_a_vault(ragdrop: CommandLine) -> None:
    for number in range(50):
        ragdrop.write(f"in/{number}.md", str(number))
    push(ragdrop)
    for number in range(25):
        (ragdrop.folder / "in" / f"{number}.md").unlink()
    sent(ragdrop)

    refused = push(ragdrop, "--delete", "--yes")

    assert refused.exit_code == 1
    assert "REFUSED: 25 of 50" in refused.stderr
    assert sent(ragdrop, "DELETE") == []
    assert push(ragdrop, "--delete", "--yes", "--allow-mass-delete").exit_code == 0
    assert len(sent(ragdrop, "DELETE")) == 25


def test_a_push_that_was_interrupted_continues_where_it_was(ragdrop: CommandLine) -> None:
    for number in range(60):
        ragdrop.write(f"in/{number:02}.md", f"words {number}")
    ragdrop.api.routes["PUT", "/documents/team/30.md"] = interrupt

    assert push(ragdrop).exit_code == 130
    first = set(sent(ragdrop)) - {"30.md"}
    ragdrop.api.routes.clear()

    assert push(ragdrop).exit_code == 0
    second = set(sent(ragdrop))
    assert 0 < len(first) < 60
    assert second == {f"{number:02}.md" for number in range(60)} - first


def interrupt(_request: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.fixture
def thirty(ragdrop: CommandLine) -> CommandLine:
    for number in range(30):
        ragdrop.write(f"in/logs/{number:02}.md")
    return ragdrop


def push_all(ragdrop: CommandLine, *options: str) -> Result:
    return ragdrop.run("push", str(ragdrop.folder / "in"), "--vault", "team", "--all", "--wait", *options)


def asked(ragdrop: CommandLine) -> tuple[list[httpx.Request], list[httpx.Request]]:
    """The requests for the list, and those for a record."""
    reads = [request for request in ragdrop.api.requests if request.method == "GET"]
    lists = [request for request in reads if request.url.path == "/prod/documents"]
    return lists, [request for request in reads if request not in lists]


def test_wait_asks_until_every_file_is_indexed_and_only_the_api_itself(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a b.md")
    ragdrop.api.polls_needed = 3

    result = push_all(ragdrop)

    assert result.stdout == "1 file to vault team: 1 indexed\n"
    polls = [request for request in ragdrop.api.requests if request.method == "GET"]
    assert {str(request.url) for request in polls} == {"http://api.example/prod/documents/team/a%20b.md?version=v1"}
    assert ragdrop.slept_s == sorted(ragdrop.slept_s)
    assert len(polls) == 4


def test_a_document_that_fails_is_in_the_table_and_ends_with_1(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.write("in/b.md")
    ragdrop.api.failing["team/b.md"] = {"code": "EMPTY_DOCUMENT", "message": "there is no text in it"}

    result = push_all(ragdrop)

    assert result.exit_code == 1
    assert result.stdout == "2 files to vault team: 1 failed, 1 indexed\n"
    assert result.stderr == "b.md\tEMPTY_DOCUMENT\tthere is no text in it\n"


def test_what_is_still_pending_when_the_time_is_over_ends_with_1(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.api.polls_needed = 1000

    result = push_all(ragdrop, "--timeout-s", "0")

    assert result.exit_code == 1
    assert "a.md\tTIMEOUT" in result.stderr
    assert result.stdout == "1 file to vault team: 1 pending\n"


def test_an_outage_of_a_service_while_waiting_is_waited_out(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    replies = iter(
        [refused(503, "DATABASE_ERROR", "busy", service="registry"), httpx.Response(200, json={"status": "indexed"})]
    )
    ragdrop.api.routes["GET", "/documents/team/a.md"] = lambda _request: next(replies)

    assert push_all(ragdrop).exit_code == 0


def time_out(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("slow", request=request)


def test_a_poll_that_times_out_does_not_end_the_push(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    tries = itertools.count(1)
    done = {"status": "indexed", "version_id": "v1"}
    ragdrop.api.routes["GET", "/documents/team/a.md"] = lambda request: (
        time_out(request) if next(tries) <= 7 else httpx.Response(200, json=done)
    )

    assert push_all(ragdrop).exit_code == 0


def test_without_progress_for_the_whole_time_the_last_error_is_reported(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.api.routes["GET", "/documents/team/a.md"] = time_out

    result = push_all(ragdrop, "--timeout-s", "30")

    assert result.exit_code == 1
    assert "a.md\tTIMEOUT\tstill pending" in result.stderr
    assert "API_UNREACHABLE: http://api.example/prod did not answer in time" in result.stderr
    assert 30 <= sum(ragdrop.slept_s) < 35


def test_a_key_that_may_no_longer_read_ends_the_wait_at_once(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.api.routes["GET", "/documents/team/a.md"] = lambda _request: refused(401, "UNAUTHENTICATED", "revoked")

    result = push_all(ragdrop)

    assert result.exit_code == 1
    assert result.stderr.startswith("error UNAUTHENTICATED")
    assert len(ragdrop.slept_s) == 1


def test_a_slow_machine_that_continues_does_not_time_out(thirty: CommandLine) -> None:
    def indexed_at(number: int) -> Answer:
        turn = itertools.count(1)
        found = ({"status": "indexed" if each > number else "pending", "version_id": "v1"} for each in turn)
        return lambda _request: httpx.Response(200, json=next(found))

    for number in range(30):
        thirty.api.routes["GET", f"/documents/team/logs/{number:02}.md"] = indexed_at(number)
    thirty.api.polls_needed = 1_000_000

    result = push_all(thirty, "--timeout-s", "60")

    assert result.exit_code == 0
    assert sum(thirty.slept_s) > 120


def test_a_file_that_ingest_has_begun_with_is_progress(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    replies = [{"status": "pending"}] * 6 + [{"status": "pending", "revision": 1, "version_id": "v1"}] * 6
    answers = iter([*replies, {"status": "indexed"}])
    ragdrop.api.routes["GET", "/documents/team/a.md"] = lambda _request: httpx.Response(200, json=next(answers))

    assert push_all(ragdrop, "--timeout-s", "11").exit_code == 0
    assert sum(ragdrop.slept_s) > 15


def test_of_many_files_the_list_is_asked_and_no_record_of_what_it_shows_as_indexed(thirty: CommandLine) -> None:
    thirty.api.polls_needed = 3

    result = push_all(thirty)

    lists, records = asked(thirty)
    assert result.stdout == "30 files to vault team: 30 indexed\n"
    assert dict(lists[0].url.params) == {"vault": "team", "prefix": "logs/", "limit": "1000"}
    assert len(lists) <= 4
    assert len(records) == 10  # five at each poll that found nothing in the list


def test_with_json_the_whole_record_of_each_file_is_asked_once(thirty: CommandLine) -> None:
    push_all(thirty, "--json")

    _, records = asked(thirty)
    assert len({request.url.path for request in records}) == len(records) == 30


def test_less_is_sent_at_once_to_an_api_that_shares_the_cores_of_this_machine() -> None:
    here, away = RagdropClient("http://127.0.0.1:4566", "rd_key"), RagdropClient("https://api.example", "rd_key")

    assert (at_once(here), at_once(away)) == (AT_ONCE_HERE, AT_ONCE)


def test_what_the_list_shows_of_an_older_version_does_not_count(thirty: CommandLine) -> None:
    push_all(thirty)
    old = {"version_id": "v0", "live_version_id": "v0", "status": "indexed"}
    listed = [{"path": f"logs/{number:02}.md", **old} for number in range(30)]
    thirty.api.routes["GET", "/documents"] = lambda _request: httpx.Response(200, json={"documents": listed})
    thirty.api.polls_needed = 1_000_000

    result = push_all(thirty, "--timeout-s", "20")

    assert result.exit_code == 1
    assert result.stdout == "30 files to vault team: 30 pending\n"


def test_a_list_that_fails_or_never_shows_a_file_is_no_obstacle(thirty: CommandLine) -> None:
    thirty.api.unlisted = {f"team/logs/{number:02}.md" for number in range(10)}
    assert push_all(thirty).exit_code == 0

    thirty.api.routes["GET", "/documents"] = lambda _request: refused(500, "INTERNAL_ERROR", "oh")
    assert push_all(thirty).exit_code == 0


def test_a_vault_with_far_more_documents_is_not_listed_to_its_end(thirty: CommandLine) -> None:
    thirty.api.documents = {f"team/logs/0{n:04}": {"path": f"logs/0{n:04}", "version_id": "v1"} for n in range(60)}
    for record in thirty.api.documents.values():
        record["polls"] = 0
    thirty.api.page_size = 10

    result = push_all(thirty)

    lists, _ = asked(thirty)
    assert result.exit_code == 0
    assert len(lists) == 4  # one page for each ten files and one more; the others are asked one by one


def test_a_metadata_file_is_settled_once_its_document_was_read_with_it(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.write("in/a.md.metadata.json", "{}")
    turns = itertools.count(1)

    def record(_request: httpx.Request) -> httpx.Response:
        etag = hashlib.md5(b"{}", usedforsecurity=False).hexdigest() if next(turns) > 3 else None
        return httpx.Response(200, json={"status": "indexed", "version_id": "v1", "sidecar_etag": etag})

    ragdrop.api.routes["GET", "/documents/team/a.md"] = record

    result = push_all(ragdrop)

    assert (result.exit_code, result.stdout) == (0, "2 files to vault team: 2 indexed\n")


def test_a_metadata_file_without_its_document_is_reported(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md.metadata.json", "{}")

    result = push_all(ragdrop)

    assert result.exit_code == 1
    assert result.stderr == "a.md.metadata.json\tNO_DOCUMENT\tthere is no a.md\n"
