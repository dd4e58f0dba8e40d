"""Every format that is read: its names, its reader, and how its bytes are recognised."""

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias, cast

from readers.parsed import ParsedDocument

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XLS = "application/vnd.ms-excel"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
ODT = "application/vnd.oasis.opendocument.text"
ODP = "application/vnd.oasis.opendocument.presentation"
EPUB = "application/epub+zip"
RTF = "application/rtf"
EML = "message/rfc822"
MBOX = "application/mbox"
MSG = "application/vnd.ms-outlook"
VTT = "text/vtt"
RSS = "application/rss+xml"
ATOM = "application/atom+xml"
JSON_FEED = "application/feed+json"
ARCHIVE = "a ZIP archive: push it with `ragdrop push`, which unpacks it, or unpack it first"
LEGACY_WORD = "a legacy Word document (.doc): save it as .docx"
LEGACY_SLIDES = "a legacy PowerPoint presentation (.ppt): save it as .pptx"
LEGACY_OFFICE = "a legacy Office document: save it in a format of today, such as .docx"
ENCRYPTED_OFFICE = "an encrypted Office document"

_SIGNATURES = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"8BPS", "a Photoshop image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"!<arch>\n", "an ar archive"),
    (b"\x7fELF", "a program"),
    (b"\xca\xfe\xba\xbe", "a Java class or program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\x00asm", "a WebAssembly module"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"OggS", "an Ogg recording"),
    (b"ID3", "an MP3 recording"),
    (b"fLaC", "a FLAC recording"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"{\\rtf", RTF),
    (b"%!PS", "a PostScript document"),
    (b"begin 644 ", "a uuencoded file"),
    (b"BEGIN:VCARD", "a vCard"),
    (b"BEGIN:VCALENDAR", "a calendar"),
)
_ZIP_MEMBERS = (
    (b"word/", DOCX),
    (b"ppt/", PPTX),
    (b"xl/", XLSX),
    (b"META-INF/MANIFEST.MF", "a Java archive"),
    (b"mimetype", ""),  # what stands in it
)
_MIMETYPES = (
    (EPUB, EPUB),
    (ODS, ODS),
    (ODP, ODP),
    (ODT, ODT),
    ("application/vnd.oasis.opendocument", "an OpenDocument file"),
)
_BY_LOST_NAME = {
    **dict.fromkeys((".docx", ".docm", ".dotx"), DOCX),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb"), XLSX),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".potx"), PPTX),
    **dict.fromkeys((".odt", ".ott"), ODT),
    **dict.fromkeys((".odp", ".otp"), ODP),
    ".ods": ODS,
    ".epub": EPUB,
}
_STREAMS = (
    ("EncryptedPackage", ENCRYPTED_OFFICE),
    ("__nameid_version1.0", MSG),
    ("__properties_version1.0", MSG),
    ("Workbook", XLS),
    ("Book", XLS),
    ("WordDocument", LEGACY_WORD),
    ("PowerPoint Document", LEGACY_SLIDES),
)
_OPEN_DOCUMENT = ("application/vnd.oasis", "an OpenDocument")
_UNREADABLE = (zipfile.BadZipFile, zlib.error, LookupError, NotImplementedError, RuntimeError, ValueError, OSError)
_SECTOR_BYTES = 512  # streams of a compound file start at a multiple of it
MAX_MANIFEST_BYTES = 1024 * 1024
_PDF_OBJECT = re.compile(rb"\bendobj\s")  # is left where the beginning of a PDF is lost
_SUBTITLES = re.compile(r"WEBVTT(?:[ \t\n\r]|\Z)|\d{1,6}[ \t]*\r?\n[ \t]*\d{1,3}:\d\d:\d\d(?:[,.]\d{1,3})? --> ")
_CUE = re.compile(r"^[ \t]*(?:\d{1,3}:)?\d\d?:\d\d(?:[,.]\d{1,3})? --> ", re.MULTILINE)
_MAIL_FIELD = re.compile(r"[A-Za-z][!-9;-~]{0,75}:(?=\s)")
_ANY_FIELD = re.compile(r"[^\s:>][^:\n]{0,75}:")
_MAIL_START = re.compile(r">*From [^\n]{0,500}")  # the line between the messages of a mailbox file
_MAILBOX = re.compile(rf"(?:{_MAIL_START.pattern}\n)+" + _MAIL_FIELD.pattern)
_MAIL_MARKS = frozenset({"mime-version", "message-id", "received", "return-path", "delivered-to", "x-mailer"})
_MAIL_HEAD_LINES = 60
_PROLOG = re.compile(
    r"[\ufeff\s]*(<!--|<\?[^>]*>|<!DOCTYPE\s+(?:[\w-]+:)?(?:rss|rdf|feed)[^>\[]*(?:\[[^\]]{0,65536}\]\s*)?>)\s*",
    re.IGNORECASE,
)
_RSS = re.compile(r"\s*<(?:[\w-]+:)?(?:rss[\s>]|RDF\s[^>]*(?:purl\.org/rss/|netscape\.com/rdf/simple))")
_ATOM = re.compile(r"\s*<(?:[\w-]+:)?feed\s[^>]*(?:w3\.org/2005/Atom|purl\.org/atom/ns)")
_JSON_FEED = re.compile(r"\s*\{[^{}\[\]]{0,2000}\"version\"\s*:\s*\"https?:(?:\\?/){2}jsonfeed\.org(?:\\?/)version")
_MARKDOWN_MARKS = (
    r"^#{1,6} \S",
    r"\[[^\]\n]{1,200}\]\([^)\s]{1,500}\)",
    r"^(?:```|~~~)",
    r"^\|?(?: {0,9}:?-{3,}:? {0,9}\|)+",
    r"^[*+-] \S.*\n[*+-] \S",
)


