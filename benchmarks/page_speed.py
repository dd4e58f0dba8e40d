"""How soon the web page paints, takes typing, and shows the first word of an answer, in Chromium over a running stack.

    python -m benchmarks.page_speed [--write]     # on the stack that `make demo` started

Warm means that the functions have answered before; the browser's own cache is empty or filled, as the row says.  The
first word counts from the moment that its bytes are in the page's hands to the frame in which it stands there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks import records
from benchmarks.records import Grid, publish
from localstack.seed import QUESTION
from pages.browser import MISSING, browser_path, chromium, sign_in
from ragdrop_cli.session import Stack, find_stack, read_stack

VISITS, ANSWERS = 15, 8
PAINT_MS, READY_MS, TOKEN_MS = 300.0, 500.0, 50.0
# Runs before the page's own scripts: notes when the question can be typed, and when tokens come and are seen.
WATCH = """
window.seen = {};
new MutationObserver(() => {
  const box = document.querySelector('[data-question]');
  if (box && !box.disabled && seen.ready === undefined) seen.ready = performance.now();
}).observe(document, {childList: true, subtree: true});
const native = window.fetch;
window.fetch = async (...given) => {
  const response = await native(...given);
  if (!String(given[0]).endsWith('/ask')) return response;
  const decoder = new TextDecoder();
  const watched = response.body.pipeThrough(new TransformStream({transform(bytes, onwards) {
    if (seen.came === undefined && decoder.decode(bytes, {stream: true}).includes('event: token')) {
      seen.came = performance.now();
      const look = () => {
        const answer = [...document.querySelectorAll('[data-answer]')].at(-1);
        if (answer && answer.textContent.trim()) seen.shown = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }
    onwards.enqueue(bytes);
  }}));
  return new Response(watched, {status: response.status, headers: response.headers});
};
"""


def main() -> int:
    """Measure and print, and keep the record if asked to; 2 without a stack or a browser."""
    options = records.parser(__doc__).parse_args()
    path, browser = find_stack(os.environ, Path.cwd()), browser_path()
    if path is None or browser is None:
        sys.stderr.write(f"start the stack with `make demo`\n{MISSING}\n")
        return 2
    stack = read_stack(path)
    with chromium(browser) as started:
        fresh = [_visit(started, stack) for _ in range(VISITS)]
        again = _again(started, stack)
        tokens = _answers(started, stack)
        version = started.version
    rows = [
        _row("first contentful paint, empty cache", PAINT_MS, [paint for paint, _ in fresh]),
        _row("first contentful paint, filled cache", PAINT_MS, [paint for paint, _ in again]),
        _row("ready for typing, empty cache", READY_MS, [ready for _, ready in fresh]),
        _row("ready for typing, filled cache", READY_MS, [ready for _, ready in again]),
        _row("first word of an answer, from its arrival", TOKEN_MS, tokens),
    ]
    note = f"{VISITS} visits each, {ANSWERS} answers, 2 cores that the stack and its models share with the browser."
    grid = Grid(("what", "goal, ms", "median, ms", "p90, ms", "met"), rows, note)
    publish("page_speed", [grid], "playwright", write=options.write, chromium=version)
    return 0


def _row(what: str, goal_ms: float, seen_ms: list[float]) -> tuple[str, ...]:
    middle = median(seen_ms)
    return (
        what,
        f"{goal_ms:.0f}",
        f"{middle:.0f}",
        f"{quantiles(seen_ms, n=10)[8]:.0f}",
        "yes" if middle < goal_ms else "no",
    )


def _visit(browser: Browser, stack: Stack) -> tuple[float, float]:
    with _context(browser) as context:
        return _timed(_watched(context, stack), stack)


def _again(browser: Browser, stack: Stack) -> list[tuple[float, float]]:
    with _context(browser) as context:
        page = _watched(context, stack)
        _timed(page, stack)
        return [_timed(page, stack) for _ in range(VISITS)]


def _answers(browser: Browser, stack: Stack) -> list[float]:
    found = []
    for number in range(ANSWERS):
        with _context(browser) as context:
            page = _watched(context, stack)
            page.goto(f"{stack.api_url}/app")
            page.locator("[data-question]").fill(f"{QUESTION[:-1]}, case {number}?")
            page.locator("[data-question]").press("Enter")
            page.locator("[data-turn][data-state=done]").wait_for(timeout=120_000)
            shown = page.evaluate("seen.shown === undefined ? null : seen.shown - seen.came")
        if shown is not None:  # the whole answer came within one frame otherwise
            found.append(float(shown))
    return found


@contextmanager
def _context(browser: Browser) -> Iterator[BrowserContext]:
    """A clean one; the page's policy would keep Playwright from waiting for an expression."""
    context = browser.new_context(bypass_csp=True)
    try:
        yield context
    finally:
        context.close()


def _watched(context: BrowserContext, stack: Stack) -> Page:
    page = context.new_page()
    sign_in(page, stack.api_key)
    page.add_init_script(WATCH)
    return page


def _timed(page: Page, stack: Stack) -> tuple[float, float]:
    """When the page has painted and when a question can be typed, in milliseconds since the visit began."""
    page.goto(f"{stack.api_url}/app")
    page.wait_for_function("seen.ready !== undefined")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return float(paint), float(page.evaluate("seen.ready"))


if __name__ == "__main__":
    sys.exit(main())
