"""`ragdrop ls`, `show` and `rm`."""

from __future__ import annotations

import json
import re

import pytest

from tests.unit.cli.world import CommandLine


@pytest.fixture
def stored(ragdrop: CommandLine) -> CommandLine:
    for name in ("a.md", "b/50% off?.md", "c.md"):
        ragdrop.write(f"in/{name}")
    ragdrop.run("push", str(ragdrop.folder / "in"), "--vault", "team", "--wait")
    ragdrop.api.requests.clear()
    return ragdrop


def test_ls_in_a_pipe_is_one_tab_separated_line_a_document_over_all_pages(stored: CommandLine) -> None:
    stored.api.page_size = 2

    lines = stored.run("ls").stdout.splitlines()

    assert [line.split("\t")[:2] for line in lines] == [
        ["indexed", "team/a.md"],
        ["indexed", "team/b/50% off?.md"],
        ["indexed", "team/c.md"],
    ]


GREEN, BOLD_RED = "\x1b[32m", "\x1b[1;31m"


def test_on_a_terminal_ls_shows_the_status_coloured(stored: CommandLine) -> None:
    stored.api.documents["team/c.md"]["status"] = "failed"
    stored.api.failing["team/c.md"] = {"code": "EMPTY_DOCUMENT", "message": "there is no text in it"}

    lines = stored.run("ls", terminal=True).stdout.splitlines()

    assert lines[1].startswith(f"{GREEN}indexed")
    assert lines[3].startswith(f"{BOLD_RED}failed")


def test_on_a_terminal_show_shows_the_status_coloured(stored: CommandLine) -> None:
    lines = stored.run("show", "team/a.md", terminal=True).stdout.splitlines()

    assert next(line for line in lines if "indexed" in line).startswith(f"{GREEN}status")
    assert sum("\x1b" in line for line in lines) == 1


def test_ls_json_prints_one_body_a_page(stored: CommandLine) -> None:
    stored.api.page_size = 2

    pages = [json.loads(line) for line in stored.run("ls", "--json").stdout.splitlines()]

    assert [len(page["documents"]) for page in pages] == [2, 1]


def test_ls_sends_its_filters(stored: CommandLine) -> None:
    stored.run("ls", "--vault", "team", "--prefix", "b/", "--failed")

    assert dict(stored.api.requests[0].url.params) == {"vault": "team", "prefix": "b/", "status": "failed"}


def test_failed_and_another_status_contradict_each_other(stored: CommandLine) -> None:
    assert stored.run("ls", "--failed", "--status", "indexed").exit_code == 2


def test_show_prints_the_record(stored: CommandLine) -> None:
    result = stored.run("show", "team/b/50% off?.md")

    assert re.search(r"^status +indexed$", result.stdout, re.MULTILINE)
    assert stored.api.requests[0].url.raw_path.endswith(b"/documents/team/b/50%25%20off%3F.md")


def test_rm_prints_the_receipt(stored: CommandLine) -> None:
    result = stored.run("rm", "team/a.md")

    assert result.exit_code == 0
    assert "deleted demo/team/a.md" in result.stdout
    assert "2030-01-01T00:00:00Z" in result.stdout


def test_rm_of_what_is_not_there_ends_with_1(stored: CommandLine) -> None:
    result = stored.run("rm", "team/none.md")

    assert result.exit_code == 1
    assert "DOCUMENT_NOT_FOUND" in result.stderr


@pytest.mark.parametrize("name", ["team", "team/", "/a.md"])
def test_a_name_without_vault_or_path_is_a_usage_error(ragdrop: CommandLine, name: str) -> None:
    assert ragdrop.run("rm", name).exit_code == 2
    assert ragdrop.api.requests == []


def test_a_path_that_a_url_would_shorten_is_refused(ragdrop: CommandLine) -> None:
    result = ragdrop.run("rm", "team/../other/a.md")

    assert result.exit_code == 1
    assert "INVALID_PARAMS" in result.stderr
    assert ragdrop.api.requests == []


def test_access_names_who_may_read_a_document_and_by_which_rule(stored: CommandLine) -> None:
    needs = [{"groups": ["hr"], "by": "rule hr/**"}, {"groups": [], "by": "file"}]
    stored.api.documents["team/a.md"]["access"] = needs

    result = stored.run("access", "team/a.md")

    assert result.stdout.splitlines() == ["hr  (rule hr/**)", "admins alone  (file)"]
    assert "a group of each line" in result.stderr
    assert stored.run("access", "team/c.md").exit_code == 1


def test_access_asks_what_a_reader_of_groups_would_see(stored: CommandLine) -> None:
    assert stored.run("access", "--as", "group:hr", "--as", "group:eng").exit_code == 0
    assert dict(stored.api.requests[0].url.params) == {"as_groups": "hr,eng"}
    assert stored.run("access").exit_code == stored.run("access", "--as", "hr").exit_code == 2