def suffix_of(name: str) -> str:
    """The suffix of a path in lower case, with its dot; empty without one.

    >>> suffix_of("a.b/Notes.MD"), suffix_of("a.b/README"), suffix_of(".env")
    ('.md', '', '')
    """
    stem, dot, suffix = name.rpartition("/")[2].rpartition(".")
    return f"{dot}{suffix}".lower() if stem else ""


def binary_format(body: bytes, name: str) -> str | None:
    r"""A media type that is read, or a phrase that names another format by its bytes; None for what may be text.

    >>> binary_format(b"%PDF-1.7 ...", "a.txt"), binary_format(b"{\\rtf1", "a.txt"), binary_format(b"# Text", "a.pdf")
    ('application/pdf', 'application/rtf', None)
    """
    suffix = suffix_of(name)
    head = body[:1_024].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if head.startswith(b"%PDF-") or (suffix == ".pdf" and (b"%PDF-" in head or _PDF_OBJECT.search(body))):
        return PDF
    if body.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_format(body, suffix)
    if body.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _compound_format(body, suffix)
    if body[257:262] == b"ustar":
        return "a tar archive"
    if body[4:8] == b"ftyp":
        return "a video or a photograph"
    if body.startswith(b"RIFF") and body[8:12] in {b"WAVE", b"AVI ", b"WEBP"}:
        return "a recording or an image"
    return next((phrase for signature, phrase in _SIGNATURES if head.startswith(signature)), None)


def _zip_format(body: bytes, suffix: str) -> str:
    """By the names of its parts, which a broken directory at its end leaves readable in the file's own headers.

    A damaged archive may have lost them: then its name says what it was.  A whole one of another kind is an archive.
    """
    lost = ARCHIVE
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = [name.encode("utf-8", "replace") for name in archive.namelist()]
        found = [(0, kind) for mark, kind in _ZIP_MEMBERS if any(name.startswith(mark) for name in names)]
        lost = _BY_LOST_NAME.get(suffix, ARCHIVE) if (0, "") in found else ARCHIVE
    except _UNREADABLE:
        found = [(place, kind) for mark, kind in _ZIP_MEMBERS if (place := body.find(mark)) >= 0]
        lost = _BY_LOST_NAME.get(suffix, ARCHIVE)
    kind = min(found, default=(0, lost), key=lambda each: each[0])[1] or _mimetype(body, lost)
    return ENCRYPTED_OFFICE if kind.startswith(_OPEN_DOCUMENT) and _names_encryption(body) else kind


def _mimetype(body: bytes, lost: str) -> str:
    """The content of the part `mimetype`, the first one and not packed; *lost* if it is not known."""
    start = body.find(b"mimetype") + len("mimetype")
    stated = body[start : start + 200]
    return next((kind for name, kind in _MIMETYPES if name.encode() in stated), lost)


