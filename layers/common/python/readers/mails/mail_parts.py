"""Write a mail: its headers, its text with quoted history marked, and the text of its attachments."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import PurePosixPath

from readers.content import kind_of
from readers.errors import EmptyFileError, ReadError, UnsafeFileError
from readers.html import read_html
from readers.markdown_writer import MarkdownWriter, one_line
from readers.parsed import ParsedDocument, WrittenLink, part_of
from readers.registry import read_here
from readers.text import TextParser

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
    """A mail as any format gives it; its `headers` and its `date` of ISO 8601 become metadata."""

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
        """Whether it has no words at all, and nothing attached."""
        headers = any(value for _, value in self.headers)
        return not (headers or self.subject or self.plain.strip() or self.html.strip() or self.attachments)


_INSIDE: ContextVar[int] = ContextVar("inside", default=0)
"""How many attachments the mail that is being read is inside of."""


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
        """What was written; with the date and the people of *mail* as metadata.

        Raises:
            EmptyFileError: There is no text.
        """
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
        if kind in {"text", "markdown"}:
            return TextParser().read(body, markdown=kind == "markdown")
        inside = _INSIDE.set(_INSIDE.get() + 1)
        try:
            return read_here(kind, body, name)
        finally:
            _INSIDE.reset(inside)


def split_history(text: str) -> tuple[str, str]:
    r"""What a mail says itself, and the history that it quotes behind that.

    >>> split_history("Yes.\n\nOn 3 May 2026 Ann wrote:\n> Does it leak?\n")
    ('Yes.\n\n', 'On 3 May 2026 Ann wrote:\n> Does it leak?\n')
    >>> split_history("> Does it leak?\nYes.\n> Since when?\nMay.\n")[1]
    ''
    """
    found = _HISTORY.search(text)
    if found:
        quoted = [line for line in text[found.end() :].split("\n") if line.strip()]
        marked = sum(line.lstrip().startswith(">") for line in quoted)
        if marked == 0 or marked >= MIN_QUOTED_SHARE * len(quoted):
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
