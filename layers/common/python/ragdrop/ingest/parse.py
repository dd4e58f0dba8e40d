"""Read an object's bytes by the package `readers`: its errors become DocumentErrors here, its links those of chunks."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.links import Link, followable
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
from ragdrop.ports import Parser, TextRecognizer
from readers import errors
from readers.pages.page_recognition import RecognizedPages, RecognizedText, Scan
from readers.parsed import ParsedDocument

_DOCUMENT_ERRORS: dict[type[errors.ReadError], type[DocumentError]] = {
    errors.EmptyFileError: EmptyDocumentError,
    errors.CorruptFileError: CorruptDocumentError,
    errors.EncryptedFileError: EncryptedDocumentError,
    errors.UnsafeFileError: UnsafeDocumentError,
    errors.FileTooLargeError: DocumentTooLargeError,
    errors.UnsupportedFormatError: UnsupportedMediaTypeError,
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
    except errors.UnfinishedScanError as exc:
        raise ScanUnfinishedError(exc.message, service="ocr", stage="ocr", **exc.details) from exc
    except errors.ReadError as exc:
        raise _DOCUMENT_ERRORS[type(exc)](exc.message, **exc.details) from exc


def stored_links(document: ParsedDocument) -> tuple[Link, ...]:
    """The links of a document that an index stores with its first chunk."""
    return followable([Link(each.target, each.text) for each in document.links])


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