def _names_encryption(body: bytes) -> bool:
    """Whether the manifest of an OpenDocument file says that its parts are encrypted."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive, archive.open("META-INF/manifest.xml") as manifest:
            return b":encryption-data" in manifest.read(MAX_MANIFEST_BYTES)
    except _UNREADABLE:
        return False


def _compound_format(body: bytes, suffix: str) -> str:
    kind = _kind_of_streams(body)
    if kind == MSG:  # an attachment may be encrypted, and is read as a file later
        return kind
    for start in range(0, len(body), _SECTOR_BYTES):
        head = body[start : start + 64]
        # Word's first block has a flag for encryption; in a workbook a record for the password follows the first one.
        if head.startswith(b"\xec\xa5") and len(head) > 11 and head[11] & 1:
            return ENCRYPTED_OFFICE
        if head.startswith(b"\x09\x08") and head[4 + head[2] :].startswith(b"\x2f\0"):
            return ENCRYPTED_OFFICE
    return kind or {".xls": XLS, ".msg": MSG}.get(suffix, LEGACY_OFFICE)  # its name says what it was


def _kind_of_streams(body: bytes) -> str | None:
    """By the parts of a compound file: its own come first in the directory, those of attachments follow."""
    size = 1 << min(int.from_bytes(body[30:32], "little"), 12)
    directory = (int.from_bytes(body[48:52], "little") + 1) * size
    names = [(name.encode("utf-16-le"), kind) for name, kind in _STREAMS]
    for start in (directory, 0):
        found = [(place, kind) for name, kind in names if (place := body.find(name, start)) >= 0]
        if found:
            return min(found)[1]
    return None


def other_text_format(text: str) -> str | None:
    r"""The media type of mail, a feed, RTF or subtitles, or a phrase that names a format not read; None for the rest.

    >>> other_text_format("From: a@b.c\nMIME-Version: 1.0\nSubject: x\n\nHello")
    'message/rfc822'
    >>> other_text_format("Subject: the pump\n\nIt leaks.") is None
    True
    """
    head = text[:16_384].lstrip("\ufeff \t\r\n")
    if _is_mail(head):
        return MBOX if head.startswith("From ") else EML
    if _SUBTITLES.match(head):
        return VTT
    if feed := feed_type(head):
        return feed
    if re.match(r"(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]", first_markup(text)):
        return "an SVG image"
    encoded = head.encode("utf-8", "replace")
    return next((phrase for signature, phrase in _SIGNATURES if encoded.startswith(signature)), None)


def starts_as_named(text: str, kind: str) -> bool:
    r"""Whether a text that is named as mail, as a mailbox or as subtitles begins with a field or a time.

    >>> starts_as_named("Subject: pump\n\nIt leaks.", "mail"), starts_as_named("It leaks.", "mail")
    (True, False)
    >>> starts_as_named("00:01.000 --> 00:02.000\nIt leaks.", "subtitles")
    True
    """
    head = text[:16_384].lstrip("\ufeff \t\r\n")
    if kind == "subtitles":
        return bool(_CUE.search(head))
    return bool(_MAILBOX.match(head) or (kind == "mail" and _MAIL_FIELD.match(head)))


def _is_mail(head: str) -> bool:
    """Whether *head* begins with fields of a mail; lines that separate mails, and odd names, do not count."""
    names: list[str] = []
    for line in head.splitlines()[:_MAIL_HEAD_LINES]:
        if not line.strip():
            break
        if _MAIL_START.match(line):
            continue
        found = _ANY_FIELD.match(line)
        if found:
            names.append(found.group()[:-1].strip().lower())
        elif not (names and line[0] in " \t"):
            return False
    marked = _MAIL_MARKS & set(names) or (head.startswith("From ") and "@" in head.partition("\n")[0])
    return len(names) >= 3 and bool(marked) and bool({"from", "to", "subject"} & set(names))


def feed_type(text: str) -> str | None:
    """The media type of a feed whose XML or JSON begins *text*; None for any other text.

    >>> feed_type('<?xml version="1.0"?><?xml-stylesheet href="a.xsl"?><rss version="2.0">'), feed_type("<a><rss>")
    ('application/rss+xml', None)
    """
    at = 0
    while found := _PROLOG.match(text, at):
        at = found.end()
        if found[1] == "<!--":
            at = text.find("-->", at)
            if at < 0:
                return None
            at += 3
    if _JSON_FEED.match(text, at):
        return JSON_FEED
    return RSS if _RSS.match(text, at) else ATOM if _ATOM.match(text, at) else None


def declares_entities(text: str) -> bool:
    r"""Whether an XML text defines entities out of other entities, as bombs do.

    >>> declares_entities('<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]><a>&c;</a>')
    True
    """
    return bool(re.search(r"<!ENTITY\s[^>]{0,200}[\"'][^\"'>]{0,400}&\w+;", text[:65_536]))


def first_markup(text: str) -> str:
    r"""The text behind an XML declaration and comments; empty in an open comment.

    Comments are stepped over one by one: a pattern that repeats them takes time exponential in their number.

    >>> first_markup('<?xml version="1.0"?>\n<!-- a --><!-- b -->\n<html>'), first_markup("<!-- and so on")
    ('<html>', '')
    """
    declared = re.match(r"[\ufeff\s]*(?:<\?xml[^>]*>\s*)?", text)
    at = declared.end() if declared else 0
    while text.startswith("<!--", at):
        end = text.find("-->", at + 4)
        if end < 0:
            return ""
        at = end + 3
        while text[at : at + 1].isspace():
            at += 1
    return text[at:]


def looks_like_html(text: str, name: str) -> bool:
    r"""Whether *text* starts as an HTML page, or is named so and has tags, or nothing but an open comment.

    >>> looks_like_html("<!doctype html><p>a", "a.txt"), looks_like_html("# Title", "a.html")
    (True, False)
    """
    head = first_markup(text)
    if re.match(r"<!doctype\s+html|<html[\s>]", head, re.I):
        return True
    if suffix_of(name) not in {".html", ".htm", ".xhtml"}:
        return False
    return not head or re.search(r"<[a-z][a-z0-9]*[\s/>]", head, re.I) is not None


def looks_like_markdown(text: str) -> bool:
    r"""Whether a text is Markdown: front matter, or two marks that prose does not have.

    >>> looks_like_markdown("# Pump\n\nSee [the manual](manual.md)."), looks_like_markdown("# a comment\nx=1")
    (True, False)
    """
    head = text[:16_384]
    found = sum(bool(re.search(mark, head, re.MULTILINE)) for mark in _MARKDOWN_MARKS)
    return found > 1 or re.match(r"---\s*\n\w+\s*:|\+\+\+\s*\n\w+\s*=", head) is not None


Kind: TypeAlias = str
"""A key of FORMATS."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format."""

    title: str  # its name on pages and in messages
    reader: str  # module of this package and function, which takes the bytes
    suffixes: tuple[str, ...] = ()  # names that decide if bytes leave a choice, or that say what damaged bytes were
    media_types: tuple[str, ...] = ()  # those that its bytes show
    is_binary: bool = False  # whether bytes of no text are expected
    is_named: bool = False  # whether the function takes the document's path, too


