"""docs/formats.md: one row for each format of the registry, and what holds for all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from readers.formats import FORMATS, Kind

TEXTS = Path(__file__).with_name("formats_texts.md")
WRITTEN = Path(__file__).parents[1] / "docs/formats.md"
MEASURED = re.compile(r"<!-- ocr: written by .*<!-- end of ocr -->", re.DOTALL)


@dataclass(frozen=True)
class Note:
    """What the page says of a format.

    `seconds` is the time of one core for a megabyte of the file, measured on files of 0.3 to 2 MB of words.
    """

    reads: str
    places: str
    left_out: str
    limits: str
    library: str
    seconds: str


_NOTHING = "none"
_STDLIB = "Python's own"
_PACKED = "64 MB a part, 512 MB and 10,000 parts in all, 200 times its size; no XML entities"
NOTES: dict[Kind, Note] = {
    "markdown": Note(
        "the object, decoded, unchanged",
        _NOTHING,
        "embedded pictures (data URLs) with a warning",
        "over 200,000 characters a line scan",
        "markdown-it-py",
        "0.1",
    ),
    "text": Note(
        "the object, decoded, unchanged",
        _NOTHING,
        "embedded pictures (data URLs) with a warning",
        _NOTHING,
        _STDLIB,
        "0.01",
    ),
    "html": Note(
        "Markdown of what a reader sees: headings, lists with their numbers, tables, links, descriptions of pictures, "
        "MathML",
        _NOTHING,
        "scripts, menus; hidden parts with a warning",
        "250 nested elements",
        "selectolax",
        "0.15",
    ),
    "pdf": Note(
        "the pages' text, lines joined to paragraphs; tables as rows; outline as headings; raised and lowered digits; "
        "letters at one distance as words; Arabic and Hebrew in their logical order",
        "`page 3`",
        "pictures, attached files, filled fields, comments, pages that cannot be read; rows of tables that are unsure; "
        "glyphs whose font maps them to no character",
        "5,000 pages",
        "pypdfium2",
        "0.8",
    ),
    "docx": Note(
        "body, tables with merged cells filled, results of fields, numbers of headings, clauses and lists as Word "
        "counts them, formulas, text boxes, notes, descriptions of pictures; page headers and footers once",
        _NOTHING,
        "pictures without a description, comments, deleted text, embedded files, charts and diagrams; automatic "
        "numbers in words or in rare scripts, symbols of unknown fonts",
        _PACKED,
        "mammoth",
        "1.0",
    ),
    "spreadsheet": Note(
        "sheets as tables, hidden ones too; results of formulas; dates of ISO 8601, per cent where a cell shows it",
        "`Budget!A2:F9`",
        "macros, charts, comments, pictures, other number formats; columns after the 500th",
        f"1,000 sheets; {_PACKED}",
        "python-calamine",
        "0.5",
    ),
    "presentation": Note(
        "slides in order, titles as headings, numbered items, tables, notes, descriptions of pictures; hidden "
        "slides too",
        "`slide 4`, `slide 4, notes`",
        "pictures without a description, charts, diagrams, comments, films, embedded files",
        f"5,000 slides; {_PACKED}",
        _STDLIB,
        "0.4",
    ),
    "opendocument": Note(
        "headings and lists with their numbers, tables, notes, text boxes, descriptions of pictures; slides as those "
        "of PPTX",
        "`slide 4`, `slide 4, notes`",
        "pictures without a description, comments, deleted text, embedded objects, page headers, repeats of a "
        "row after the 100th",
        f"5,000 slides, 200 nested elements; {_PACKED}",
        _STDLIB,
        "0.1",
    ),
    "rtf": Note(
        "paragraphs, numbers of lists, and tables with merged cells filled",
        _NOTHING,
        "headings as such, pictures, footnotes, text boxes, formulas, comments, deleted text, page headers, embedded "
        "objects",
        "32 MB without pictures",
        "striprtf",
        "0.8",
    ),
    "epub": Note(
        "title, authors, and the chapters in reading order, as HTML",
        "`chapter 3`",
        "pictures; books that are protected are refused",
        f"5,000 chapters; {_PACKED}",
        "selectolax",
        "0.2",
    ),
    "mail": Note(
        "subject as title, headers, text (HTML where there is no plain text), quoted history under its own heading, "
        "attachments by their own readers; senders and date as metadata",
        "`message`, `message, quoted history`, `attachment a.xlsx: Budget!A2:F2`",
        "pictures, attachments that cannot be read",
        "100 attachments of 64 MB in all, two mails deep; 1,000 parts, 20 deep",
        _STDLIB,
        "0.05",
    ),
    "mailbox": Note(
        "the same for each mail", "`message 12`", "the same; mails that cannot be read", "5,000 mails", _STDLIB, "0.4"
    ),
    "outlook": Note(
        "as EML; text that is kept as RTF alone, too", "as EML", "as EML", "200 attachments", "olefile", "0.05"
    ),
    "subtitles": Note(
        "a line a cue with its speaker; repeated lines once",
        "`00:01:05`",
        "styles, notes, lines without a time",
        _NOTHING,
        _STDLIB,
        "0.15",
    ),
    "feed": Note(
        "title of the feed, and each entry under its title with link, date, author and topics; its content as HTML",
        "`entry 3`",
        "enclosures and pictures; entries behind a place where the XML is damaged",
        "200 nested elements; no XML entities",
        "Python's own, selectolax",
        "9",
    ),
    "code": Note(
        "the object, decoded, unchanged; functions and classes as headings",
        _NOTHING,
        "",
        "4 MB, else as text",
        "Pygments",
        "0.6",
    ),
    "json": Note(
        "a line a value, `path.to.value: value`; an array of objects as records",
        _NOTHING,
        "",
        "16 MB and 100 levels, else as text or refused",
        _STDLIB,
        "0.3",
    ),
    "jsonl": Note("the same, a record a line", _NOTHING, "", "100 levels", _STDLIB, "0.3"),
    "csv": Note(
        "a Markdown table; the separator is found, or named by a first line `sep=;`; titles and notes above the header "
        "as text; columns of numbers alone are called `column 1`",
        _NOTHING,
        "columns after the 500th",
        "a million characters a cell",
        _STDLIB,
        "0.15",
    ),
}
LIBRARIES = (
    ("pypdfium2", "Apache-2.0 or BSD-3-Clause", "8.6 MB"),
    ("selectolax", "MIT", "7.8 MB"),
    ("Pygments", "BSD-2-Clause", "5.2 MB"),
    ("python-calamine", "MIT", "2.3 MB"),
    ("mammoth", "BSD-2-Clause", "0.4 MB"),
    ("markdown-it-py", "MIT", "0.4 MB"),
    ("olefile", "BSD-2-Clause", "0.4 MB"),
    ("striprtf", "BSD-3-Clause", "0.03 MB"),
)


def page() -> str:
    """The whole page: the formats, the libraries, and the texts beside this module."""
    head, _, rest = TEXTS.read_text("utf-8").partition("<!-- formats -->\n")
    reads = [("format", "the parsed text", "places in citations", "library", "s per MB")]
    lost = [("format", "left out", "limits")]
    for kind, held in FORMATS.items():
        note = NOTES[kind]
        title = held.title + (
            f" ({', '.join(held.suffixes)})" if kind in {"spreadsheet", "presentation", "opendocument"} else ""
        )
        reads.append((title, note.reads, note.places, note.library, note.seconds))
        lost.append((held.title, note.left_out or _NOTHING, note.limits))
    packages = [("package", "licence", "unpacked"), *LIBRARIES]
    middle, _, end = rest.partition("<!-- left out -->\n")
    text = head + table(reads) + middle + table(lost) + "\n" + table(packages) + end
    measured = MEASURED.search(WRITTEN.read_text("utf-8"))  # what benchmarks/report.py wrote stays
    return MEASURED.sub(lambda _: measured[0], text) if measured else text


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as a table of Markdown; the first one is its header."""
    lines = [rows[0], tuple("---" for _ in rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
