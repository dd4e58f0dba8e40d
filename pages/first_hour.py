"""The first hour with the page, played in Chromium on an empty tenant, and its recording docs/app/first-hour.webp.

    python -m pages.first_hour

Drops 40 files of ten kinds, finds a code, asks, follows up, reloads, opens the page of a PDF, restores a deleted file,
asks as of yesterday, shares and exports.  Needs the stack of `make up`, on which it makes a tenant, and Chromium.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, expect

from localstack.home import REPOSITORY
from pages.browser import MISSING, browser_path, chromium, sign_in
from ragdrop_cli.session import find_stack, read_stack
from tests.document_files import docx, paragraph, pdf
from tests.office_files import mail, presentation, xlsx

RECORDING = REPOSITORY / "docs/app/first-hour.webp"
SIZE = (1_000, 640)
BAND = 40  # pixels below each picture, for what is done in it
SHOWN_MS = 2_600
PATIENCE_MS = 300_000
VAULT = "station"
# Machine: its code, where it stands, months between two seals.
MACHINES: Mapping[str, tuple[str, str, int]] = {
    "pump": ("QX-5521", "in the cellar, behind the second door", 18),
    "fan": ("LK-9017", "on the roof, beside the hatch", 24),
    "valve": ("VT-3340", "in the hall, under the stairs", 12),
    "boiler": ("BR-7702", "in the annex, next to the tank", 30),
}
CODE = MACHINES["pump"][0]
QUESTION = "After how many months must the shaft seal of the pump be replaced?"
FOLLOW_UP = "And where does it stand?"
DELETED = f"{VAULT}/handbook/pump/notes.md"
Note = Callable[[str], None]


def files_of(name: str) -> dict[str, bytes]:
    """Ten files about a machine, each of another kind."""
    code, place, months = MACHINES[name]
    table = [["Part", "Number", "Euros"], ["shaft seal", f"P-{months}", "41"], ["bearing", f"B-{months}", "77"]]
    rows = io.StringIO()
    csv.writer(rows).writerows([["day", "hours"], ["2026-05-01", str(months)], ["2026-05-02", str(months + 4)]])
    seal = f"The shaft seal of the {name} must be replaced after {months} months."
    title = name.title()
    slide = {"title": f"{title}: first steps", "text": f"Open the {name} slowly.", "notes": f"Show the tag {code}."}
    return {
        "notes.md": f"# {title}\n\n## Where it stands\n\nThe {name} stands {place}. Its code is {code}.\n".encode(),
        "log.txt": f"The {name} {code} ran without a stop in May.\n".encode(),
        "parts.html": f"<title>{title} parts</title><h1>{title} parts</h1><p>Order parts of {code} early.</p>".encode(),
        "hours.csv": rows.getvalue().encode(),
        "settings.json": json.dumps({"machine": name, "code": code, "limit_bar": months}).encode(),
        "manual.pdf": pdf([f"Manual of the {name} {code}", "Read all of it."], ["Care", seal, "Wear gloves."]),
        "procedure.docx": docx(paragraph(f"Lock the {name}, then open its housing. The lock has the tag {code}.")),
        "costs.xlsx": xlsx({"Costs": table}),
        "training.pptx": presentation([slide]),
        "offer.eml": mail(f"The offer for the {name} holds until June.", subject=f"Offer for the {name}"),
    }


def written(folder: Path) -> int:
    """Write the files below *folder*; how many there are."""
    count = 0
    for name in MACHINES:
        (folder / name).mkdir(parents=True)
        for file, body in files_of(name).items():
            (folder / name / file).write_bytes(body)
            count += 1
    return count


def ask(page: Page, question: str, turns: int) -> None:
    """Ask, and wait until the answer is whole; *turns* there are then."""
    page.locator("[data-question]").fill(question)
    page.locator("[data-question]").press("Enter")
    expect(page.locator("[data-turn]")).to_have_count(turns)
    page.locator("[data-turn]").last.and_(page.locator("[data-state=done]")).wait_for(timeout=PATIENCE_MS)


def play(page: Page, url: str, folder: Path, note: Note) -> str:
    """Play the first hour on the tenant that *page* is signed in to; the thread as it was exported.

    *note* is called where there is something to see, with what it is.
    """
    count = written(folder)
    page.goto(f"{url}/app")
    page.locator("[data-welcome] [data-drop-zone]").wait_for(timeout=PATIENCE_MS)
    note("An empty stack invites to drop a folder")
    page.locator("#upload-vault").fill(VAULT)
    page.locator("[data-pick=folder]").set_input_files(folder)
    page.locator("[data-upload][data-state=indexed]").first.wait_for(timeout=PATIENCE_MS)
    page.locator("[data-queue]").scroll_into_view_if_needed()
    note(f"{count} files of ten kinds: progress of each, and of all")
    expect(page.locator("[data-upload][data-state=indexed]")).to_have_count(count, timeout=PATIENCE_MS)
    page.locator("[data-suggestion]").first.wait_for()
    page.locator("[data-suggested]").scroll_into_view_if_needed()
    note("All are indexed; their headings suggest questions")
    _find(page, note)
    _converse(page, url, note)
    _open_pdf(page, note)
    _restore(page, url, note)
    return _then_and_share(page, url, note)


def _find(page: Page, note: Note) -> None:
    page.locator("[data-find]").fill(CODE)
    page.locator("[role=option]").first.wait_for()
    note(f"{CODE} is found while one types")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("[data-page=document]").wait_for()


def _converse(page: Page, url: str, note: Note) -> None:
    page.goto(f"{url}/app#/")
    ask(page, QUESTION, 1)
    page.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] [data-read-back=identical]").wait_for(timeout=PATIENCE_MS)
    page.locator("[data-evidence] mark[data-quote]").wait_for(timeout=PATIENCE_MS)
    note("Every sentence has its evidence, read back from S3")
    page.keyboard.press("Escape")
    ask(page, FOLLOW_UP, 2)
    page.locator("[data-turn]").last.scroll_into_view_if_needed()
    note("A follow-up is understood by what was asked before")
    expect(page.locator("[data-thread-bar] [data-name]")).to_be_visible()
    page.reload()
    expect(page.locator("[data-turn]")).to_have_count(2, timeout=PATIENCE_MS)
    note("A reload loses nothing: the address names the thread")


def _open_pdf(page: Page, note: Note) -> None:
    page.locator("[data-turn]").first.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] [data-page-mark]").first.wait_for(timeout=PATIENCE_MS)
    page.locator("[data-evidence] [data-drawn]").scroll_into_view_if_needed()
    note("The page of the PDF with the quoted words marked")
    page.keyboard.press("Escape")


def _restore(page: Page, url: str, note: Note) -> None:
    page.goto(f"{url}/app#/documents?vault={VAULT}&name=notes")
    page.locator(f"[data-document='{DELETED}'] [data-action=delete]").click()
    page.locator("[data-action=confirm]").click()
    page.locator("dialog [data-action=undo]").wait_for(timeout=PATIENCE_MS)
    note("A deleted file is in no answer from that moment on")
    page.locator("dialog [data-action=undo]").click()
    page.locator("dialog [data-restored=restore]").wait_for(timeout=PATIENCE_MS)
    note("… and is restored by one click")
    page.locator("[data-action=close]").click()
    page.locator(f"[data-document='{DELETED}'][data-state=indexed]").wait_for(timeout=PATIENCE_MS)


def _then_and_share(page: Page, url: str, note: Note) -> str:
    page.goto(f"{url}/app#/")
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    page.locator("[data-filters]").click()
    page.locator("#options input[type=date]").last.fill(yesterday)
    page.locator("[data-filters]").click()
    ask(page, QUESTION, 3)
    note("Asked as of yesterday, when there was nothing yet")
    page.locator("[data-thread-bar]").scroll_into_view_if_needed()
    page.locator("[data-thread-bar] [data-action=share]").click()
    page.locator(".toast").wait_for()
    note("The thread is shared by its link")
    with page.expect_download() as download:
        page.locator("[data-thread-bar] [data-action=export]").click()
    note("… and exported as Markdown with footnotes")
    return Path(download.value.path()).read_text("utf-8")


def recording(pictures: list[tuple[str, bytes]]) -> list[Image.Image]:
    """The frames: each picture with what is done in it below."""
    frames = []
    font = ImageFont.load_default(size=18)
    for caption, png in pictures:
        frame = Image.new("RGB", (SIZE[0], SIZE[1] + BAND), "#1d1c1a")
        frame.paste(Image.open(io.BytesIO(png)).convert("RGB"), (0, 0))
        ImageDraw.Draw(frame).text((16, SIZE[1] + 8), caption, fill="#fbfaf7", font=font)
        frames.append(frame)
    return frames


def main() -> int:
    """Play it on a new tenant of the stack and write the recording; 2 where there is no stack or no browser."""
    path, browser = find_stack(os.environ, Path.cwd()), browser_path()
    if path is None or browser is None:
        sys.stderr.write(f"start the stack with `make up`\n{MISSING}\n")
        return 2
    stack, tenant = read_stack(path), f"first-{uuid.uuid4().hex[:6]}"
    command = [sys.executable, "-m", "ragdrop_cli"]
    subprocess.run([*command, "tenant", "create", tenant], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    made = subprocess.run(  # noqa: S603
        [*command, "key", "create", tenant, "--role", "admin", "--json"], check=True, stdout=subprocess.PIPE
    )
    pictures: list[tuple[str, bytes]] = []
    with chromium(browser) as started, tempfile.TemporaryDirectory() as folder:
        width, height = SIZE
        page = started.new_page(viewport={"width": width, "height": height}, locale="en-GB", reduced_motion="reduce")
        page.set_default_timeout(PATIENCE_MS)
        sign_in(page, json.loads(made.stdout)["api_key"])
        play(page, stack.api_url, Path(folder) / "handbook", lambda what: pictures.append((what, page.screenshot())))
    first, *others = recording(pictures)
    first.save(RECORDING, save_all=True, append_images=others, duration=SHOWN_MS, loop=0, quality=55, method=6)
    sys.stdout.write(f"{RECORDING.relative_to(REPOSITORY)} written: {RECORDING.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
