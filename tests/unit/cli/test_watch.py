"""`ragdrop watch DIR`: the vault ends equal to the folder, whatever changes and whenever it is ended."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import suppress

import httpx
import pytest

from ragdrop.client import RagdropClient
from ragdrop_cli.push import FolderSync
from tests.changing_folder import change, in_folder
from tests.unit.cli.world import API_KEY, API_URL, CommandLine, refused


def sync(ragdrop: CommandLine, *options: str):  # noqa: ANN201 -- Typer's Result
    return ragdrop.run("watch", str(ragdrop.folder / "in"), "--vault", "team", "--yes", *options)


def syncing_of(ragdrop: CommandLine) -> FolderSync:
    made = FolderSync(ragdrop.connect(API_URL, API_KEY), ragdrop.folder / "in", "team", None, allow_mass_delete=False)
    made.begin()
    return made


def held(ragdrop: CommandLine) -> dict[str, bytes]:
    return {name.removeprefix("team/"): ragdrop.api.bodies[name] for name in sorted(ragdrop.api.documents)}


def test_it_sends_what_is_there_and_deletes_what_is_not(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    ragdrop.write("in/b.md")
    sync(ragdrop, "--looks", "2")
    (ragdrop.folder / "in/b.md").unlink()

    result = sync(ragdrop, "--looks", "2")

    assert result.exit_code == 0
    assert list(held(ragdrop)) == ["a.md"]
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
    assert held(ragdrop) == {}

    syncing.look()

    assert held(ragdrop) == {"a.md": b"second, longer"}


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

    assert len(held(ragdrop)) == 40


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
    assert list(held(ragdrop)) == ["a.md"]


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

    assert list(held(ragdrop)) == ["a.md"]


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

    assert held(ragdrop) == {"a.md": b"right words"}


def test_without_yes_nothing_that_appears_late_is_deleted(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    syncing = syncing_of(ragdrop)
    late(ragdrop, "theirs.md", "x")

    syncing.recheck(may_delete=False)
    for _ in range(3):
        syncing.look()

    assert list(held(ragdrop)) == ["a.md", "theirs.md"]


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

    assert held(ragdrop) == in_folder(folder)


def cut_off(ragdrop: CommandLine, *, after: int) -> RagdropClient:
    """A client of a process that ends after so many requests."""
    left = [after]

    def answer(request: httpx.Request) -> httpx.Response:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return ragdrop.api(request)

    return RagdropClient(API_URL, API_KEY, transport=httpx.MockTransport(answer), sleep=ragdrop.slept_s.append)
