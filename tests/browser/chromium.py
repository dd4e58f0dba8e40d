"""Real Chromium: one process for a module of tests, a clean context for each, and what a page must never do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Dialog, Page

from pages.browser import MISSING, browser_path, chromium

PATIENCE_MS = 15_000


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium for the tests of one module: it keeps others of the same process from beginning an event loop.

    A test that finds none says what to install, and fails where tools are required.
    """
    path = browser_path()
    if path is None and os.environ.get("RAGDROP_REQUIRE_TOOLS"):
        pytest.fail(MISSING)
    if path is None:
        pytest.skip(MISSING)
    with chromium(path) as started:
        yield started


@dataclass
class Seen:
    """What went wrong in a page: errors of scripts, violations of its policy, dialogs, requests to other hosts."""

    problems: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()

    def watch(self, page: Page) -> None:
        """Note everything that *page* must not do."""
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("console", lambda said: self._console(said.text))
        page.on("request", lambda request: self._request(request.url))

    def _dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, text: str) -> None:
        if "Content Security Policy" in text or "TrustedHTML" in text or "pwned" in text:
            self.problems.append(f"console: {text}")

    def _request(self, url: str) -> None:
        if not url.startswith((*self.allowed, "data:", "blob:")):
            self.problems.append(f"request: {url}")


@contextmanager
def opened(
    started: Browser, *origins: str, locale: str = "en-GB", theme: str = "light", width: int = 1280, height: int = 900
) -> Iterator[Page]:
    """A page of a clean context that may ask *origins* alone; what it must not do fails the test at the end."""
    seen = Seen(allowed=origins)
    context = started.new_context(
        locale=locale,
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
    )
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        seen.watch(page)
        yield page
        assert seen.problems == []
    finally:
        context.close()
