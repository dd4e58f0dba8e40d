"""EML and MBOX by the standard library: headers, text, quoted history and attachments."""

from __future__ import annotations

import email.errors
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from typing import Any

from readers.errors import CorruptFileError, EncryptedFileError, FileTooLargeError, UnsafeFileError
from readers.mails.mail_dates import date_of
from readers.mails.mail_headers import AS_WRITTEN, KNOWN_FIELD, decoded_header, file_name, repaired_head
from readers.mails.mail_parts import Attachment, Mail, MailWriter
from readers.markdown_writer import first_twenty
from readers.media_types import EML, MBOX, binary_format
from readers.parsed import ParsedDocument
from readers.text_decoder import decode
from readers.text_decoding import clean, looks_binary, marked_encoding

MAX_MESSAGES = 5_000
MAX_PARTS = 1_000
MAX_DEPTH = 20  # of parts within parts
_SHOWN = ("From", "To", "Cc", "Date")
_BETWEEN = re.compile(  # a line with an address or a full date, and then fields of a mail: prose begins with "From" too
    rb"(?:\A|(?<=\n))From (?=[^\n]{0,500}(?:@|\d:\d\d[^\n]{0,20}\d{4}))[^\n]{0,500}\n"
    rb"(?=(?:[^\n]+\n){0,20}?" + KNOWN_FIELD + rb")"
)
_BOUNDARY = re.compile(rb"\bboundary\s*=", re.IGNORECASE)
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, AssertionError, email.errors.MessageError)


def read_mail(body: bytes) -> ParsedDocument:
    """Read one mail; its attachments are sections of its text, its senders and its date are metadata.

    Raises:
        EmptyFileError: There is no text in it.
        EncryptedFileError: It is encrypted.
        UnsafeFileError: Its parts are nested too deep, or are too many.
        CorruptFileError: It cannot be read.
    """
    mail = _mail_of(_parsed(body))
    written = MailWriter()
    written.write(mail)
    return written.document(EML, mail)


def read_mailbox(body: bytes) -> ParsedDocument:
    """Read the mails of a mailbox file, each under its subject; one that holds a single mail is read as that mail.

    Raises:
        EmptyFileError: There is no text in it.
        FileTooLargeError: It has over 5,000 mails.
        CorruptFileError: No mail of it can be read.
    """
    body = _as_bytes(body)
    starts = [found.end() for found in _BETWEEN.finditer(body)]
    ends = [*(found.start() for found in _BETWEEN.finditer(body)), len(body)][1:]
    if len(starts) <= 1:
        return read_mail(body)
    if len(starts) > MAX_MESSAGES:
        message = f"the mailbox has {len(starts)} mails, at most {MAX_MESSAGES} are read"
        raise FileTooLargeError(message, limit_mails=MAX_MESSAGES, mails=len(starts))
    written = MailWriter()
    left_out: list[int] = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
        try:
            mail = _mail_of(_parsed(re.sub(rb"(?m)^>(>*From )", rb"\1", body[start:end])))
        except (CorruptFileError, EncryptedFileError, UnsafeFileError):
            left_out.append(number)
            continue
        written.write(mail, level=2, place=f"message {number}")
    if left_out and len(left_out) == len(starts):
        raise CorruptFileError("no mail of the mailbox can be read")
    if left_out:
        shown = first_twenty(left_out)
        written.warnings.append(f"{len(left_out)} of {len(starts)} mails cannot be read and are left out: {shown}")
    return written.document(MBOX)


def _as_bytes(body: bytes) -> bytes:
    encoding = marked_encoding(body)
    text = body.decode(encoding, "replace").removeprefix("\ufeff").encode() if encoding else body
    return text.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").replace(b"\r\n", b"\n")


def _parsed(body: bytes) -> Message:
    if len(_BOUNDARY.findall(body)) > MAX_PARTS:  # the library takes time that grows with the square of their depth
        raise UnsafeFileError(f"the mail has over {MAX_PARTS} parts", limit_parts=MAX_PARTS)
    try:
        return message_from_bytes(repaired_head(_as_bytes(body)), policy=AS_WRITTEN)
    except RecursionError as exc:
        raise UnsafeFileError("the parts of the mail are nested too deep") from exc
    except _BROKEN as exc:
        raise CorruptFileError(f"the mail cannot be read ({type(exc).__name__})") from exc


def _mail_of(message: Message) -> Mail:
    found = _Parts()
    found.walk(message, 0)
    if found.encrypted and not (found.plain or found.html):
        raise EncryptedFileError("the mail is encrypted; save it decrypted, or forward it without encryption")
    return found.mail(message)


