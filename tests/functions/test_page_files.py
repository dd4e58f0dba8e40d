"""The web page: how its files are served, and what stands in them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.api.routes.page_routes import FOLDER, module_of, page_files, release_of_page
from tests.world import World

MAX_BYTES = 260_000  # 185,000 before threads and finding; it may not grow further
FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(query_api(World().app), follow_redirects=False) as client:
        yield client


def test_the_page_needs_no_key_and_its_policy_admits_no_other_host(client: TestClient) -> None:
    page = client.get("/app")

    policy = page.headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert rules["default-src"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert page.headers["x-content-type-options"] == "nosniff"


def test_the_policy_admits_the_inline_script_and_styles_of_the_page_alone_by_their_digests(client: TestClient) -> None:
    page = client.get("/app")
    rules = dict(rule.split(" ", 1) for rule in page.headers["content-security-policy"].split("; "))

    for name in ("script", "style"):
        inline = re.findall(rf"<{name}>(.*?)</{name}>", page.text, re.DOTALL)
        digests = [b64encode(sha256(text.encode()).digest()).decode() for text in inline]
        assert rules[f"{name}-src"] == f"'self' 'sha256-{digests[0]}'"
        assert len(digests) == 1


def test_a_page_that_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    etag = client.get("/app").headers["etag"]

    again = client.get("/app", headers={"if-none-match": etag})

    assert (again.status_code, again.content) == (304, b"")


def test_every_file_that_the_page_names_is_there_and_cached_for_good(client: TestClient) -> None:
    named = re.findall(r'(?:href|src)="(app/[^"]+)"', client.get("/app").text)

    assert named
    for name in named:
        file = client.get(f"/{name}")
        assert (file.status_code, name.split("/")[1]) == (200, release_of_page()), name
        assert "immutable" in file.headers["cache-control"]


def test_the_page_holds_its_styles_and_names_one_script_as_each_request_may_start_a_function(
    client: TestClient,
) -> None:
    named = re.findall(r'(?:href|src)="(app/[^"]+)"', client.get("/app").text)

    assert [name.rpartition("/")[2] for name in named] == ["main.js"]
    assert re.findall(r"^(?:import|export) .*|\bimport\(.*", page_files()["main.js"].decode(), re.MULTILINE) == []
    assert "@import" not in page_files()["index.html"].decode()


def test_no_module_needs_itself_before_it_is_made() -> None:
    needs = {
        file.name: set(re.findall(r'^import .* from "\./([\w.]+)";$', file.read_text("utf-8"), re.MULTILINE))
        for file in FOLDER.glob("*.js")
    }

    while ready := {name for name, needed in needs.items() if not needed & needs.keys()}:
        needs = {name: needed for name, needed in needs.items() if name not in ready}
    assert needs == {}


def test_a_function_of_a_module_takes_the_place_of_none_that_the_script_is_made_with() -> None:
    made = module_of("a.js", 'import { b } from "./b.js";\nfunction load() {}\nfunction later() {}\n')

    assert 'const { b } = $load("b.js");' in made
    assert not [file.name for file in FOLDER.glob("*.js") if re.search(r"\$(load|later)\b", file.read_text("utf-8"))]


def test_a_page_whose_script_was_lost_says_so_and_offers_another_try() -> None:
    assert re.search(r'<p class="late">[^<]+<a href="">', page_files()["index.html"].decode())


def test_a_page_of_an_older_release_gets_the_files_of_today_and_keeps_none(client: TestClient) -> None:
    file = client.get("/app/0000000000000000/main.js")

    assert (file.status_code, file.headers["cache-control"]) == (200, "no-store")


def test_files_are_compressed_for_whoever_takes_that(client: TestClient) -> None:
    file = client.get(f"/app/{release_of_page()}/main.js", headers={"accept-encoding": "gzip"})

    assert file.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("name", ["nothing.js", "index.html", "..%2Fconfig.py", "main.js%00"])
def test_what_is_no_file_of_the_page_is_not_found(client: TestClient, name: str) -> None:
    assert client.get(f"/app/{release_of_page()}/{name}").status_code == 404


def test_the_address_with_a_slash_leads_to_the_page(client: TestClient) -> None:
    there = client.get("/app/")

    assert (there.status_code, there.headers["location"]) == (307, "../app")


def test_all_files_together_are_small() -> None:
    assert sum(map(len, page_files().values())) <= MAX_BYTES


@pytest.mark.parametrize("name", sorted(page_files()))
def test_no_file_makes_markup_or_code_of_text(name: str) -> None:
    text = page_files()[name].decode()

    assert [word for word in FORBIDDEN if word in text] == []
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)[\w.]+", text) == []


def test_the_page_itself_has_no_style_or_listener_of_an_element() -> None:
    html = page_files()["index.html"].decode()

    assert re.findall(r"\sstyle=|\son\w+=", html) == []


def _texts() -> dict[str, tuple[str, str]]:
    """English and German by key."""
    text = (FOLDER / "strings.js").read_text("utf-8")
    found = re.findall(r'^ *"([^"]+)": \[\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*"),?\s*\]', text, re.MULTILINE)
    assert len(found) == len({key for key, _, _ in found}), "a key stands twice"
    assert len(found) == len(re.findall(r'^ *"[^"]+": \[', text, re.MULTILINE)), "an entry has not two texts"
    return {key: (json.loads(english), json.loads(german)) for key, english, german in found}


def test_every_text_is_there_in_english_and_german_with_the_same_values() -> None:
    for key, (english, german) in _texts().items():
        assert english, key
        assert german, key
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", german)), key


def test_every_text_that_a_view_asks_for_exists() -> None:
    asked = {
        key
        for name, body in page_files().items()
        if name.endswith(".js")
        for key in re.findall(r'\bt\("([^"]+)"', body.decode())
    }

    assert asked - set(_texts()) == set()
