"""EML and MBOX by the standard library: headers, text, quoted history and attachments."""

from __future__ import annotations

import email.errors
import html
import re
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from pathlib import PurePosixPath
from typing import Any

from readers.content import kind_of
from readers.formats import EML, MBOX, binary_format, read_here
from readers.html import read_html
from readers.mail_headers import AS_WRITTEN, KNOWN_FIELD, date_of, decoded_header, file_name, repaired_head
from readers.markdown_writer import MarkdownWriter, first_twenty, one_line
from readers.parsed import ParsedDocument, WrittenLink, part_of
from readers.read_errors import (
    CorruptFileError,
    EmptyFileError,
    EncryptedFileError,
    ReadError,
    UnsafeFileError,
    refuse_over,
)
from readers.text_decoding import clean, decode, looks_binary, marked_encoding

MAX_ATTACHMENTS = 100
MAX_ATTACHED_BYTES = 64 * 1024 * 1024
MAX_ATTRIBUTE_CHARACTERS = 200
MAX_INSIDE = 2
MAX_LEVEL = 5
MAX_NAME_CHARACTERS = 120
MIN_QUOTED_SHARE = 0.8
_MAILS = frozenset({"mail", "mailbox", "outlook"})
_HISTORY = re.compile(
    r"^[ \t>*_]*(?:-{2,} ?(?:original message|forwarded message|ursprüngliche nachricht|message d'origine|"
    r"mensaje original) ?-{2,}|"
    r"(?:on|am|le|el) [^\n]{4,200}\n?[^\n]{0,80}(?:wrote|schrieb|écrit|escribió)[^\n:]{0,80}:|"
    r"_{20,}\n\s*\**(?:from|von|de):)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a mail, or a mail in it."""

    name: str
    body: bytes = b""
    mail: Mail | None = None


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail of any format; its `headers` and its `date` of ISO 8601 become metadata."""

    subject: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    plain: str = ""
    html: bytes = b""
    attachments: tuple[Attachment, ...] = ()
    date: str | None = None
    pictures: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Whether it has no words and nothing attached."""
        headers = any(value for _, value in self.headers)
        return not (headers or self.subject or self.plain.strip() or self.html.strip() or self.attachments)


_INSIDE: ContextVar[int] = ContextVar("inside", default=0)
"""How many attachments contain the mail that is read."""


class MailWriter:
    """Writes mails into one text; their attachments count together.  Mails are read as attachments two levels deep."""

    def __init__(self) -> None:
        self.writer = MarkdownWriter()
        self.links: list[WrittenLink] = []
        self.warnings: list[str] = []
        self._left, self._left_bytes = MAX_ATTACHMENTS, MAX_ATTACHED_BYTES

    def write(self, mail: Mail, *, level: int = 1, place: str = "message") -> None:
        """Write a mail under a heading of *level*; its parts stand at *place*."""
        self.warnings += mail.warnings
        self.writer.place(place)
        unnamed = "Message without a subject" if level > 1 and not mail.is_bare else ""
        self.writer.heading(min(level, 6), mail.subject or unnamed)
        self.writer.block("\n".join(f"{name}: {one_line(value)}" for name, value in mail.headers if value))
        self._text(mail, level, place)
        if mail.pictures:
            self.warnings.append(f"{mail.pictures} pictures within the text of a mail are left out")
        for attachment in mail.attachments:
            self._attachment(attachment, level + 1, "" if place == "message" else f"{place}, ")

    def document(self, media_type: str, mail: Mail | None = None) -> ParsedDocument:
        """What was written; with the date and the people of *mail* as metadata."""
        metadata: dict[str, object] = {}
        if mail is not None:
            people = {name.lower(): one_line(value)[:MAX_ATTRIBUTE_CHARACTERS] for name, value in mail.headers if value}
            people.pop("date", None)
            metadata = {"date": mail.date, "attributes": people}
        return self.writer.document(media_type, links=self.links, warnings=self.warnings, metadata=metadata)

    def _text(self, mail: Mail, level: int, place: str) -> None:
        if mail.plain.strip():
            own, history = split_history(mail.plain)
            self.writer.block(own)
        elif mail.html.strip():
            try:
                page = read_html(mail.html)
            except EmptyFileError:
                return
            self.warnings += page.warnings
            self.links += page.links
            at = len(split_history(page.text)[0])
            history = page.text[at:]
            own_part = part_of(page, 0, at, lambda start, end: page.text[start:end]) if at < len(page.text) else page
            if own_part.text.strip():
                self.writer.add(own_part, below=level)
        else:
            return
        if history.strip():
            self.writer.place(f"{place}, quoted history")
            self.writer.heading(min(level + 1, 6), "Quoted history")
            self.writer.block(history)

    def _attachment(self, attachment: Attachment, level: int, before: str) -> None:
        name = named(attachment.name)
        if self._left <= 0 or len(attachment.body) > self._left_bytes:
            self.warnings.append(f"the attachment {name!r} is left out: a mail has too many, or too large ones")
            return
        self._left, self._left_bytes = self._left - 1, self._left_bytes - len(attachment.body)
        if attachment.mail is not None:
            if _INSIDE.get() + level > MAX_LEVEL:
                self.warnings.append(f"the attached mail {name!r} is left out: it is inside too many others")
            else:
                self.write(attachment.mail, level=level, place=f"{before}attached mail {name}")
            return
        try:
            document = self._read(attachment.body, attachment.name)
        except EmptyFileError:
            self.warnings.append(f"the attachment {name!r} is left out: it holds no text")
        except ReadError as exc:
            self.warnings.append(f"the attachment {name!r} is left out: {exc.message[:200]}")
        else:
            self.warnings += [f"{name}: {warning}" for warning in document.warnings]
            self.writer.place(f"{before}attachment {name}")
            self.writer.heading(min(level, 6), f"Attachment: {name}")
            self.writer.add(document, below=level, place=f"{before}attachment {name}")
            self.links += document.links

    def _read(self, body: bytes, name: str) -> ParsedDocument:
        kind = kind_of(body, name)
        if kind in _MAILS and _INSIDE.get() >= MAX_INSIDE:
            raise UnsafeFileError("it is a mail inside too many others")
        inside = _INSIDE.set(_INSIDE.get() + 1)
        try:
            return read_here(kind, body, name)
        finally:
            _INSIDE.reset(inside)


def split_history(text: str) -> tuple[str, str]:
    r"""The new text of a mail, and the history that it quotes behind that.

    >>> split_history("Yes.\n\nOn 3 May 2026 Ann wrote:\n> Does it leak?\n")
    ('Yes.\n\n', 'On 3 May 2026 Ann wrote:\n> Does it leak?\n')
    >>> split_history("> Does it leak?\nYes.\n> Since when?\nMay.\n")[1]
    ''
    """
    found = _HISTORY.search(text)
    if found:
        quoted = [line for line in text[found.end() :].split("\n") if line.strip()]
        marked = sum(line.lstrip().startswith(">") for line in quoted)
        if marked >= MIN_QUOTED_SHARE * len(quoted) or (marked == 0 and text[: found.start()].strip()):
            return text[: found.start()], text[found.start() :]
    lines = text.split("\n")
    at = len(lines)
    while at and (not lines[at - 1].strip() or lines[at - 1].startswith(">")):
        at -= 1
    own = "".join(line + "\n" for line in lines[:at])
    history = text[len(own) :]
    return (own, history) if sum(line.startswith(">") for line in history.split("\n")) > 1 else (text, "")


def named(name: str) -> str:
    r"""The name of an attachment as it is shown: the last part of a path, on one line.

    >>> named("..\\..\\etc/pass\nwd.txt"), named("")
    ('pass wd.txt', 'without a name')
    """
    plain = one_line(PurePosixPath(name.replace("\\", "/").replace("\0", "")).name)
    printable = "".join(character for character in plain if character.isprintable())
    return printable[:MAX_NAME_CHARACTERS] or "without a name"


MAX_MESSAGES = 5_000
MAX_PARTS = 1_000
MAX_DEPTH = 20  # of parts within parts
_SHOWN = ("From", "To", "Cc", "Date")
_BETWEEN = re.compile(  # a line with an address or a full date, and then fields of a mail: prose begins with "From" too
    rb"(?:\A|(?<=\n))From (?=[^\n]{0,500}(?:@|\d:\d\d[^\n]{0,20}\d{4}))[^\n]{0,500}\n"
    rb"(?=(?:[^\n]+\n){0,20}?" + KNOWN_FIELD + rb")"
)
STUB_WORDS = 20  # a plain text of fewer only says that there is a page, if that has so many more
_MARKED = b"\xef\xbb\xbf"  # says that what follows is UTF-8
_UNFOLDED = re.compile(r"\n[ \t]")  # how calendars break lines
_WORD = re.compile(r"\w+")
_BOUNDARY = re.compile(rb"\bboundary\s*=", re.IGNORECASE)
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, AssertionError, email.errors.MessageError)