class _Parts:
    """Sorts the parts of a message: text, pages, attachments."""

    def __init__(self, seen: int = 0) -> None:
        self.plain: list[str] = []
        self.html: list[bytes] = []
        self.attachments: list[Attachment] = []
        self.pictures = 0
        self.encrypted = False
        self._seen = seen
        self._damaged = False
        self._notes: list[str] = []
        self._charset = ""  # the first that a part declares: raw headers are written in it, too

    def walk(self, part: Message, depth: int) -> None:
        """Sort *part* and what is in it.

        Raises:
            UnsafeFileError: There are too many parts, or they are nested too deep.
        """
        self._seen += 1
        if depth > MAX_DEPTH or self._seen > MAX_PARTS:
            message = f"the mail has over {MAX_PARTS} parts, or parts within over {MAX_DEPTH} others"
            raise UnsafeFileError(message, limit_parts=MAX_PARTS, limit_depth=MAX_DEPTH)
        kind = part.get_content_type()
        held = part.get_payload()
        if kind == "multipart/encrypted" or (
            kind.endswith("pkcs7-mime") and "signed" not in str(part.get("Content-Type"))
        ):
            self.encrypted = True
        elif kind == "message/rfc822" and isinstance(held, list) and held and isinstance(held[0], Message):
            self._attached_mail(held[0], depth)
        elif isinstance(held, list):
            for each in _of_alternatives(kind, held):
                self.walk(each, depth + 1)
        else:
            self._leaf(part, kind)
        self._damaged |= bool(part.defects)

    def _attached_mail(self, message: Message, depth: int) -> None:
        inner = _Parts(self._seen)
        inner.walk(message, depth + 1)
        self._seen = inner._seen
        mail = inner.mail(message)
        self.attachments.append(Attachment(mail.subject or "mail", mail=mail))

    def mail(self, message: Message) -> Mail:
        """The mail whose parts these are."""
        subject = self._header(message, "Subject")
        shown = tuple((name, self._header(message, name)) for name in _SHOWN)
        written = shown[-1][1]
        date = date_of(written)
        if written and date is None:
            self._notes.append(f"the date of the mail, {written[:80]!r}, cannot be read and is left out")
        return Mail(
            subject=subject,
            headers=shown,
            plain="\n\n".join(self.plain),
            html=b"\n".join(self.html),
            attachments=tuple(self.attachments),
            date=date,
            pictures=self.pictures,
            warnings=tuple(self.warnings()),
        )

    def _leaf(self, part: Message, kind: str) -> None:
        body = self._body(part)
        charset = str(part.get_content_charset() or "")
        self._charset = self._charset or charset
        name = file_name(part)
        attached = part.get_content_disposition() == "attachment" or (name and not kind.startswith("text/"))
        if attached and (name or not kind.startswith("image/")):
            if kind.startswith("text/") and charset and binary_format(body, name) is None and not looks_binary(body):
                body = b"\xef\xbb\xbf" + self._decoded(body, charset, declared=True).encode()
            self.attachments.append(Attachment(name or kind.replace("/", "."), body))
            return
        if kind == "text/html":
            self.html.append(b"\xef\xbb\xbf" + self._decoded(body, charset, declared=True).encode())
        elif kind.startswith("text/") or kind == "message/delivery-status":
            self.plain.append(self._decoded(body, charset))
        elif kind.startswith("image/"):
            self.pictures += 1
        else:
            self.attachments.append(Attachment(name or kind.replace("/", "."), body))

    def _body(self, part: Message) -> bytes:
        try:
            body = part.get_payload(decode=True)
        except _BROKEN:
            self._damaged = True
            return b""
        return body if isinstance(body, bytes) else b""

    def _decoded(self, body: bytes, charset: str, *, declared: bool = False) -> str:
        """The text of a part; what it declares itself counts less than what the mail says."""
        text, warnings = decode(body, charset=charset, declared=declared)
        self._notes += warnings
        return clean(text)

    def _header(self, message: Message, name: str) -> str:
        """A header, decoded, on one line; empty where there is none."""
        text, warnings = decoded_header(str(message.get(name) or ""), self._charset)
        self._notes += [f"the header {name}: {warning}" for warning in warnings]
        return " ".join(clean(text).split())[:1_000]

    def warnings(self) -> Iterator[str]:
        """What was wrong with the parts."""
        if self._damaged:
            yield "the mail is truncated or damaged; text may be missing"
        yield from self._notes
        if self.encrypted:
            yield "an encrypted part of the mail is left out"


def _of_alternatives(kind: str, parts: list[Any]) -> list[Any]:
    """Of alternatives the plain text, or the last where none is plain; all parts of anything else."""
    if kind != "multipart/alternative":
        return parts
    plain = [part for part in parts if part.get_content_type() == "text/plain" and str(part.get_payload()).strip()]
    return plain[:1] or parts[-1:]
