"""`ragdrop push` and `ragdrop watch`: what is sent, shown and deleted, and how the command ends."""

from __future__ import annotations

import json
import os
import random
import shutil
from contextlib import suppress

import httpx
import pytest
from typer.testing import Result

from ragdrop.client import RagdropClient
from ragdrop_cli.push import FolderSync
from tests.changing_folder import change, in_folder
from tests.unit.cli.world import API_KEY, API_URL, BUCKET_HOST, CommandLine, refused


def push(ragdrop: CommandLine, *options: str) -> Result:
    return ragdrop.run("push", str(ragdrop.folder / "in"), "--vault", "team", *options)


def test_files_keep_their_path_and_their_bytes(ragdrop: CommandLine) -> None:
    ragdrop.write("in/notes/pump é.md", "The pump's code is QX-5521.")
    ragdrop.write("in/read me.txt", "hello")

    result = push(ragdrop)

    assert result.exit_code == 0
    assert ragdrop.api.bodies == {"team/notes/pump é.md": b"The pump's code is QX-5521.", "team/read me.txt": b"hello"}
    assert result.stdout == "2 files to vault team: 2 pending\n"


def test_hidden_files_and_folders_are_left_out(ragdrop: CommandLine) -> None:
    for name in ("in/a.md", "in/.hidden.md", "in/.git/config.md", "in/sub/.DS_Store"):
        ragdrop.write(name)

    push(ragdrop)

    assert list(ragdrop.api.bodies) == ["team/a.md"]