def read_mail(body: bytes) -> ParsedDocument:
    """Read one mail; its attachments are sections of its text, its senders and its date are metadata."""
    mail = _mail_of(_parsed(body))
    written = MailWriter()
    written.write(mail)
    return written.document(EML, mail)


def read_mailbox(body: bytes) -> ParsedDocument:
    """Read the mails of a mailbox file, each under its subject; a single one is read as that mail."""
    body = _as_bytes(body)
    starts = [found.end() for found in _BETWEEN.finditer(body)]
    ends = [*(found.start() for found in _BETWEEN.finditer(body)), len(body)][1:]
    if len(starts) <= 1:
        return read_mail(body)
    refuse_over(MAX_MESSAGES, len(starts), "mails", "the mailbox")
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
    if found.encrypted and not found.texts:
        raise EncryptedFileError("the mail is encrypted; save it decrypted, or forward it without encryption")
    return found.mail(message)


class _Parts:
    """Sorts the parts of a message: text, pages, attachments."""

    def __init__(self, seen: int = 0) -> None:
        self.texts: list[tuple[bool, str]] = []  # each with whether it is HTML
        self.attachments: list[Attachment] = []
        self.pictures = 0
        self.encrypted = False
        self._seen = seen
        self._damaged = False
        self._notes: list[str] = []
        self._charset = ""  # the first that a part declares: raw headers are written in it, too

    def walk(self, part: Message, depth: int) -> None:
        """Sort *part* and what is in it."""
        self._seen += 1
        if depth > MAX_DEPTH or self._seen > MAX_PARTS:
            message = f"the mail has over {MAX_PARTS} parts, or parts within over {MAX_DEPTH} others"
            raise UnsafeFileError(message, limit_parts=MAX_PARTS, limit_depth=MAX_DEPTH)
        kind = part.get_content_type()
        payload = part.get_payload()
        if kind == "multipart/encrypted" or (
            kind.endswith("pkcs7-mime") and "signed" not in str(part.get("Content-Type"))
        ):
            self.encrypted = True
        elif kind == "message/rfc822" and isinstance(payload, list) and payload and isinstance(payload[0], Message):
            self._attached_mail(payload[0], depth)
        elif kind == "message/delivery-status" and isinstance(payload, list):
            blocks = ("\n".join(f"{name}: {value}" for name, value in each.items()) for each in list[Any](payload))
            self.texts.append((False, clean("\n\n".join(blocks))))
        elif isinstance(payload, list):
            for each in self._alternatives(payload) if kind == "multipart/alternative" else list[Any](payload):
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
        shown = tuple((name, self._header(message, name)) for name in _SHOWN)
        written = shown[-1][1]
        date = date_of(written)
        if written and date is None:
            self._notes.append(f"the date of the mail, {written[:80]!r}, cannot be read and is left out")
        page = "\n".join(text for is_page, text in self.texts if is_page)
        plain = "\n\n".join(text for is_page, text in self.texts if not is_page)
        if page and plain.strip():  # not alternatives: what only the plain text says stands in its place on the page
            said = set(_WORD.findall(_shown(page)))
            whole = (
                text if is_page else "<p>" + html.escape(text).replace("\n\n", "<p>").replace("\n", "<br>")
                for is_page, text in self.texts
                if is_page or not said.issuperset(_WORD.findall(text))
            )
            page, plain = "\n".join(whole), ""
        return Mail(
            self._header(message, "Subject"),
            shown,
            plain,
            _MARKED + page.encode() if page else b"",
            tuple(self.attachments),
            date,
            self.pictures,
            tuple(self._warnings()),
        )

    def _alternatives(self, parts: list[Any]) -> list[Any]:
        """The plain text, or the last form if that says far more, and what is attached to the others."""
        plain = [part for part in parts if part.get_content_type() == "text/plain" and str(part.get_payload()).strip()]
        last = [part for part in parts if part.get_content_type() != "text/calendar"][-1:] or parts[-1:]
        chosen = plain[:1] or last
        words = len(self._body(chosen[0]).split())
        if plain and words < STUB_WORDS:
            pages = [each for each in last[0].walk() if each.get_content_type() == "text/html"]
            page = b"".join(map(self._body, pages[:1])).decode("utf-8", "replace")
            chosen = last if len(_shown(page).split()) > words + STUB_WORDS else chosen
        others = (leaf for part in parts if part not in chosen for leaf in part.walk())
        return [*chosen, *filter(_attaches, others)]

    def _leaf(self, part: Message, kind: str) -> None:
        body = self._body(part)
        charset = str(part.get_content_charset() or "")
        self._charset = self._charset or charset
        name = file_name(part)
        attached = part.get_content_disposition() == "attachment" or (name and not kind.startswith("text/"))
        if attached and (name or not kind.startswith("image/")):
            if kind.startswith("text/") and charset and binary_format(body, name) is None and not looks_binary(body):
                body = _MARKED + self._decoded(body, charset, declared=True).encode()
            self.attachments.append(Attachment(name or kind.replace("/", "."), body))
            return
        if kind == "text/html":
            self.texts.append((True, self._decoded(body, charset, declared=True)))
        elif kind == "text/calendar":
            self.texts.append(
                (False, _UNFOLDED.sub("", self._decoded(body, charset)).replace("\\,", ",").replace("\\n", "\n"))
            )
        elif kind.startswith("text/") or kind == "message/delivery-status":
            self.texts.append((False, self._decoded(body, charset)))
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
        """The text of a part; the charset of the mail counts more than its own declaration."""
        text, warnings = decode(body, charset=charset, declared=declared)
        self._notes += warnings
        return clean(text)

    def _header(self, message: Message, name: str) -> str:
        """A header, decoded, on one line; empty if missing."""
        text, warnings = decoded_header(str(message.get(name) or ""), self._charset)
        self._notes += [f"the header {name}: {warning}" for warning in warnings]
        return " ".join(clean(text).split())[:1_000]

    def _warnings(self) -> Iterator[str]:
        if self._damaged:
            yield "the mail is truncated or damaged; text may be missing"
        yield from self._notes
        if self.encrypted:
            yield "an encrypted part of the mail is left out"


def _attaches(part: Message) -> bool:
    """Whether a part of an alternative is more than another form of the same text."""
    kind = part.get_content_type()
    attached = part.get_content_disposition() == "attachment" and not part.is_multipart()
    return attached or kind == "text/calendar" or part.get_content_maintype() in {"application", "audio", "video"}


def _shown(page: str) -> str:
    """What a page of HTML says; empty if it cannot be read."""
    try:
        return read_html(_MARKED + page.encode()).text
    except ReadError:
        return ""
