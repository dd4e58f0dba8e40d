"""Read an object's bytes by the package `readers`: its errors become DocumentErrors, its scans are saved."""

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import (
    CorruptDocumentError,
    DeadlineError,
    DocumentError,
    DocumentTooLargeError,
    EmptyDocumentError,
    EncryptedDocumentError,
    ScanUnfinishedError,
    UnsafeDocumentError,
    UnsupportedMediaTypeError,
)
from ragdrop.ingest.revision_store import pages_name
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.reading import PageDrawer, Parser, TextRecognizer
from readers import read_errors
from readers.pages.page_recognition import RecognizedPages, RecognizedText, Scan
from readers.parsed import DrawnPage, ParsedDocument

_DOCUMENT_ERRORS: dict[type[read_errors.ReadError], type[DocumentError]] = {
    read_errors.EmptyFileError: EmptyDocumentError,
    read_errors.CorruptFileError: CorruptDocumentError,
    read_errors.EncryptedFileError: EncryptedDocumentError,
    read_errors.UnsafeFileError: UnsafeDocumentError,
    read_errors.FileTooLargeError: DocumentTooLargeError,
    read_errors.UnsupportedFormatError: UnsupportedMediaTypeError,
}


def parse(
    parser: Parser, body: bytes, *, name: str, media_type: str, pages: RecognizedPages, deadline: Deadline
) -> ParsedDocument:
    """Read the bytes of an object; *name* is its path, *pages* has the pages that are recognised already.

    Raises:
        DocumentError: It can never be read.
        ScanUnfinishedError: The deadline was too short for its pages; the pages read so far are stored.
        DependencyError: The recogniser failed; a later call may succeed.
    """
    try:
        return parser.parse(body, name=name, media_type=media_type, scan=Scan(pages, deadline.remaining_s))
    except read_errors.UnfinishedScanError as exc:
        raise ScanUnfinishedError(exc.message, service="ocr", stage="ocr", **exc.details) from exc
    except read_errors.ReadError as exc:
        raise _document_error(exc) from exc


def drawn_page(drawer: PageDrawer, body: bytes, number: int, text: str, start: int, end: int) -> DrawnPage:
    """Draw a page of a PDF with marks, as `PageDrawer.draw`; raises DocumentError: it cannot be drawn."""
    try:
        return drawer.draw(body, number, text, start, end)
    except read_errors.ReadError as exc:
        raise _document_error(exc) from exc


def _document_error(error: read_errors.ReadError) -> DocumentError:
    return _DOCUMENT_ERRORS[type(error)](error.message, **error.details)


class DeadlineRecognizer:
    """A TextRecognizer as the PictureRecognizer that `readers` calls."""

    def __init__(self, recognizer: TextRecognizer) -> None:
        self._recognizer = recognizer

    @property
    def at_once(self) -> int:
        """Pictures at the same time."""
        return self._recognizer.at_once

    def recognize(self, picture: bytes, timeout_s: float) -> RecognizedText:
        """Read a picture; raises TimeoutError if no time is left."""
        try:
            return self._recognizer.recognize(picture, Deadline.after(timeout_s))
        except DeadlineError as exc:
            raise TimeoutError(exc.message) from exc


MAX_VERSIONS = 2  # of a document whose pages are stored: the one that is read, and the one before it


class SavedPages(RecognizedPages):
    """The pages of one version of a document; nothing is read before it is asked for.  Nothing here crosses a document.

    One object a document holds the texts by the digest of the page's picture, and for each version which pictures its
    pages show.

    Args:
        state: The state bucket.
        key: The document.
        version: The digest of the object's bytes.
        is_needed: Whether the version is still to be indexed: nothing is stored of a purged document.
    """

    def __init__(
        self, state: ObjectStore, key: DocumentKey, version: str, *, is_needed: Callable[[], bool] = lambda: True
    ) -> None:
        self._state, self._name, self._version, self._is_needed = state, pages_name(key), version, is_needed
        self._changed = False

    @cached_property
    def _saved(self) -> dict[str, Any]:
        return json.loads(self._state.get(self._name) or b'{"texts": {}, "versions": {}}')  # type: ignore[no-any-return]

    @cached_property
    def _pictures(self) -> dict[str, str | None]:
        """The digest of each page's picture, by the page's number; None of one without a picture."""
        versions: dict[str, dict[str, str | None]] = self._saved["versions"]
        pictures = versions.pop(self._version, {})
        for older in list(versions)[: 1 - MAX_VERSIONS or None]:
            del versions[older]
        versions[self._version] = pictures  # the last one is the youngest
        return pictures

    @cached_property
    def pages(self) -> dict[int, RecognizedText | None]:  # type: ignore[override]
        """What the pages of this version say, by their number from 0."""
        return {int(page): self._text(digest) for page, digest in self._pictures.items()}

    def known(self, picture: bytes) -> RecognizedText | None:
        """What this picture says, where a version of the document had it."""
        return self._text(_digest(picture))

    def keep(self, page: int, picture: bytes | None, text: RecognizedText | None) -> None:
        """Note what a page says."""
        self.pages[page] = text
        digest = self._pictures[str(page)] = None if picture is None else _digest(picture)
        if digest is not None and text is not None:
            self._saved["texts"][digest] = [text.text, text.confidence]
        self._changed = True

    def save(self) -> None:
        """Keep what was noted, without texts of versions that are forgotten."""
        if not self._changed or not self._is_needed():
            return
        used = {digest for pictures in self._saved["versions"].values() for digest in pictures.values()}
        texts = {digest: text for digest, text in self._saved["texts"].items() if digest in used}
        body = json.dumps({"texts": texts, "versions": self._saved["versions"]}, ensure_ascii=False).encode()
        self._state.put(self._name, body, media_type="application/json")
        self._changed = False

    def _text(self, digest: str | None) -> RecognizedText | None:
        found = self._saved["texts"].get(digest)
        return None if found is None else RecognizedText(*found)


def _digest(picture: bytes) -> str:
    return hashlib.sha256(picture).hexdigest()
