"""RSS, Atom and JSON Feed: each entry under its title, with its link, date and author, its content read as HTML."""

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from readers.formats import ATOM, JSON_FEED, RSS
from readers.html import read_html
from readers.mail_headers import date_of
from readers.markdown_writer import MarkdownWriter, one_line
from readers.office.package import attribute, child, local
from readers.parsed import ParsedDocument, WrittenLink
from readers.read_errors import CorruptFileError, EmptyFileError, UnsafeFileError
from readers.text_decoding import clean, decode

MAX_DEPTH = 200
_DECLARATION = re.compile(r"\A[\ufeff\s]*(?:<\?xml[^>]*\?>)?")
_ENTITY = re.compile(r"<!ENTITY", re.IGNORECASE)
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);|#\w{1,8};)(?:\w{2,31};)?")
_TAG = re.compile(  # that some feeds escape into a title
    r"</?(?:a|b|i|u|s|p|em|tt|br|h\d|q|sub|sup|img|div|del|ins|code|span|font|mark|cite|small|strong)\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
_ANY_TAG = re.compile(r"<[^<>]{0,2000}>")
_MEDIA = "{http://search.yahoo.com/mrss/}"
_DATES = ("pubDate", "published", "updated", "date", "issued", "modified", "lastBuildDate")
_CONTENTS = ("encoded", "content", "description", "summary")


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry, or the feed itself; *content* is HTML unless it is *plain*."""

    title: str
    link: str = ""
    date: str = ""
    authors: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    content: str = ""
    plain: bool = False


def read_feed(body: bytes) -> ParsedDocument:
    """Read the entries of a feed; those before the place where its XML is damaged, with a warning."""
    text, warnings = decode(body)
    notes = list(warnings)
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return _document(JSON_FEED, *_of_json(text), notes)
    root, damage = _root(text)
    if root is None:
        raise CorruptFileError(f"the feed is no XML ({damage}); save it again")
    if damage:
        notes.append(f"the feed is truncated or damaged ({damage}); entries behind that place are missing")
    channel = child(root, "channel")
    items = [each for each in root.iter() if local(each) in {"item", "entry"}]
    media_type = ATOM if local(root) == "feed" else RSS
    return _document(media_type, _of_xml(root if channel is None else channel), map(_of_xml, items), notes)


def _document(media_type: str, feed: _Entry, entries: Iterable[_Entry], warnings: list[str]) -> ParsedDocument:
    writer = MarkdownWriter()
    links: list[WrittenLink] = []
    writer.heading(1, feed.title)
    _write(feed, writer, links, warnings, level=1)
    for number, entry in enumerate(entries, start=1):
        writer.place(f"entry {number}")
        writer.heading(2, entry.title or entry.link or f"Entry {number}")
        _write(entry, writer, links, warnings, level=2)
    return writer.document(media_type, links=links, warnings=warnings, metadata={"date": date_of(feed.date)})


def _write(entry: _Entry, writer: MarkdownWriter, links: list[WrittenLink], warnings: list[str], *, level: int) -> None:
    authors, topics = ", ".join(dict.fromkeys(entry.authors)), ", ".join(dict.fromkeys(entry.topics))
    date = date_of(entry.date) or entry.date
    facts = (("Link", entry.link), ("Date", date), ("Author", authors), ("Topics", topics))
    writer.block("\n".join(f"{name}: {one_line(value)}" for name, value in facts if value))
    if entry.link:
        links.append(WrittenLink.cut(entry.link, entry.title))
    if entry.plain or not ("<" in entry.content or "&" in entry.content):
        writer.block(entry.content.strip())
        return
    try:
        page = read_html(b"\xef\xbb\xbf" + entry.content.encode("utf-8", "replace"))
    except EmptyFileError:
        return
    warnings += page.warnings
    links += page.links
    writer.add(page, below=level)


def _root(text: str) -> tuple[Element | None, str]:
    """The root of the XML that can be read, and what is wrong with the rest, if anything."""
    if _ENTITY.search(text):
        raise UnsafeFileError("the feed defines XML entities")
    parser: ElementTree.XMLPullParser[Any] = ElementTree.XMLPullParser(("start", "end"))
    root: Element | None = None
    depth, damage = 0, ""
    try:
        parser.feed(_NAMED.sub(_character, clean(_DECLARATION.sub("", text, count=1))))
        parser.close()
    except ElementTree.ParseError as exc:
        damage = str(exc)
    try:
        for event in parser.read_events():
            kind, node = cast("tuple[str, Element]", event)
            root = node if root is None else root
            depth += 1 if kind == "start" else -1
            if depth > MAX_DEPTH:
                raise UnsafeFileError(f"the feed is nested deeper than {MAX_DEPTH} elements", limit_depth=MAX_DEPTH)
    except ElementTree.ParseError as exc:
        damage = str(exc)
    return root, damage


def _character(found: re.Match[str]) -> str:
    """Replace a named character of HTML, which XML does not have; escape any other ampersand."""
    text = html.unescape(found.group())
    return text if text != found.group() and text not in {"<", "&", ">"} else "&amp;" + found.group()[1:]


def _of_xml(node: Element) -> _Entry:
    parts: dict[str, list[Element]] = {}
    own = [each for each in node if not str(each.tag).startswith(_MEDIA)]
    media = (each for group in node if str(group.tag).startswith(_MEDIA) for each in group.iter())
    for each in (*own, *(each for each in media if local(each) in {"title", "description"})):
        parts.setdefault(local(each), []).append(each)
    contents = [parts[name][0] for name in _CONTENTS if name in parts and _markup(parts[name][0]).strip()]
    saying = (each for each in contents if _ANY_TAG.sub("", _markup(each)).strip())
    written = next(saying, contents[0] if contents else None)
    people = [each for name in ("author", "creator") for each in parts.get(name, ())]
    authors = (each if (name := child(each, "name")) is None else name for each in people)
    kinds = [each for name in ("category", "subject") for each in parts.get(name, ())]
    topics = (attribute(each, "term") or _words(each) for each in kinds)
    return _Entry(
        title=_title(parts.get("title", [])),
        link=_link(parts),
        date=next((text for name in _DATES for each in parts.get(name, ()) if (text := _words(each))), ""),
        authors=tuple(filter(None, map(_words, authors))),
        topics=tuple(filter(None, topics)),
        content="" if written is None else _markup(written),
        plain=written is not None
        and local(written) in {"content", "summary"}
        and attribute(written, "type") in {"", "text", "text/plain"},
    )


def _markup(node: Element) -> str:
    """The content of an element: escaped HTML as text, or elements of XHTML."""
    if len(node) == 0:
        return node.text or ""
    for each in node.iter():
        each.tag = local(each)
    inner = "".join(ElementTree.tostring(each, "unicode", "html") for each in node)
    return html.escape(node.text or "") + inner


def _words(node: Element) -> str:
    return one_line("".join(node.itertext()))


def _title(nodes: Iterable[Element]) -> str:
    """A title without the mark-up that some feeds escape into it."""
    return next((text for node in nodes if (text := one_line(html.unescape(_TAG.sub("", _words(node)))))), "")


def _link(parts: dict[str, list[Element]]) -> str:
    """The address of the page of an entry: RSS has it as text, Atom as an attribute of the link to the alternate."""
    for each in parts.get("link", ()):
        target = (attribute(each, "href") or _words(each)).strip()
        if target and attribute(each, "rel") in {"", "alternate"}:
            return target
    guid = next(iter(parts.get("guid", ())), None)
    target = "" if guid is None or attribute(guid, "isPermaLink") == "false" else _words(guid)
    return target if target.startswith(("http://", "https://")) else ""


def _of_json(text: str) -> tuple[_Entry, Iterator[_Entry]]:
    try:
        feed = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as exc:
        raise CorruptFileError(f"the feed is no JSON ({type(exc).__name__}); save it again") from exc
    items = feed.get("items")
    entries = (each for each in (items if isinstance(items, list) else ()) if isinstance(each, dict))
    return _of_record(feed), map(_of_record, entries)


def _of_record(record: dict[str, Any]) -> _Entry:
    def text(*names: str) -> str:
        return next((value for name in names if isinstance(value := record.get(name), str) and value.strip()), "")

    authors = record.get("authors") or [record.get("author")]
    named = (each.get("name") for each in authors if isinstance(each, dict)) if isinstance(authors, list) else ()
    topics = record.get("tags")
    page = text("content_html")
    return _Entry(
        title=one_line(text("title")),
        link=text("url", "external_url", "home_page_url"),
        date=text("date_published", "date_modified"),
        authors=tuple(name for name in named if isinstance(name, str)),
        topics=tuple(map(str, topics)) if isinstance(topics, list) else (),
        content=page or text("content_text", "summary", "description"),
        plain=not page,
    )