FORMATS: dict[Kind, Format] = {
    "markdown": Format("Markdown", "text:read_markdown", (".md", ".markdown", ".mdown", ".mkd", ".mdx")),
    "text": Format("text", "text:read_text", (".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex")),
    "html": Format("HTML", "html:read_html", (".html", ".htm", ".xhtml")),
    "pdf": Format("PDF", "pages.pdf:read_pdf", (".pdf",), (PDF,), is_binary=True),
    "docx": Format("DOCX", "office.docx:read_docx", (".docx", ".docm", ".dotx"), (DOCX,), is_binary=True),
    "spreadsheet": Format(
        "XLSX, XLS and ODS",
        "office.spreadsheet:read_spreadsheet",
        (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
        (XLSX, XLS, ODS),
        is_binary=True,
    ),
    "presentation": Format(
        "PPTX", "office.presentation:read_presentation", (".pptx", ".pptm", ".ppsx", ".potx"), (PPTX,), is_binary=True
    ),
    "opendocument": Format(
        "ODT and ODP",
        "office.opendocument:read_opendocument",
        (".odt", ".ott", ".odp", ".otp"),
        (ODT, ODP),
        is_binary=True,
    ),
    "rtf": Format("RTF", "office.rtf:read_rtf", (".rtf",), (RTF,)),
    "epub": Format("EPUB", "epub:read_epub", (".epub",), (EPUB,), is_binary=True),
    "mail": Format("EML", "mail:read_mail", (".eml",), (EML,)),
    "mailbox": Format("MBOX", "mail:read_mailbox", (".mbox", ".mbx"), (MBOX,)),
    "outlook": Format("MSG", "outlook:read_outlook", (".msg",), (MSG,), is_binary=True),
    "subtitles": Format("VTT and SRT", "records:read_subtitles", (".vtt", ".srt"), (VTT,)),
    "feed": Format("RSS and Atom", "feed:read_feed", (".rss", ".atom"), (RSS, ATOM, JSON_FEED)),
    "code": Format("source code", "code:read_code", is_named=True),
    "json": Format("JSON", "records:read_json", (".json", ".geojson", ".webmanifest", ".ipynb")),
    "jsonl": Format("JSON Lines", "records:read_json_lines", (".jsonl", ".ndjson")),
    "csv": Format("CSV", "records:read_csv", (".csv", ".tsv")),
}
BY_SUFFIX = {suffix: kind for kind, each in FORMATS.items() for suffix in each.suffixes}
BY_MEDIA_TYPE = {media_type: kind for kind, each in FORMATS.items() for media_type in each.media_types}


def titles() -> str:
    """All formats in one phrase, for messages."""
    return ", ".join(each.title for each in FORMATS.values())


def read_here(kind: Kind, body: bytes, name: str) -> ParsedDocument:
    """Read *body* in this process, without limits of time and memory; raises ReadError if it cannot be read.

    The module of the format is imported at its first file.
    """
    known = FORMATS[kind]
    module, _, function = known.reader.partition(":")
    read = cast("Callable[..., ParsedDocument]", getattr(import_module(f"readers.{module}"), function))
    return read(body, name) if known.is_named else read(body)
