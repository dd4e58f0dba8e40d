"""The first hour: an empty vault, questions to begin with, what is in here, the scope, and uploads where one looks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ragdrop.api.apis import query_api
from tests.agent_world import eager_world
from tests.browser.conftest import Opener
from tests.served import served
from tests.world import World

PUMP = "# Pump\n\nAll about it.\n\n## Spare parts\n\nThe seal is P-17.\n\n## Where is the key?\n\nIn the office.\n"


@pytest.fixture
def empty_world() -> World:
    """A tenant without documents."""
    return eager_world(MIN_RELEVANCE="0")


def drop(page: Page, name: str, text: str) -> None:
    """Drop a file on the view."""
    files = page.evaluate_handle(
        """([name, text]) => { const all = new DataTransfer(); all.items.add(new File([text], name)); return all; }""",
        [name, text],
    )
    for event in ("dragenter", "dragover"):
        page.dispatch_event("#main", event, {"dataTransfer": files})
    page.locator("[data-drop-zone]").wait_for()
    page.dispatch_event("#main", "drop", {"dataTransfer": files})


class TestEmpty:
    """A tenant without documents."""

    @pytest.fixture
    def world(self, empty_world: World) -> World:
        """It has nothing yet."""
        return empty_world

    @pytest.fixture
    def url(self, world: World) -> Iterator[str]:
        """Where its API is."""
        with served(query_api(world.app)) as url:
            yield url

    def test_an_empty_vault_invites_to_drop_files_and_offers_questions_of_them(self, open_page: Opener) -> None:
        page = open_page()
        expect(page.locator("[data-welcome] [data-empty]")).to_be_visible()

        drop(page, "pump.md", PUMP)

        expect(page.locator("[data-upload='documents/pump.md'][data-state=indexed]")).to_be_visible()
        expect(page.locator("[data-suggestion]")).to_have_count(2)
        expect(page.locator("[data-suggestion]").first).to_have_text("Where is the key?")

    def test_a_reader_learns_who_can_add_documents(self, open_page: Opener) -> None:
        page = open_page("", "reader")

        expect(page.locator("[data-welcome] [data-empty]")).to_contain_text("A writer of your project can add some.")
        expect(page.locator("[data-drop-zone]")).to_have_count(0)


def test_a_suggested_question_is_asked_by_a_click(world: World, open_page: Opener) -> None:
    world.put("team/parts.md", PUMP)
    page = open_page()

    with page.expect_request("**/ask") as sent:
        page.locator("[data-suggestion]").first.click()

    assert json.loads(sent.value.post_data or "")["query"] == "Where is the key?"
    expect(page.locator("[data-suggestion]")).to_have_count(0)


def test_a_hostile_heading_is_text_in_a_question(world: World, open_page: Opener) -> None:
    world.put("team/evil.md", '# <img src=x onerror=alert(1)>\n\nHm.\n\n## "><script>alert(2)</script>\n\nHm.\n')
    page = open_page()

    expect(page.locator("[data-suggestion]").filter(has_text="onerror")).to_be_visible()
    expect(page.locator("[data-welcome] img, [data-welcome] script")).to_have_count(0)


def test_what_is_in_here_counts_documents_and_names_failed_ones_and_broken_links(
    world: World, open_page: Opener
) -> None:
    world.put("team/lost.md", "# Lost\n\nSee [nothing](nowhere.md).\n")
    world.put("team/empty.md", " ")
    page = open_page()
    here = page.locator("[data-here]")
    expect(here.locator("summary")).to_contain_text("3 documents in 1 vaults")
    expect(here.locator("[data-failed]")).to_have_text("1 failed")

    here.locator("summary").click()

    expect(here.locator("[data-broken]")).to_contain_text("team/lost.md")
    expect(here.locator("[data-newest] a").first).to_have_text("lost.md")


def test_the_scope_is_a_visible_chip_that_limits_a_question(world: World, open_page: Opener) -> None:
    world.put("wiki/a.md", "# A\n\nThe pump is elsewhere.")
    page = open_page()
    expect(page.locator("[data-scope]")).to_have_text("In: everything")

    page.locator("[data-scope]").click()
    page.locator("#scope [data-pick=vaults] input[value=wiki]").check()
    expect(page.locator("[data-scope]")).to_have_text("In: wiki")
    with page.expect_request("**/ask") as sent:
        page.locator("[data-question]").fill("Where is the pump?")
        page.locator("[data-question]").press("Enter")
    assert json.loads(sent.value.post_data or "")["vaults"] == ["wiki"]

    page.locator("[data-scope-all]").click()
    expect(page.locator("[data-scope]")).to_have_text("In: everything")


def test_files_dropped_on_a_document_go_beside_it(world: World, open_page: Opener) -> None:
    world.put("team/notes/a.md", "# A\n\nOne.")
    page = open_page("#/documents/team/notes/a.md")
    page.locator("[data-text] .chunk, [data-text] .rendered").first.wait_for()

    drop(page, "b.md", "# B\n\nTwo.")

    expect(page.locator("[data-upload='team/notes/b.md'][data-state=indexed]")).to_be_visible()


def test_files_dropped_on_questions_of_one_vault_go_there(world: World, open_page: Opener) -> None:
    world.put("wiki/a.md", "# A\n\nOne.")
    page = open_page("#/?vault=wiki")
    page.locator("[data-here]").wait_for()

    drop(page, "b.md", "# B\n\nTwo.")

    expect(page.locator("[data-upload='wiki/b.md'][data-state=indexed]")).to_be_visible()


def test_an_upload_under_way_is_shown_in_other_views(open_page: Opener, tmp_path: Path) -> None:
    page = open_page("#/documents")
    page.locator("[data-drop-zone]").wait_for()
    page.route("**/documents/team/slow.md", lambda route: None if route.request.method == "PUT" else route.continue_())

    (tmp_path / "slow.md").write_text("# Slow", "utf-8")
    page.locator("[data-pick=files]").set_input_files(tmp_path / "slow.md")
    page.locator("[data-nav=health]").click()

    expect(page.locator("[data-uploading]")).to_contain_text("Uploading: 0 of 1")
