"""`ragdrop push` again: only what changed is sent, and with --delete what the folder has not is deleted."""

from __future__ import annotations

from typing import NoReturn

import pytest

from tests.unit.cli.world import CommandLine


def push(ragdrop: CommandLine, *options: str):  # noqa: ANN201 -- Typer's Result
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
    etag = pushed.api.documents.pop("team/a.md.metadata.json")["etag"]  # a sidecar is in no list of its own
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


def test_a_push_that_was_interrupted_goes_on_where_it_was(ragdrop: CommandLine) -> None:
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
