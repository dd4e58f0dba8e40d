"""EPUB: the chapters in reading order, each read as the page of HTML that it is."""

from collections.abc import Iterator
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from readers.formats import EPUB
from readers.html import read_html
from readers.markdown_writer import MarkdownWriter, first_twenty, one_line
from readers.office.package import Package, attribute, below, child
from readers.parsed import ParsedDocument
from readers.read_errors import CorruptFileError, EmptyFileError, EncryptedFileError, refuse_over

MAX_CHAPTERS = 5_000
_FONTS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
_NO_PAGES = ("image/", "audio/", "video/")


def read_epub(body: bytes) -> ParsedDocument:
    """Read a book; its title is its first heading, and every file of it a chapter."""
    package = Package(body, "the book")
    _refuse_encrypted(package)
    root, folder = _contents(package)
    parts = list(_chapters(root, folder))
    if not parts:
        raise CorruptFileError("the book lists no chapters")
    refuse_over(MAX_CHAPTERS, len(parts), "chapters", "the book")
    writer = MarkdownWriter()
    title = _title(root)
    authors = [one_line("".join(each.itertext())) for each in below(root, "creator")]
    writer.heading(1, title)
    writer.block(", ".join(filter(None, authors)))
    start = writer.length
    warnings: list[str] = []
    missing: list[int] = []
    for number, part in enumerate(parts, start=1):
        page = package.read(part)
        if page is None:
            missing.append(number)
            continue
        try:
            chapter = read_html(page)
        except EmptyFileError:
            continue
        warnings += chapter.warnings
        writer.place(f"chapter {number}")
        writer.add(chapter, below=1)
    if missing and writer.length == start:
        raise CorruptFileError("no chapter of the book can be read")
    if writer.length == start:
        raise EmptyFileError("there is no text in this book")
    if missing:
        shown = first_twenty(missing)
        warnings.append(f"{len(missing)} of {len(parts)} chapters cannot be read and are left out: {shown}")
    return writer.document(EPUB, warnings=[*warnings, *_left_out(package)])


def _contents(package: Package) -> tuple[Element, str]:
    """The package document that lists the chapters, and its folder."""
    container = package.xml("META-INF/container.xml")
    named = [attribute(each, "full-path") for each in below(container, "rootfile")] if container is not None else []
    named += sorted(name for name in package.names if name.endswith(".opf"))
    for name in named:
        root = package.xml(name)
        if root is not None:
            return root, dirname(name)
    raise CorruptFileError("the book has no readable list of its contents; export it again")


def _title(root: Element) -> str:
    """The title of a book: of several the one that is called the main one, else the first."""
    main = {attribute(each, "refines")[1:] for each in below(root, "meta") if (each.text or "").strip() == "main"}
    titles = sorted(below(root, "title"), key=lambda each: attribute(each, "id") not in main)
    return one_line(" ".join(titles[0].itertext())) if titles else ""


def _chapters(root: Element, folder: str) -> Iterator[str]:
    """The parts of the spine in order."""
    manifest, spine = child(root, "manifest"), child(root, "spine")
    items = {attribute(each, "id"): each for each in manifest} if manifest is not None else {}
    for each in spine if spine is not None else ():
        item = items.get(attribute(each, "idref"), each)
        is_page = not attribute(item, "media-type").startswith(_NO_PAGES)
        if is_page and "nav" not in attribute(item, "properties").split():
            yield normpath(join(folder, unquote(attribute(item, "href").partition("#")[0])))


def _refuse_encrypted(package: Package) -> None:
    """Refuse a book with encrypted parts; disguised fonts are allowed."""
    root = package.xml("META-INF/encryption.xml")
    methods = {attribute(each, "Algorithm") for each in below(root, "EncryptionMethod")} if root is not None else set()
    if "META-INF/rights.xml" in package.names or methods - _FONTS:
        raise EncryptedFileError("the book is protected against copying; ask its publisher for a copy that is not")


def _left_out(package: Package) -> Iterator[str]:
    pictures = sum(name.lower().endswith((".jpg", ".jpeg", ".png", ".gif", ".svg", ".webp")) for name in package.names)
    if pictures:
        yield f"{pictures} pictures of the book are left out"
