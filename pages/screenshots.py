"""The pictures of docs/app.md and of the README: every view of the page, on the stack that `make demo` started.

    make screenshots                        # only if the page changed since; what CI runs
    python -m pages.screenshots             # on a stack that runs
    python -m pages.screenshots --current   # 0 if they are of the page as it is

The question is the demo's, the answer is the model's.  Needs Chromium, named by CHROMIUM or on the PATH.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from localstack.home import REPOSITORY
from localstack.seed import QUESTION, VAULT
from pages.browser import MISSING, browser_path, chromium, sign_in
from ragdrop_cli.session import find_stack, read_stack

FOLDER = REPOSITORY / "docs/app"
STAMP = FOLDER / "page.sha256"  # of the page's files when the pictures were taken
DESKTOP, PHONE = (1_280, 860), (390, 844)
DOCUMENT = f"#/documents/{VAULT}/runbooks/database-failover.md"


def ask(page: Page) -> None:
    """Ask the demo's question and open the evidence of its first citation."""
    page.locator("[data-question]").fill(QUESTION)
    page.locator("[data-question]").press("Enter")
    page.locator("[data-turn][data-state=done]").wait_for(timeout=120_000)
    page.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] [data-read-back]").wait_for()
    page.locator("[data-evidence] mark[data-quote]").wait_for()
    expect(page.locator("[data-evidence] .loading")).to_have_count(0, timeout=120_000)


def why(page: Page) -> None:
    """Open the reasons of the answer."""
    ask(page)
    page.keyboard.press("Escape")
    page.locator("[data-why] summary").click()
    page.locator("[data-scatter]").wait_for()
    page.locator("[data-why]").scroll_into_view_if_needed()
    page.locator("[data-why]").evaluate("element => element.scrollIntoView()")


def receipt(page: Page) -> None:
    """Ask, then open the receipt of the answer and ask again."""
    ask(page)
    page.locator("[data-receipt]").first.click()
    page.locator("[data-replay]").click()
    page.locator("[data-difference]").wait_for(timeout=120_000)


def settled(page: Page) -> None:
    """Wait until nothing is loaded any more."""
    page.wait_for_load_state("networkidle")


def signed_out(page: Page) -> None:
    """Sign out, so that the sign-in shows."""
    page.locator("[data-sign-out]").click()
    page.locator("[data-sign-in-dialog]").wait_for()


# File, route, size, theme, what is done before the picture.
SHOTS: tuple[tuple[str, str, tuple[int, int], str, Callable[[Page], None]], ...] = (
    ("ask", "", DESKTOP, "light", ask),
    ("ask-dark", "", DESKTOP, "dark", ask),
    ("ask-phone", "", PHONE, "light", ask),
    ("why", "", DESKTOP, "light", why),
    ("receipt", "", DESKTOP, "light", receipt),
    ("documents", "#/documents", DESKTOP, "light", settled),
    ("document", DOCUMENT, DESKTOP, "light", settled),
    ("health", "#/health", DESKTOP, "light", settled),
    ("connect", "#/connect", DESKTOP, "light", settled),
    ("sign-in", "", DESKTOP, "light", signed_out),
)


def page_digest() -> str:
    """The SHA-256 of all files of the page, by name and content."""
    digest = hashlib.sha256()
    for path in sorted((REPOSITORY / "layers/common/python/ragdrop/page").iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def is_current() -> bool:
    """Whether the pictures were taken of the page as it is."""
    return STAMP.exists() and STAMP.read_text("utf-8").strip() == page_digest()


def main() -> int:
    """Take every picture; 2 where there is no stack or no browser.  With `--current`: 1 where they are old."""
    if sys.argv[1:] == ["--current"]:
        return 0 if is_current() else 1
    path, browser = find_stack(os.environ, Path.cwd()), browser_path()
    if path is None or browser is None:
        sys.stderr.write(f"start the stack with `make demo`\n{MISSING}\n")
        return 2
    stack = read_stack(path)
    httpx.get(f"{stack.api_url}/app", trust_env=False).raise_for_status()
    FOLDER.mkdir(exist_ok=True)
    with chromium(browser) as started:
        for name, route, (width, height), theme, prepare in SHOTS:
            context = started.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if theme == "dark" else "light",
                locale="en-GB",
                reduced_motion="reduce",
            )
            page = context.new_page()
            sign_in(page, stack.api_key)
            page.goto(f"{stack.api_url}/app{route}")
            prepare(page)
            page.screenshot(path=FOLDER / f"{name}.png")
            context.close()
            sys.stdout.write(f"docs/app/{name}.png\n")
    STAMP.write_text(page_digest() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
