"""The page over real stacks: the template on the emulator, its stage path, S3, SQS, a real index and real models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from pages.browser import sign_in
from tests.browser.chromium import browser, opened
from tests.browser.conftest import ask, evidence_of
from tests.integration.commands import Tenant
from tests.stacks import LocalStack

FACT = "The spare key of the greenhouse hangs behind the blue watering can."
QUESTION = "Where does the spare key of the greenhouse hang?"
FILES, BROKEN = 50, 2
PATIENCE_MS = 240_000
NAVIGATION_MS = 60_000  # the first one waits for a cold start


@pytest.fixture(params=["stack", pytest.param("opensearch_stack", marks=pytest.mark.long)])
def tenant(request: pytest.FixtureRequest) -> Tenant:
    stack: LocalStack = request.getfixturevalue(request.param)
    return Tenant.created(stack, "page")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture
def page(tenant: Tenant, chromium: Browser) -> Iterator[Page]:
    with ExitStack() as pages:
        page = pages.enter_context(opened(chromium, origin(tenant)))
        page.set_default_navigation_timeout(NAVIGATION_MS)
        sign_in(page, tenant.key)
        yield page


def origin(tenant: Tenant) -> str:
    """Scheme and host of the stack."""
    return "/".join(tenant.stack.api_url.split("/")[:3])


def address(tenant: Tenant, route: str = "") -> str:
    return f"{tenant.stack.api_url}/app{route}"


def test_the_highlighted_text_equals_the_quote_of_the_citation(tenant: Tenant, page: Page) -> None:
    tenant.put("garden/greenhouse.md", f"# Greenhouse\n\nIt has 12 panes. {FACT} It is warm – 21 °C.\n")
    page.goto(address(tenant))

    quote, highlighted = evidence_of(page, QUESTION)

    assert highlighted == quote
    expect(page.locator("[data-evidence] [data-read-back=identical]")).to_be_visible()


def test_a_dropped_folder_is_indexed_while_one_watches_and_broken_files_say_why(
    tenant: Tenant, page: Page, tmp_path: Path
) -> None:
    folder = tmp_path / "plants"
    folder.mkdir()
    for number in range(FILES - BROKEN):
        (folder / f"{number:02}.md").write_text(f"# Plant {number}\n\nPlant {number} is watered by hose H-{number}.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\nbroken")
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 40)
    page.goto(address(tenant, "#/documents"))
    page.locator("#upload-vault").fill("plants")

    page.locator("[data-pick=folder]").set_input_files(folder)

    counts = page.locator("[data-part=counts]")
    expect(counts).to_contain_text(re.compile(rf"\b{FILES - BROKEN}\b"), timeout=PATIENCE_MS)
    expect(page.locator("[data-queue] [data-status=indexed]")).to_have_count(FILES - BROKEN, timeout=PATIENCE_MS)
    expect(page.locator("[data-queue] [data-failure]")).to_have_count(BROKEN, timeout=PATIENCE_MS)
    assert len(tenant.listed("plants", "indexed")) == FILES - BROKEN

    gone = page.locator("[data-document='plants/plants/07.md']")
    page.goto(address(tenant, "#/documents?vault=plants&prefix=plants/07"))
    gone.locator("[data-action=delete]").click()
    page.locator("[data-remove=delete] [data-action=confirm]").click()
    page.locator("[data-receipt]").wait_for()

    page.goto(address(tenant))
    ask(page, "Which hose waters plant 7? Is it H-7?")
    expect(page.locator("[data-turn] [data-sources]")).not_to_contain_text("plants/07.md")


def test_a_file_of_more_than_4_mb_goes_by_a_form_straight_into_the_bucket(
    tenant: Tenant, page: Page, tmp_path: Path
) -> None:
    large = tmp_path / "large.md"
    large.write_text("# Large\n\n" + "The pump hums in the cellar at night. " * 120_000)
    page.goto(address(tenant, "#/documents"))
    page.locator("#upload-vault").fill("large")
    with page.expect_response(lambda response: response.url.endswith("/uploads")) as form:
        page.locator("[data-pick=files]").set_input_files(large)

    assert form.value.status == 201
    expect(page.locator("[data-upload='large/large.md']")).to_be_visible()
    expect(page.locator("[data-queue] [data-status=uploaded], [data-queue] [data-status=pending]")).to_have_count(
        1, timeout=PATIENCE_MS
    )


def test_files_of_the_page_come_compressed_and_whole_through_the_gateways_stage(tenant: Tenant) -> None:
    html = httpx.get(address(tenant), trust_env=False)
    named = re.findall(r'(?:href|src)="(app/[^"]+)"', html.text)

    assert html.headers["content-security-policy"].startswith("default-src 'none'")
    for name in named:
        url = f"{tenant.stack.api_url}/{name}"
        plain = httpx.get(url, headers={"accept-encoding": "identity"}, trust_env=False)
        packed = httpx.get(url, headers={"accept-encoding": "gzip"}, trust_env=False)
        assert packed.content == plain.content, name
        assert packed.headers.get("content-encoding") == ("gzip" if len(plain.content) > 2_000 else None), name