def test_the_media_type_and_the_key_are_sent(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")

    push(ragdrop)

    [put] = [request for request in ragdrop.api.requests if request.method == "PUT"]
    assert put.headers["content-type"] == "text/markdown"
    assert put.headers["x-api-key"] == "rd_test"


def test_a_refused_file_does_not_stop_the_others(ragdrop: CommandLine) -> None:
    for name in ("a.md", "b.md", "c.md"):
        ragdrop.write(f"in/{name}")
    ragdrop.api.routes["PUT", "/documents/team/b.md"] = lambda _request: refused(400, "INVALID_PARAMS", "bad name")

    result = push(ragdrop)

    assert result.exit_code == 1
    assert sorted(ragdrop.api.bodies) == ["team/a.md", "team/c.md"]
    assert "b.md\tINVALID_PARAMS\tbad name" in result.stderr


def test_a_key_that_may_not_write_stops_the_push_at_once(ragdrop: CommandLine) -> None:
    for number in range(50):
        ragdrop.write(f"in/{number:02}.md")
        ragdrop.api.routes["PUT", f"/documents/team/{number:02}.md"] = lambda _request: refused(
            403, "FORBIDDEN", "a reader may not write"
        )

    result = push(ragdrop)

    assert result.exit_code == 1
    assert result.stderr.startswith("error FORBIDDEN: a reader may not write")
    assert len(ragdrop.api.requests) < 50


def test_a_file_over_the_limit_of_a_request_goes_straight_into_the_bucket_without_the_key(ragdrop: CommandLine) -> None:
    ragdrop.write("in/big.txt", "x" * (4 * 1024 * 1024 + 1))

    result = push(ragdrop, "--wait")

    assert (result.exit_code, result.stdout) == (0, "1 file to vault team: 1 indexed\n")
    assert ragdrop.api.bodies == {"team/big.txt": b"x" * (4 * 1024 * 1024 + 1)}
    [form] = [request for request in ragdrop.api.requests if request.url.path.endswith("/uploads")]
    assert json.loads(form.content) == {"vault": "team", "path": "big.txt", "media_type": "text/plain"}
    [post] = [request for request in ragdrop.api.requests if request.url.host == BUCKET_HOST]
    assert "x-api-key" not in post.headers


def test_a_file_that_was_sent_straight_into_the_bucket_is_not_sent_again(ragdrop: CommandLine) -> None:
    ragdrop.write("in/big.txt", "x" * (4 * 1024 * 1024 + 1))
    push(ragdrop, "--wait")

    assert push(ragdrop).stdout == "0 files to vault team: 1 unchanged\n"


def test_a_file_over_the_limit_of_a_document_is_not_sent(ragdrop: CommandLine) -> None:
    ragdrop.api.max_bytes = 4 * 1024 * 1024
    ragdrop.write("in/big.txt", "x" * (4 * 1024 * 1024 + 1))

    result = push(ragdrop)

    assert result.exit_code == 1
    assert "big.txt\tDOCUMENT_TOO_LARGE" in result.stderr
    assert ragdrop.api.bodies == {}


def test_a_link_to_nowhere_is_reported_and_not_followed(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    (ragdrop.folder / "in" / "broken.md").symlink_to("nowhere.md")
    os.mkfifo(ragdrop.folder / "in" / "pipe.md")

    result = push(ragdrop)

    assert result.exit_code == 1
    assert [line.split("\t")[:2] for line in result.stderr.splitlines()] == [
        ["broken.md", "UNREADABLE"],
        ["pipe.md", "UNREADABLE"],
    ]


def test_json_prints_the_last_body_about_each_file_in_order(ragdrop: CommandLine) -> None:
    for name in ("a.md", "b.md", "c.md"):
        ragdrop.write(f"in/{name}")
    ragdrop.api.routes["PUT", "/documents/team/b.md"] = lambda _request: refused(400, "INVALID_PARAMS", "bad name")

    bodies = [json.loads(line) for line in push(ragdrop, "--wait", "--json").stdout.splitlines()]

    assert [body.get("path") or body["error"]["code"] for body in bodies] == ["a.md", "INVALID_PARAMS", "c.md"]


def test_off_a_terminal_a_line_is_reported_every_100_files(ragdrop: CommandLine) -> None:
    for number in range(205):
        ragdrop.write(f"in/{number}.md")

    assert push(ragdrop).stderr.splitlines() == ["sending: 100 of 205 files", "sending: 200 of 205 files"]


def test_on_a_terminal_a_bar_is_drawn_instead(ragdrop: CommandLine) -> None:
    for number in range(105):
        ragdrop.write(f"in/{number}.md")

    shown = ragdrop.run("push", str(ragdrop.folder / "in"), "--vault", "team", terminal=True).stderr

    assert "105/105" in shown
    assert "100 of 105" not in shown


def test_an_empty_folder_is_reported_and_no_failure(ragdrop: CommandLine) -> None:
    ragdrop.write("in/.hidden")

    result = push(ragdrop)

    assert result.exit_code == 0
    assert "there is no file" in result.stderr


def test_a_folder_that_does_not_exist_is_a_usage_error(ragdrop: CommandLine) -> None:
    assert push(ragdrop).exit_code == 2


def test_a_file_that_failed_before_is_reported_again_by_a_second_push(ragdrop: CommandLine) -> None:
    for name in ("a.md", "b.md"):
        ragdrop.write(f"in/{name}")
    ragdrop.api.failing["team/b.md"] = {"code": "EMPTY_DOCUMENT", "message": "there is no text in it"}
    push(ragdrop, "--wait")

    result = push(ragdrop)

    assert result.exit_code == 1
    assert result.stdout == "1 file to vault team: 1 still failed, 1 unchanged\n"
    assert result.stderr == "b.md\tEMPTY_DOCUMENT\tthere is no text in it\n"


def test_a_second_push_with_wait_waits_for_what_the_first_one_sent(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.api.polls_needed = 4
    push(ragdrop)

    result = push(ragdrop, "--wait")

    assert (result.exit_code, result.stdout) == (0, "1 file to vault team: 1 indexed\n")
    assert [request.method for request in ragdrop.api.requests].count("PUT") == 1


def test_a_rename_is_pointed_out_and_nothing_is_deleted(ragdrop: CommandLine) -> None:
    ragdrop.write("in/notes/a.md", "The pump is red.")
    ragdrop.write("in/notes/other.md", "The lamp is blue.")
    push(ragdrop)
    (ragdrop.folder / "in/notes/a.md").rename(ragdrop.folder / "in/notes/b.md")

    result = push(ragdrop)

    assert result.stderr == (
        "renamed: notes/a.md is notes/b.md now: both are in the vault now; --delete would delete notes/a.md\n"
    )
    assert sorted(ragdrop.api.documents) == ["team/notes/a.md", "team/notes/b.md", "team/notes/other.md"]


def test_a_mirror_deletes_the_old_name_of_a_renamed_file(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md", "The pump is red.")
    push(ragdrop)
    (ragdrop.folder / "in/a.md").rename(ragdrop.folder / "in/b.md")

    result = push(ragdrop, "--delete", "--yes")

    assert result.stderr == "renamed: a.md is b.md now\n"
    assert list(ragdrop.api.documents) == ["team/b.md"]


def test_a_copy_is_no_rename(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md", "The pump is red.")
    push(ragdrop)
    ragdrop.write("in/b.md", "The pump is red.")

    assert push(ragdrop).stderr == ""


def test_one_file_is_sent_under_its_name(ragdrop: CommandLine) -> None:
    file = ragdrop.write("in/notes/pump.md", "The pump is red.")

    result = ragdrop.run("push", str(file), "--vault", "team")

    assert (result.exit_code, result.stdout) == (0, "1 file to vault team: 1 pending\n")
    assert list(ragdrop.api.bodies) == ["team/pump.md"]


def test_a_prefix_puts_files_under_a_folder_of_the_vault(ragdrop: CommandLine) -> None:
    file = ragdrop.write("in/pump.md")

    ragdrop.run("push", str(file), "--vault", "team", "--prefix", "notes/2026/")
    push(ragdrop, "--prefix", "copy")

    assert list(ragdrop.api.bodies) == ["team/notes/2026/pump.md", "team/copy/pump.md"]


def test_a_mirror_under_a_prefix_leaves_the_rest_of_the_vault_alone(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    push(ragdrop)
    push(ragdrop, "--prefix", "copy")
    ragdrop.api.documents["team/copy/old.md"] = ragdrop.api.documents["team/a.md"] | {"path": "copy/old.md"}

    push(ragdrop, "--prefix", "copy", "--delete", "--yes")

    assert sorted(ragdrop.api.documents) == ["team/a.md", "team/copy/a.md"]


def test_a_single_file_cannot_be_mirrored(ragdrop: CommandLine) -> None:
    file = ragdrop.write("in/a.md")

    result = ragdrop.run("push", str(file), "--vault", "team", "--delete")

    assert result.exit_code == 2
    assert ragdrop.api.requests == []


def sync(ragdrop: CommandLine, *options: str) -> Result:
    return ragdrop.run("watch", str(ragdrop.folder / "in"), "--vault", "team", "--yes", *options)


def syncing_of(ragdrop: CommandLine) -> FolderSync:
    made = FolderSync(ragdrop.connect(API_URL, API_KEY), ragdrop.folder / "in", "team", None, allow_mass_delete=False)
    made.begin()
    return made


def stored(ragdrop: CommandLine) -> dict[str, bytes]:
    return {name.removeprefix("team/"): ragdrop.api.bodies[name] for name in sorted(ragdrop.api.documents)}


def test_it_sends_what_is_there_and_deletes_what_is_not(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.write("in/b.md")
    sync(ragdrop, "--looks", "2")
    (ragdrop.folder / "in/b.md").unlink()

    result = sync(ragdrop, "--looks", "2")

    assert result.exit_code == 0
    assert list(stored(ragdrop)) == ["a.md"]
    assert "deleted b.md" in result.stderr


def test_each_change_can_be_printed_as_json(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")

    result = sync(ragdrop, "--looks", "2", "--json")

    assert json.loads(result.stdout) == {"path": "a.md", "done": "sent", "error": None}


def test_a_file_that_is_being_written_waits_until_it_stays_the_same(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md", "first")
    syncing = syncing_of(ragdrop)
    syncing.look()
    ragdrop.write("in/a.md", "second, longer")
    syncing.look()
    assert stored(ragdrop) == {}

    syncing.look()

    assert stored(ragdrop) == {"a.md": b"second, longer"}


def test_what_did_not_change_is_sent_once(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    syncing = syncing_of(ragdrop)

    for _ in range(5):
        syncing.look()

    assert sum(request.method == "PUT" for request in ragdrop.api.requests) == 1


def test_a_folder_that_vanishes_deletes_nothing(ragdrop: CommandLine) -> None:
    for number in range(40):
        ragdrop.write(f"in/{number}.md")
    syncing = syncing_of(ragdrop)
    syncing.look()
    syncing.look()
    shutil.move(ragdrop.folder / "in", ragdrop.folder / "away")
    syncing.look()
    (ragdrop.folder / "in").mkdir()
    for _ in range(3):
        syncing.look()

    assert len(stored(ragdrop)) == 40


def test_an_api_that_is_down_is_waited_for(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    down = [3]

    def answer(request: httpx.Request) -> httpx.Response:
        if down[0]:
            down[0] -= 1
            raise httpx.ConnectError("refused")
        del ragdrop.api.routes["PUT", "/documents/team/a.md"]
        return ragdrop.api(request)

    ragdrop.api.routes["PUT", "/documents/team/a.md"] = answer

    result = sync(ragdrop, "--looks", "8")

    assert result.exit_code == 0
    assert list(stored(ragdrop)) == ["a.md"]


def test_a_file_that_is_refused_is_tried_again_only_when_it_changes(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.api.routes["PUT", "/documents/team/a.md"] = lambda _request: refused(400, "INVALID_PARAMS", "bad name")
    syncing = syncing_of(ragdrop)

    for _ in range(4):
        syncing.look()

    assert sum(request.method == "PUT" for request in ragdrop.api.requests) == 1


def late(ragdrop: CommandLine, path: str, body: str | None) -> None:
    """Do what an ended process asked for last, which its successor could not see at its start."""
    with ragdrop.connect(API_URL, API_KEY) as client:
        if body is None:
            client.delete_document("team", path)
        else:
            client.put_document("team", path, body.encode())


def test_what_an_ended_process_sent_last_is_deleted_when_it_appears_late(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    syncing = syncing_of(ragdrop)
    syncing.look()
    late(ragdrop, "gone.md", "x")

    syncing.recheck(may_delete=True)
    syncing.look()
    syncing.look()

    assert list(stored(ragdrop)) == ["a.md"]


@pytest.mark.parametrize("body", ["other words", None])
def test_what_an_ended_process_overwrote_or_deleted_late_is_sent_again(ragdrop: CommandLine, body: str | None) -> None:
    ragdrop.write("in/a.md", "right words")
    sync(ragdrop, "--looks", "2")
    syncing = syncing_of(ragdrop)
    syncing.look()
    syncing.look()
    late(ragdrop, "a.md", body)

    syncing.recheck(may_delete=True)
    syncing.look()

    assert stored(ragdrop) == {"a.md": b"right words"}


def test_without_yes_nothing_that_appears_late_is_deleted(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    syncing = syncing_of(ragdrop)
    late(ragdrop, "theirs.md", "x")

    syncing.recheck(may_delete=False)
    for _ in range(3):
        syncing.look()

    assert list(stored(ragdrop)) == ["a.md", "theirs.md"]


def test_what_it_sent_itself_is_not_sent_again_while_the_vault_does_not_show_it_yet(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    syncing = syncing_of(ragdrop)
    syncing.look()
    syncing.look()
    ragdrop.api.routes["GET", "/documents"] = lambda _request: httpx.Response(200, json={"documents": []})

    syncing.recheck(may_delete=True)
    syncing.look()

    assert sum(request.method == "PUT" for request in ragdrop.api.requests) == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_500_changes_and_two_ends_it_is_equal_to_the_folder(ragdrop: CommandLine, seed: int) -> None:
    chance = random.Random(seed)
    folder = ragdrop.folder / "in"
    ragdrop.write("in/first.md")
    syncing = syncing_of(ragdrop)
    ends = set(chance.sample(range(50, 450), 2))

    for step in range(500):
        change(folder, chance, step)
        if step in ends:
            syncing.client = cut_off(ragdrop, after=chance.randrange(1, 4))
            with suppress(KeyboardInterrupt):
                syncing.look()
                syncing.look()
            syncing = syncing_of(ragdrop)
        elif chance.random() < 0.5:
            syncing.look()
    for _ in range(3):
        syncing.look()

    assert stored(ragdrop) == in_folder(folder)


def cut_off(ragdrop: CommandLine, *, after: int) -> RagdropClient:
    """A client of a process that ends after so many requests."""
    left = [after]

    def answer(request: httpx.Request) -> httpx.Response:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return ragdrop.api(request)

    return RagdropClient(API_URL, API_KEY, transport=httpx.MockTransport(answer), sleep=ragdrop.slept_s.append)
