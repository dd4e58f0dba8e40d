"""Why a file cannot be read: each reader raises the class that fits, and no docstring repeats which.

Messages carry the offending value and the limit, never text of the file.
"""

from typing import Any


class ReadError(Exception):
    """The file can never be read as it is; `details` has the values and limits as JSON."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details


class EmptyFileError(ReadError):
    """There is no text in it."""


class CorruptFileError(ReadError):
    """It is not what it claims to be, and no text could be read."""


class EncryptedFileError(ReadError):
    """It needs a password."""


class UnsafeFileError(ReadError):
    """It used more time, memory or unpacked size than a file may."""


class FileTooLargeError(ReadError):
    """It has more pages, slides, sheets, chapters or mails than are read."""


class UnsupportedFormatError(ReadError):
    """Its format is not read; `format` names it."""


class UnfinishedScanError(ReadError):
    """The time was too short for all pages of a scan; `recognized` pages were added, so that a retry continues."""


def refuse_over(limit: int, count: int, things: str, whole: str) -> None:
    """Raise FileTooLargeError if *whole*, as messages name the file, has more *things* than are read.

    >>> refuse_over(5, 6, "pages", "the document")
    Traceback (most recent call last):
    readers.read_errors.FileTooLargeError: the document has 6 pages, at most 5 are read
    """
    if count > limit:
        message = f"{whole} has {count} {things}, at most {limit} are read"
        raise FileTooLargeError(message, **{f"limit_{things}": limit, things: count})
