"""The card *Connect a model*: what this machine has, and a key that is tried and forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from ragdrop.api.apis import query_api
from tests.browser.conftest import Opener
from tests.functions.test_near_models import SECRET, FakeModels, LaptopBucket
from tests.served import served
from tests.world import World


@pytest.fixture
def models() -> FakeModels:
    """A machine with one server."""
    return FakeModels()


@pytest.fixture
def world() -> World:
    """A stack on a laptop that answers by quotations."""
    return World(documents=LaptopBucket("documents"), settings={"CHAT_MODELS": "ragdrop-extractive"})


@pytest.fixture
def url(world: World, models: FakeModels) -> Iterator[str]:
    """Where its API is."""
    world.app.operate.tried_models = models
    with served(query_api(world.app)) as url:
        yield url


def fill(page: Page, url: str, model: str, key: str = "") -> None:
    """Fill in the form and send it."""
    page.locator("[data-url]").fill(url)
    page.locator("[data-model]").fill(model)
    page.locator("[data-key]").fill(key)
    page.locator("[data-action=test]").click()


def test_a_stack_that_quotes_offers_to_connect_a_model_that_it_found(open_page: Opener) -> None:
    page = open_page()
    page.locator("[data-connect] a").click()

    page.locator("[data-server=Ollama] [data-choose]").click()

    command = "CHAT_URL=http://127.0.0.1:11434/v1 CHAT_MODELS=mistral make up"
    expect(page.locator("[data-command]").first).to_have_text(command)
    expect(page.locator("[data-command=AWS]")).to_have_text(re.compile("ChatUrl=bedrock"))


def test_a_key_is_tried_and_forgotten(open_page: Opener, models: FakeModels) -> None:
    page = open_page("#/connect")
    fill(page, "https://api.example/v1", "small", SECRET)

    expect(page.locator("[data-works=true]")).to_contain_text("small answers")
    assert models.tried == [("https://api.example/v1", "small", SECRET)]
    expect(page.locator("[data-key]")).to_have_value("")
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])")
    assert SECRET not in stored + page.content()
    expect(page.locator("[data-command]").first).to_contain_text("CHAT_API_KEY=…")


def test_what_an_endpoint_says_against_it_is_shown_as_text(open_page: Opener, models: FakeModels) -> None:
    models.problem = "<img src=x onerror=alert(1)> no such model"
    page = open_page("#/connect")
    fill(page, "https://api.example/v1", "$(reboot)'; x")

    expect(page.locator("[data-works=false]")).to_contain_text("<img src=x")
    expect(page.locator("[data-command]").first).to_contain_text("CHAT_MODELS='$(reboot)'\\''; x'")


def test_a_reader_learns_that_it_takes_an_admin(open_page: Opener) -> None:
    page = open_page("#/connect", "reader")

    expect(page.locator("[data-read-only]")).to_be_visible()
    expect(page.locator("[data-action=test]")).to_have_count(0)
    expect(page.locator("[data-command]").first).to_be_visible()


class TestOnAws:
    """A stack whose bucket is elsewhere."""

    @pytest.fixture
    def world(self) -> World:
        """It is not on this machine."""
        return World()

    def test_nothing_is_looked_for_or_tried_on_aws(self, open_page: Opener, models: FakeModels) -> None:
        page = open_page("#/connect")

        expect(page.locator("[data-elsewhere]")).to_be_visible()
        expect(page.locator("[data-action=test]")).to_be_disabled()
        assert models.tried == []
