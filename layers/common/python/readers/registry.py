"""Every format that is read: how it is called, by which suffixes it is known, and which function reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, cast

from readers.errors import CorruptFileError
from readers.parsed import ParsedDocument

Kind = Literal[
    "markdown",
    "text",
    "html",
    "pdf",
    "docx",
    "json",
    "jsonl",
    "csv",
    "code",
    "spreadsheet",
    "presentation",
    "opendocument",
    "rtf",
    "epub",
    "mail",
    "mailbox",
    "outlook",
    "subtitles",
    "feed",
]


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Args:
        title: What pages and messages call it.
        reader: Module of this package and function, which takes the bytes; empty where the parent process reads it.
        suffixes: Names that decide where bytes leave a choice, or that say what damaged bytes were.
        named: Whether the function takes the document's path, too.
    """

    title: str
    reader: str = ""
    suffixes: tuple[str, ...] = ()
    named: bool = False


FORMATS: dict[Kind, Format] = {
    "markdown": Format("Markdown", suffixes=(".md", ".markdown", ".mdown", ".mkd", ".mdx")),
    "text": Format("text", suffixes=(".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex")),
    "html": Format("HTML", "html:read_html", (".html", ".htm", ".xhtml")),
    "pdf": Format("PDF", "pages.pdf:read_pdf", (".pdf",)),
    "docx": Format("DOCX", "office.docx:read_docx", (".docx", ".docm", ".dotx")),
    "spreadsheet": Format(
        "XLSX, XLS and ODS", "office.spreadsheet:read_spreadsheet", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    ),
    "presentation": Format("PPTX", "office.presentation:read_presentation", (".pptx", ".pptm", ".ppsx", ".potx")),
    "opendocument": Format("ODT and ODP", "office.opendocument:read_opendocument", (".odt", ".ott", ".odp", ".otp")),
    "rtf": Format("RTF", "office.rtf:read_rtf", (".rtf",)),
    "epub": Format("EPUB", "epub:read_epub", (".epub",)),
    "mail": Format("EML", "mails.mail:read_mail", (".eml",)),
    "mailbox": Format("MBOX", "mails.mail:read_mailbox", (".mbox", ".mbx")),
    "outlook": Format("MSG", "mails.outlook:read_outlook", (".msg",)),
    "subtitles": Format("VTT and SRT", "subtitles:read_subtitles", (".vtt", ".srt")),
    "feed": Format("RSS and Atom", "feed:read_feed", (".rss", ".atom")),
    "code": Format("source code", "code:read_code", named=True),
    "json": Format("JSON", "json:read_json", (".json", ".geojson", ".webmanifest", ".ipynb")),
    "jsonl": Format("JSON Lines", "json:read_json_lines", (".jsonl", ".ndjson")),
    "csv": Format("CSV", "csv:read_csv", (".csv", ".tsv")),
}
BY_SUFFIX: dict[str, Kind] = {suffix: kind for kind, held in FORMATS.items() for suffix in held.suffixes}


def titles() -> str:
    """All formats in one phrase, for messages.

    >>> titles()[:20]
    'Markdown, text, HTML'
    """
    return ", ".join(held.title for held in FORMATS.values())


def read_here(kind: Kind, body: bytes, name: str) -> ParsedDocument:
    """Read *body* in this process, without limits of time and memory.  Modules are imported when they are first needed.

    Raises:
        ReadError: It cannot be read.
    """
    held = FORMATS.get(kind)
    if held is None or not held.reader:
        raise CorruptFileError(f"there is no reader for {kind}")
    module, _, function = held.reader.partition(":")
    read = cast("Callable[..., Any]", getattr(import_module(f"readers.{module}"), function))
    return cast("ParsedDocument", read(body, name) if held.named else read(body))
