"""Read pictures, and pages of a PDF that have no text layer, by a PictureRecognizer, and mark the recognised text."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from readers.markdown_writer import first_twenty
from readers.parsed import ParsedDocument, Place
from readers.read_errors import EmptyFileError, UnfinishedScanError
from readers.text_decoding import clean

MAX_PAGES = 500  # of a document
BUDGET_S = 45.0  # of one invocation for one document: ingest has 120 s for five
RESERVE_S = 40.0  # of an invocation with less left no page is begun: half for that page, half to write what is read
SAVE_EVERY_S = 5.0  # what a crash may lose
NO_LIMIT_S = 1e9
MIN_CONFIDENCE = 0.8  # below it a warning says so

Draw = Callable[[int], bytes | None]
"""Gives the picture of a page by its number from 0; None if it shows none."""


@dataclass(frozen=True, slots=True)
class RecognizedText:
    """The text of a picture of a page: lines in reading order, and the recogniser's confidence in [0, 1]."""

    text: str
    confidence: float


@dataclass
class RecognizedPages:
    """The recognised pages of a document, so that none is recognised twice; this class has them in memory only.

    `pages` has those of the version that is read, by number from 0: None for a page that shows no picture.
    """

    pages: dict[int, RecognizedText | None] = field(default_factory=dict)

    def known(self, picture: bytes) -> RecognizedText | None:  # noqa: ARG002 - for subclasses
        """The text of this picture, if an older version of the document had it."""
        return None

    def keep(self, page: int, picture: bytes | None, text: RecognizedText | None) -> None:  # noqa: ARG002
        """Add the text of a page."""
        self.pages[page] = text

    def save(self) -> None:
        """Store what was added; raises whatever the store raises."""


@dataclass(frozen=True, slots=True)
class Scan:
    """How the pictures of a document are read: its recognised pages, and the time that is left, in seconds."""

    pages: RecognizedPages = field(default_factory=RecognizedPages)
    remaining_s: Callable[[], float] = lambda: NO_LIMIT_S


class PictureRecognizer(Protocol):
    """Reads the text of pictures.  Thread-safe."""

    @property
    def at_once(self) -> int:
        """How many pictures it reads at the same time; 1 or more."""
        ...

    def recognize(self, picture: bytes, timeout_s: float) -> RecognizedText:
        """Read a PNG, JPEG or TIFF; a picture without text gives an empty one.

        Raises TimeoutError: *timeout_s* was too short.
        """
        ...


