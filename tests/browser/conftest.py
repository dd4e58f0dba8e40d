"""The page in real Chromium over the real API: a World behind uvicorn on the loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from pages.browser import sign_in
from ragdrop.api.apis import query_api
from ragdrop.client.events import server_sent_events
from ragdrop.domain.tenants import Role
from tests.agent_world import eager_world, key_of
from tests.browser.chromium import browser, opened
from tests.served import served
from tests.world import World

Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser of a module's tests."""
    with browser() as made:
        yield made


@pytest.fixture
def world() -> World:
    """A tenant with a pump, whose answers cite its first source."""
    world = eager_world(MIN_RELEVANCE="0")
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521. It stands in the cellar, behind the 2nd door.\n")
    world.put("team/valve.md", "# Valve\n\nThe valve opens at 7 bar. See the [pump](pump.md).\n")
    world.chat.reply = "The pump's code is QX-5521 [1]."
    return world


@pytest.fixture
def url(world: World) -> Iterator[str]:
    """Where the API of the world is."""
    with served(query_api(world.app)) as url:
        yield url


@pytest.fixture
def open_page(world: World, url: str, chromium: Browser) -> Iterator[Opener]:
    """Opens the page at a route, signed in with a new key of a role, or signed out; options are those of `opened`."""
    with ExitStack() as pages:

        def open_at(route: str = "", role: Role | None = "admin", *vaults: str, **options: Any) -> Page:
            page = pages.enter_context(opened(chromium, url, **options))
            if role is not None:
                sign_in(page, key_of(world, role, *vaults))
            page.goto(f"{url}/app{route}")
            return page

        yield open_at


def ask(page: Page, question: str) -> None:
    """Ask, and wait until the answer is whole."""
    page.locator("[data-question]").fill(question)
    page.locator("[data-question]").press("Enter")
    page.locator("[data-turn]:last-of-type[data-state=done]").wait_for()


def evidence_of(page: Page, question: str) -> tuple[str, str]:
    """Ask and open the first evidence: the quote of the first citation as the API gave it, and the highlighted text."""
    with page.expect_response("**/ask") as answered:
        ask(page, question)
    done = dict(server_sent_events([answered.value.body()]))["done"]
    page.locator("[data-answer] [data-mark]").first.click()
    mark = page.locator("[data-evidence] mark[data-quote]")
    mark.wait_for(timeout=60_000)  # on a live stack, cold functions read the document first
    return json.loads(done)["citations"][0]["quote"], mark.evaluate("element => element.textContent")
