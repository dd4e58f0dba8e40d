"""Open packed documents (Office, OpenDocument, EPUB) with limits, and read their XML without entities."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from posixpath import dirname, join, normpath
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from readers.read_errors import CorruptFileError, EncryptedFileError, UnsafeFileError

MAX_PART_BYTES = 64 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_RATIO = 200  # the most that Office's own files reach is about 30
MAX_PARTS = 10_000
MAX_DEPTH = 200
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ENTITY = re.compile(rb"<\0?!\0?E\0?N\0?T\0?I\0?T\0?Y")
BROKEN = (zipfile.BadZipFile, zlib.error, LookupError, ValueError, OSError, NotImplementedError, EOFError)


class Package:
    """A ZIP archive of parts; messages call it *what*, such as `the presentation`."""

    def __init__(self, body: bytes, what: str) -> None:
        self.what = what
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(body))
        except BROKEN as exc:
            message = f"{what} is damaged or not whole ({type(exc).__name__}); open it in its program and save it again"
            raise CorruptFileError(message) from exc
        self._check(self._archive.infolist())
        self.names = frozenset(self._archive.namelist())
        self.damaged: set[str] = set()  # parts that were asked for and could not be read

    def _check(self, parts: list[zipfile.ZipInfo]) -> None:
        if any(part.flag_bits & 1 for part in parts):
            raise EncryptedFileError("the document wants a password; save it without one")
        total = sum(part.file_size for part in parts)
        largest = max((part.file_size for part in parts), default=0)
        large = (part for part in parts if part.file_size > 1_000_000)
        worst = max((part.file_size / max(part.compress_size, 1) for part in large), default=0)
        if largest > MAX_PART_BYTES or total > MAX_TOTAL_BYTES or worst > MAX_RATIO or len(parts) > MAX_PARTS:
            raise UnsafeFileError(
                f"it unpacks to {total} bytes in {len(parts)} parts", limit_bytes=MAX_TOTAL_BYTES, size_bytes=total
            )

    def read(self, name: str) -> bytes | None:
        """The bytes of a part; None if there is no such part or it is damaged."""
        try:
            return self._archive.read(name)
        except BROKEN:
            self.damaged |= {name} & self.names
            return None
        except RuntimeError as exc:  # what zipfile raises for a part that wants a password
            raise EncryptedFileError("the document wants a password; save it without one") from exc

    def size_bytes(self, name: str) -> int:
        """How large a part unpacks; 0 if there is none."""
        return self._archive.getinfo(name).file_size if name in self.names else 0

    def xml(self, name: str) -> Element | None:
        """The root of a part; None if there is no such part or it is no XML."""
        body = self.read(name)
        root = None if body is None else parse_xml(body, name)
        self.damaged |= {name} & self.names if root is None else set()
        return root

    def refuse_entities(self) -> None:
        """Refuse an archive with entities in the first 64 KB of an XML part, for libraries that parse the parts."""
        for name in sorted(self.names):
            if name.endswith((".xml", ".rels")):
                try:
                    with self._archive.open(name) as opened:
                        head = opened.read(65_536)
                except BROKEN as exc:
                    message = f"a part of {self.what} cannot be unpacked; open it in its program and save it again"
                    raise CorruptFileError(message) from exc
                if _ENTITY.search(head):
                    raise UnsafeFileError(f"its part {name[:100]!r} defines XML entities")

    def needed(self, name: str) -> Element:
        """The root of a part without which there is no document."""
        root = self.xml(name)
        if root is None:
            raise CorruptFileError(f"{self.what} has no readable part {name}; open it in its program and save it again")
        return root

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """What *part* refers to inside the package: the last word of the kind and the name of the part, by id.

        Parts outside the package are never followed.
        """
        root = self.xml(f"{dirname(part)}/_rels/{part.rpartition('/')[2]}.rels".lstrip("/"))
        found = {}
        for each in root if root is not None else ():
            if each.get("TargetMode") != "External":
                target = each.get("Target", "")
                name = target.lstrip("/") if target.startswith("/") else normpath(join(dirname(part), target))
                found[each.get("Id", "")] = (each.get("Type", "").rpartition("/")[2], name)
        return found


def parse_xml(body: bytes, name: str) -> Element | None:
    """The root of an XML text; None if it is none.

    >>> parse_xml(b"<a><b/></a>", "a.xml").tag, parse_xml(b"<a>", "a.xml")
    ('a', None)
    """
    if _ENTITY.search(body):
        raise UnsafeFileError(f"its part {name[:100]!r} defines XML entities")
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - no entities, and nothing is fetched
    except (ElementTree.ParseError, ValueError, LookupError):
        return None
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise UnsafeFileError(f"its part {name[:100]!r} is nested deeper than {MAX_DEPTH} elements")
        level = [child for node in level for child in node]
    return root


def local(node: Element) -> str:
    """The name of an element without its namespace."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def attribute(node: Element, name: str) -> str:
    """The attribute of this name in whatever namespace, else empty."""
    return next((value for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")


def integer(text: str, usual: int = 0) -> int:
    """The number that *text* consists of; *usual* for any other text."""
    return int(text[:9]) if text.isdecimal() else usual


def below(node: Element, name: str) -> Iterator[Element]:
    """All elements of this name under *node*, in order, in whatever namespace."""
    return (each for each in node.iter() if local(each) == name)


def child(node: Element | None, *path: str) -> Element | None:
    """The first element down this path of names; None without one."""
    for name in path:
        node = None if node is None else next((each for each in node if local(each) == name), None)
    return node
