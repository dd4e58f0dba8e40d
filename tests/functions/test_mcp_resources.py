"""Documents as resources and the prompt for cited answers, met by the official MCP client."""

from __future__ import annotations

import pytest
from mcp import MCPError
from mcp.client.client import Client

from ragdrop.api.mcp.server import PAGE_SIZE
from tests.agent_world import eager_world, key_of, text_of, with_agent
from tests.world import World


@pytest.fixture
def world() -> World:
    world = eager_world()
    world.put("team/notes/pump room.md", "# Pump\n\nThe pump's code is QX-5521.", doc_type="tool")
    world.put("hr/pay.txt", "Pay day is the 25th.")
    return world


async def listed(client: Client) -> list[str]:
    """Every resource, page by page."""
    uris: list[str] = []
    cursor: str | None = None
    while True:
        page = await client.list_resources(cursor=cursor)
        uris += [resource.uri for resource in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            return uris


def read(world: World, uri: str, key: str = "") -> str:
    async def use(client: Client) -> str:
        result = await client.read_resource(uri)
        return text_of(result)

    return with_agent(world, use, key)


def test_every_live_document_is_a_resource_that_can_be_read(world: World) -> None:
    world.put("team/broken.md", "   ")  # failed: nothing of it answers

    uris = with_agent(world, listed)

    assert uris == ["ragdrop://hr/pay.txt", "ragdrop://team/notes/pump%20room.md"]
    assert read(world, uris[1]) == "# Pump\n\nThe pump's code is QX-5521."


def test_many_resources_come_page_by_page(world: World) -> None:
    for number in range(PAGE_SIZE):
        world.put(f"many/{number:03}.md", f"Number {number}.")

    async def use(client: Client) -> tuple[int, int]:
        first = await client.list_resources()
        return len(first.resources), len(await listed(client))

    assert with_agent(world, use) == (PAGE_SIZE, PAGE_SIZE + 2)


def test_a_resource_says_what_it_is(world: World) -> None:
    async def use(client: Client) -> object:
        return (await client.list_resources()).resources[1].model_dump(exclude_none=True, exclude={"uri"})

    assert with_agent(world, use) == {
        "name": "team/notes/pump room.md",
        "title": "Pump",
        "description": "tool",
        "mime_type": "text/markdown",
    }


def test_the_template_says_how_documents_are_called(world: World) -> None:
    async def use(client: Client) -> list[str]:
        return [each.uri_template for each in (await client.list_resource_templates()).resource_templates]

    assert with_agent(world, use) == ["ragdrop://{vault}/{path}"]
    assert read(world, "ragdrop://team/notes%2Fpump%20room.md").startswith("# Pump")


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("ragdrop://team/nothing.md", "DOCUMENT_NOT_FOUND"),
        ("ragdrop://team/", "INVALID_PARAMS"),
        ("file:///etc/passwd", "INVALID_PARAMS"),
        ("ragdrop://team/../hr/pay.txt", "INVALID_PARAMS"),
        ("ragdrop://team/%2e%2e/hr/pay.txt", "INVALID_PARAMS"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_code(world: World, uri: str, code: str) -> None:
    with pytest.raises(MCPError) as raised:
        read(world, uri)

    assert raised.value.error.data["error"]["code"] == code


def test_a_key_of_one_vault_lists_and_reads_no_other(world: World) -> None:
    key = key_of(world, "reader", "hr")

    assert with_agent(world, listed, key) == ["ragdrop://hr/pay.txt"]
    with pytest.raises(MCPError):
        read(world, "ragdrop://team/notes/pump%20room.md", key)


def test_a_document_of_another_tenant_cannot_be_read(world: World) -> None:
    world.app.operate.operator.create_tenant("rival")
    key, _ = world.app.operate.operator.create_key("rival", "admin")

    assert with_agent(world, listed, key) == []
    with pytest.raises(MCPError):
        read(world, "ragdrop://hr/pay.txt", key)


def test_an_empty_cursor_asks_for_the_first_page(world: World) -> None:
    async def use(client: Client) -> int:
        return len((await client.list_resources(cursor="")).resources)

    assert with_agent(world, use) > 0


def test_a_bad_cursor_is_an_error_with_its_code(world: World) -> None:
    async def use(client: Client) -> None:
        await client.list_resources(cursor="nonsense")

    with pytest.raises(MCPError) as raised:
        with_agent(world, use)

    assert raised.value.error.data["error"]["code"] == "INVALID_PARAMS"


def test_the_prompt_carries_the_question_and_the_vaults(world: World) -> None:
    async def use(client: Client) -> tuple[str, str]:
        [listed] = (await client.list_prompts()).prompts
        arguments = {"question": "How long is a backup kept?", "vaults": "team, hr"}
        result = await client.get_prompt(listed.name, arguments)
        return listed.name, text_of(result)

    name, text = with_agent(world, use)

    assert name == "cited_answer"
    assert "How long is a backup kept?" in text
    assert "['team', 'hr']" in text


def test_the_prompt_without_a_question_is_refused(world: World) -> None:
    async def use(client: Client) -> None:
        await client.get_prompt("cited_answer", {"question": " "})

    with pytest.raises(MCPError, match="INVALID_PARAMS"):
        with_agent(world, use)
