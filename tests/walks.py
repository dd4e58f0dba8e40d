"""One search, one ask and one ingest over the World, as `checks/walk.py` measures them."""

from __future__ import annotations

from collections.abc import Callable

from starlette.testclient import TestClient

from ragdrop.api.apis import ask_first_api, search_first_api
from tests.world import World


def requests() -> dict[str, Callable[[int], None]]:
    """By kind, what sends request number one or two."""
    world = World()
    for number in range(4):
        world.put(f"team/{number}.md", f"# Pump {number}\n\nPump {number} is red. See [the next one]({number + 1}.md).")
    key, _ = world.app.operate.operator.create_key(world.tenant, "reader")
    searching = TestClient(search_first_api(world.app), headers={"x-api-key": key})
    asking = TestClient(ask_first_api(world.app), headers={"x-api-key": key})

    def send(client: TestClient, path: str, query: str) -> None:
        response = client.post(path, json={"query": query})
        if response.status_code != 200:
            raise RuntimeError(f"{path} answered {response.status_code}: {response.text}")

    def search(number: int) -> None:
        send(searching, "/search", f"Which colour has pump {number}?")

    def ask(number: int) -> None:
        send(asking, "/ask", f"What is the colour of pump {number}?")

    def ingest(number: int) -> None:
        world.put(f"team/new-{number}.md", f"# Valve {number}\n\nIt is blue.")

    return {"search": search, "ask": ask, "ingest": ingest}