class PageRecognition:
    """Adds recognised text to what a reader found.

    Args:
        recognizer: Reads pictures.
        drawer: Draws a page of a PDF by its number from 0, as `IsolatedReader.picture` does.
    """

    def __init__(self, recognizer: PictureRecognizer, drawer: Callable[[bytes, int], bytes | None]) -> None:
        self._recognizer, self._drawer = recognizer, drawer

    def of_picture(self, body: bytes, media_type: str, scan: Scan | None) -> ParsedDocument:
        """Read a picture.

        Raises:
            EmptyFileError: No text was recognised.
            UnfinishedScanError: The time was too short for it.
            Exception: Whatever the recogniser raised.
        """
        found = self._recognized([0], lambda _: body, scan).get(0)
        if found is None:
            raise EmptyFileError("no text was recognised in this picture")
        place = Place(0, f"picture, {mark(found)}")
        text = clean(found.text).strip() + "\n"
        return ParsedDocument(text, "text", media_type, warnings=_warnings({0: found}), places=(place,))

    def of_pdf(self, body: bytes, read: Callable[[], ParsedDocument], scan: Scan | None) -> ParsedDocument:
        """Read a PDF by *read*, and its pages without text by the recogniser.

        Raises:
            EmptyFileError: There is no text, and none was recognised.
            UnfinishedScanError: The time was too short for all its pages; the pages read so far are stored.
            Exception: Whatever the recogniser raised; what was recognised before is stored.
        """

        def draw(page: int) -> bytes | None:
            return self._drawer(body, page)

        try:
            document = read()
        except EmptyFileError as exc:
            pages = int(exc.details.get("pages", 0))
            blank = list(range(pages))
            found = self._recognized(blank, draw, scan)
            if not found:
                raise
            document = ParsedDocument("\n\n" * pages, "text", "application/pdf", pages=tuple(range(0, 2 * pages, 2)))
        else:
            starts = [*document.pages, len(document.text)]
            blank = [n for n in range(len(document.pages)) if not document.text[starts[n] : starts[n + 1]].strip()]
            found = self._recognized(blank, draw, scan)
        if not found:
            return document
        more = len(blank) - MAX_PAGES
        left_out = [f"{more} pages without a text layer were not read by OCR: too many for one document"]
        others = [warning for warning in document.warnings if "without a text layer" not in warning]
        warnings = (*others, *_warnings(found), *(left_out if more > 0 else ()))
        return replace(with_pages(document, found), warnings=warnings)

    def _recognized(self, pages: list[int], draw: Draw, scan: Scan | None) -> dict[int, RecognizedText]:
        """The pages that hold recognised text, by number from 0; those of *scan* are not read again."""
        scan = scan or Scan()
        read, known = pages[:MAX_PAGES], scan.pages.pages
        left = [page for page in read if page not in known]
        if left:
            try:
                self._recognize(left, draw, scan)
            finally:
                scan.pages.save()
        found = ((page, known[page]) for page in read)
        return {page: text for page, text in found if text is not None and clean(text.text).strip()}

    def _recognize(self, pages: list[int], draw: Draw, scan: Scan) -> None:
        """Recognise pages, as many at a time as the service allows, while there is time."""
        begun_s, slowest_s, done = scan.remaining_s(), 0.0, 0
        saved_s = begun_s
        while done < len(pages):
            left_s = scan.remaining_s()
            if min(left_s - begun_s + BUDGET_S, left_s - RESERVE_S) <= slowest_s:
                raise _unfinished(done, len(pages))
            together = pages[done : done + self._recognizer.at_once]
            try:
                self._recognize_together(together, draw, scan)
            except TimeoutError as exc:
                raise _unfinished(done, len(pages)) from exc
            done += len(together)
            now_s = scan.remaining_s()
            slowest_s = max(slowest_s, left_s - now_s)
            if saved_s - now_s >= SAVE_EVERY_S:
                scan.pages.save()
                saved_s = now_s

    def _recognize_together(self, pages: Sequence[int], draw: Draw, scan: Scan) -> None:
        """Recognise some pages at the same time; if one fails, the others are stored."""
        waiting = []

        def recognize(picture: bytes) -> RecognizedText:
            return self._recognizer.recognize(picture, scan.remaining_s() - RESERVE_S / 2)

        with ThreadPoolExecutor(len(pages), thread_name_prefix="ocr") as pool:
            for page in pages:
                picture = draw(page)
                text = scan.pages.known(picture) if picture is not None else None
                if picture is None or text is not None:
                    scan.pages.keep(page, picture, text)
                else:
                    waiting.append((page, picture, pool.submit(recognize, picture)))
        failed = None
        for page, picture, answer in waiting:
            failed = answer.exception() or failed
            if answer.exception() is None:
                scan.pages.keep(page, picture, answer.result())
        if failed is not None:
            raise failed


def _unfinished(done: int, pages: int) -> UnfinishedScanError:
    message = f"{pages - done} pages of a scan are left to recognise, {done} were recognised now"
    return UnfinishedScanError(message, recognized=done)


def mark(found: RecognizedText) -> str:
    """The words of a citation for recognised text."""
    return f"read by OCR ({round(found.confidence * 100)} %)"


def with_pages(document: ParsedDocument, found: dict[int, RecognizedText]) -> ParsedDocument:
    """*document* with the recognised text of its blank pages in their places."""
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
    pages = first_twenty([page + 1 for page in found])
    mean = sum(text.confidence for text in found.values()) / len(found)
    unsure = [
        f"{page + 1} ({round(text.confidence * 100)} %)"
        for page, text in found.items()
        if text.confidence < MIN_CONFIDENCE
    ]
    all_pages = (f"{len(found)} pages are read by OCR, with a confidence of {round(mean * 100)} %: {pages}",)
    return (*all_pages, f"OCR is unsure of pages {first_twenty(unsure)}: check quotes of them") if unsure else all_pages
