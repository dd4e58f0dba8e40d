"""Originals over HTTP: pages with marks, links to files, and nothing of them for who may not read the document."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.domain.tenants import Role
from readers.isolated_reader import IsolatedReader
from readers.read_errors import UnsafeFileError
from tests.agent_world import eager_world, key_of
from tests.document_files import pdf
from tests.readers.test_page_drawing import letters, under
from tests.world import World

MANUAL = pdf(["The pump leaks.", "Call Ann."], ["The valve opens at 7 bar.", "It closes at 5 bar."])
DOCUMENT = "/documents/team/manual.pdf"


@pytest.fixture
def world() -> World:
    world = eager_world()
    world.put("team/manual.pdf", MANUAL)
    world.put("team/pump.md", "# Pump\n\nThe pump leaks.")
    return world


@pytest.fixture
def client(world: World) -> Iterator[TestClient]:
    with TestClient(query_api(world.app)) as client:
        client.headers["x-api-key"] = key_of(world, "reader")
        yield client
    if isinstance(drawer := world.app.documents.page_drawer, IsolatedReader):
        drawer.close()


def get(client: TestClient, path: str) -> dict[str, Any]:
    response = client.get(path)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def failed(client: TestClient, path: str) -> tuple[int, str]:
    response = client.get(path)
    return response.status_code, response.json()["error"]["code"]


def text_under(page: dict[str, Any], body: bytes = MANUAL) -> list[str]:
    """The letters under the marks of a page, as PDFium finds them by position."""
    from readers.parsed import DrawnPage

    boxes = tuple((mark["left"], mark["top"], mark["width"], mark["height"]) for mark in page["marks"])
    drawn = DrawnPage(b"", page["width"], page["height"], page["pages"], boxes)
    return letters(under(body, page["page"], drawn))


def test_the_words_of_a_citation_are_marked_on_the_page_that_it_names(client: TestClient) -> None:
    [found] = [
        each
        for each in client.post("/search", json={"query": "valve opens", "min_relevance": 0}).json()["results"]
        if each["path"] == "manual.pdf"
    ]
    [chunk] = [each for each in found["chunks"] if "valve" in each["text"]]
    quote_start = chunk["start"] + chunk["text"].index("valve opens at 7 bar")
    span = f"{quote_start}-{quote_start + len('valve opens at 7 bar')}"

    page = get(client, f"{DOCUMENT}/original/pages/{2}?version={found['version_id']}&span={span}")

    assert text_under(page) == letters("valve opens at 7 bar")
    assert (page["page"], page["pages"], page["located"]) == (2, 2, 1.0)
    assert base64.b64decode(page["picture"]).startswith(b"\x89PNG")


def test_a_span_that_continues_on_the_next_page_is_marked_on_both(client: TestClient) -> None:
    text = get(client, f"{DOCUMENT}?content=1")["text"]
    span = f"{text.index('Ann')}-{text.index('valve') + 5}"

    first, second = (get(client, f"{DOCUMENT}/original/pages/{number}?span={span}") for number in (1, 2))

    assert text_under(first) == letters("Ann")
    assert text_under(second) == letters("The valve")


def test_an_older_version_is_drawn_as_it_was(world: World, client: TestClient) -> None:
    old = world.head("team/manual.pdf").live_version_id
    world.put("team/manual.pdf", pdf(["Nothing of it is left."]))

    page = get(client, f"{DOCUMENT}/original/pages/2?version={old}")

    assert (page["version_id"], page["pages"]) == (old, 2)
    assert failed(client, f"{DOCUMENT}/original/pages/2") == (400, "INVALID_PARAMS")


@pytest.mark.parametrize("more", ["/original", "/original/pages/1"])
def test_what_is_hidden_deleted_or_never_was_is_not_found(world: World, client: TestClient, more: str) -> None:
    other = TestClient(query_api(world.app), headers={"x-api-key": key_of(world, "reader", "side")})
    world.put("team/gone.pdf", MANUAL)
    world.delete("team/gone.pdf")

    assert failed(other, f"{DOCUMENT}{more}") == (404, "DOCUMENT_NOT_FOUND")
    assert failed(client, f"/documents/team/gone.pdf{more}") == (404, "DOCUMENT_NOT_FOUND")
    assert failed(client, f"/documents/team/never.pdf{more}") == (404, "DOCUMENT_NOT_FOUND")
    assert failed(client, f"{DOCUMENT}{more}?version=none") == (404, "DOCUMENT_NOT_FOUND")


@pytest.mark.parametrize("asked", ["0", "3", "-1", "99999999999999999999", "x", "1?span=a", "1?size=2"])
def test_a_page_that_is_not_there_is_refused(client: TestClient, asked: str) -> None:
    assert failed(client, f"{DOCUMENT}/original/pages/{asked}") == (400, "INVALID_PARAMS")


def test_what_is_no_pdf_has_no_pages(client: TestClient) -> None:
    assert failed(client, "/documents/team/pump.md/original/pages/1") == (400, "INVALID_PARAMS")


def test_a_page_that_takes_too_long_is_an_error_of_the_document(world: World) -> None:
    class Slow:
        def draw(self, *_: Any) -> None:
            raise UnsafeFileError("reading the pdf took longer than 8 s and was stopped; split it", limit_s=8.0)

    world.app.documents.__dict__["page_drawer"] = Slow()
    client = TestClient(query_api(world.app), headers={"x-api-key": key_of(world, "reader")})

    assert failed(client, f"{DOCUMENT}/original/pages/1") == (422, "UNSAFE_DOCUMENT")


@pytest.mark.parametrize(
    ("name", "media_type", "is_shown"),
    [
        ("a.pdf", "application/pdf", True),
        ("A.PDF", "application/pdf", True),
        ("a.html", "application/octet-stream", False),
        ("a.svg.md", "application/octet-stream", False),
        ("a.txt", "application/octet-stream", False),
        ('"><script>.md', "application/octet-stream", False),
        ("Größe; x=y.md", "application/octet-stream", False),
    ],
)
def test_a_link_serves_as_shown_only_what_a_browser_does_not_run(
    world: World, client: TestClient, name: str, media_type: str, is_shown: bool
) -> None:
    body = MANUAL if media_type == "application/pdf" else "# Pump\n\nThe pump leaks."
    version = world.put(f"team/{name}", body)

    link = get(client, f"/documents/team/{quote(name)}/original")

    disposition = f"{'inline' if is_shown else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}"
    assert (link["media_type"], link["is_shown"], link["version_id"]) == (media_type, is_shown, version)
    assert quote(disposition, safe="").replace("%20", "+") in link["url"].replace("%2A", "*").replace("*", "%2A")
    assert version in link["url"]


def test_a_link_ends_within_a_minute_and_names_the_cited_version(world: World, client: TestClient) -> None:
    old = world.head("team/manual.pdf").live_version_id
    world.put("team/manual.pdf", pdf(["Nothing of it is left."]))

    link = get(client, f"{DOCUMENT}/original?version={old}")

    assert "expires=60" in link["url"]
    assert f"versionId={old}" in link["url"]


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_each_role_that_reads_opens_the_file(world: World, client: TestClient, role: Role) -> None:
    client.headers["x-api-key"] = key_of(world, role)

    assert get(client, f"{DOCUMENT}/original")["size_bytes"] == len(MANUAL)


COSTS = "item,month,EUR\nDog food,2026-08,12.50\nVet,2026-08,80\nDog food,2026-09,7\nTotal,,99.50\n"


def test_the_rows_of_a_table_are_read_by_the_names_of_their_cells(world: World, client: TestClient) -> None:
    world.put("team/costs.csv", COSTS)
    asked = get(client, "/documents/team/costs.csv/tables?query=sum of EUR of dog food")
    answer = asked["answer"]

    rows = get(client, f"/documents/team/costs.csv/tables?range={answer['range']}&rows=2-9")["rows"]

    used = [cell for row in rows for cell in row["cells"] if cell["name"] in answer["cells"]]
    assert [row["number"] for row in rows] == [2, 3, 4, 5]
    assert [row["is_total"] for row in rows] == [False, False, False, True]
    assert sum(float(cell["number"]) for cell in used) == float(answer["number"]) == 19.5
    assert [cell["text"] for cell in rows[0]["cells"]] == ["Dog food", "2026-08", "12.50"]


def test_rows_beyond_the_table_and_tables_that_are_not_there(world: World, client: TestClient) -> None:
    world.put("team/costs.csv", COSTS)

    assert get(client, "/documents/team/costs.csv/tables?range=A2:C5&rows=7-900")["rows"] == []
    assert failed(client, "/documents/team/costs.csv/tables?range=A2:C99") == (400, "INVALID_PARAMS")
