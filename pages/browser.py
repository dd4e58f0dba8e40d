"""Real Chromium for the web page: where it is, how it starts, and how a page in it signs in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "Chromium is missing: apt-get install chromium, or name one by CHROMIUM"
# No sandbox: containers run as root. The others keep Chromium from looking for its vendor's hosts.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def browser_path() -> str | None:
    """Where Chromium is: as CHROMIUM says, else on the PATH; None where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """The headless browser at *path* while the block runs.

    Until it ends, Playwright keeps an event loop running in this thread, in which no other may begin.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def sign_in(page: Page, key: str) -> None:
    """Sign in before the page loads, as a redeemed link does."""
    page.add_init_script(f"sessionStorage.setItem('ragdrop.key', '{key}')")
