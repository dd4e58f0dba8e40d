"""Read pictures, and pages of a PDF that have no text layer, by a TextRecognizer; what was recognised is marked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.parsed.places import Place
from ragdrop.errors import DeadlineError, EmptyDocumentError
from ragdrop.formats.text_decoding import clean
from ragdrop.ports import RecognizedText, TextRecognizer

MAX_PAGES = 100  # of a document
BUDGET_S = 20.0  # for all pages of a document; later ones are left out: ingest has 120 s for five documents
MIN_CONFIDENCE = 0.8  # below it a warning says so


class PageDrawer(Protocol):
    """Draws a page of a PDF."""

    def picture(self, body: bytes, page: int) -> bytes | None:
        """A PNG of a page, by its number from 0; None where it shows no picture."""
        ...


class PageRecognition:
    """Adds recognised text to what a reader found.

    Args:
        recognizer: Reads pictures.
        drawer: Draws pages; an IsolatedReader.
        clock: Seconds, as Deadline counts them.
    """

    def __init__(self, recognizer: TextRecognizer, drawer: PageDrawer, *, clock: Callable[[], float]) -> None:
        self._recognizer, self._drawer, self._clock = recognizer, drawer, clock

    def of_picture(self, body: bytes, media_type: str) -> ParsedDocument:
        """Read a picture.

        Raises:
            EmptyDocumentError: No text was recognised.
            DependencyError: The recogniser did not answer.
        """
        found = self._recognizer.recognize(body, self._deadline())
        text = clean(found.text).strip()
        if not text:
            raise EmptyDocumentError("no text was recognised in this picture")
        place = Place(0, f"picture, {mark(found)}")
        return ParsedDocument(text + "\n", "text", media_type, warnings=_warnings({0: found}), places=(place,))

    def of_pdf(self, body: bytes, read: Callable[[], ParsedDocument]) -> ParsedDocument:
        """Read a PDF by *read*, and its pages without text by the recogniser.

        Raises:
            EmptyDocumentError: There is no text, and none was recognised.
            DependencyError: The recogniser did not answer.
        """
        try:
            document = read()
        except EmptyDocumentError as exc:
            pages = int(exc.details.get("pages", 0))
            found, left_out = self._recognized(body, list(range(pages)))
            if not found:
                raise
            document = ParsedDocument("\n\n" * pages, "text", "application/pdf", pages=tuple(range(0, 2 * pages, 2)))
        else:
            starts = [*document.pages, len(document.text)]
            blank = [n for n in range(len(document.pages)) if not document.text[starts[n] : starts[n + 1]].strip()]
            found, left_out = self._recognized(body, blank)
        if not found:
            return document
        told = [warning for warning in document.warnings if "without a text layer" not in warning]
        warnings = (*told, *_warnings(found), *([left_out] if left_out else []))
        return replace(with_pages(document, found), warnings=warnings)

    def _recognized(self, body: bytes, pages: list[int]) -> tuple[dict[int, RecognizedText], str]:
        """The pages that hold recognised text, by number from 0, and a warning where some were not tried."""
        found: dict[int, RecognizedText] = {}
        deadline = self._deadline()
        for tried, page in enumerate(pages[:MAX_PAGES]):
            picture = self._drawer.picture(body, page)
            try:
                text = self._recognizer.recognize(picture, deadline) if picture is not None else None
            except DeadlineError:
                return found, _not_tried(len(pages) - tried)
            if text is not None and clean(text.text).strip():
                found[page] = text
        return found, _not_tried(len(pages) - MAX_PAGES)

    def _deadline(self) -> Deadline:
        return Deadline.after(BUDGET_S, clock=self._clock)


def _not_tried(count: int) -> str:
    return f"{count} pages without a text layer were not read by OCR: too many for one document" if count > 0 else ""


def mark(found: RecognizedText) -> str:
    """How citations say that a text was recognised.

    >>> mark(RecognizedText("It leaks.", 0.934))
    'read by OCR (93 %)'
    """
    return f"read by OCR ({round(found.confidence * 100)} %)"


def with_pages(document: ParsedDocument, found: dict[int, RecognizedText]) -> ParsedDocument:
    r"""*document* with the recognised text of its blank pages in their places.

    >>> blank = ParsedDocument("\n\nTwo\n\n", "text", "application/pdf", pages=(0, 2))
    >>> whole = with_pages(blank, {0: RecognizedText("One", 0.9)})
    >>> whole.text, whole.pages, [place.name for place in whole.places]
    ('One\n\nTwo\n\n', (0, 5), ['page 1, read by OCR (90 %)', 'page 2'])
    """
    starts = [*document.pages, len(document.text)]
    pieces, places, length = [], [], 0
    for page in range(len(document.pages)):
        text = document.text[starts[page] : starts[page + 1]]
        name = f"page {page + 1}"
        if page in found:
            text, name = clean(found[page].text).strip() + "\n\n", f"{name}, {mark(found[page])}"
        places.append(Place(length, name))
        pieces.append(text)
        length += len(text)
    grown = tuple(place.start for place in places)
    headings = tuple(
        replace(heading, start=heading.start + grown[page] - starts[page])
        for heading in document.headings
        for page in [max(bisect_right(document.pages, heading.start) - 1, 0)]
    )
    return replace(document, text="".join(pieces), pages=grown, places=tuple(places), headings=headings)


def _warnings(found: dict[int, RecognizedText]) -> tuple[str, ...]:
    pages = ", ".join(str(page + 1) for page in list(found)[:20])
    mean = sum(text.confidence for text in found.values()) / len(found)
    unsure = [
        f"{page + 1} ({round(text.confidence * 100)} %)"
        for page, text in found.items()
        if text.confidence < MIN_CONFIDENCE
    ]
    told = (f"{len(found)} pages are read by OCR, with a confidence of {round(mean * 100)} %: {pages}",)
    return (*told, f"OCR is unsure of pages {', '.join(unsure[:20])}: check quotes of them") if unsure else told
