"""MSG by olefile: Outlook's properties of a message, its recipients and its attachments."""

import datetime
import struct
from collections.abc import Iterator

from olefile import OleFileIO

from readers.formats import MSG
from readers.mail import Attachment, Mail, MailWriter
from readers.office.rtf import read_rtf
from readers.parsed import ParsedDocument
from readers.read_errors import CorruptFileError, ReadError
from readers.text_decoding import clean, encoding_of_label

MAX_ATTACHMENTS = 200
MAX_DEPTH = 3
MAX_RTF_BYTES = 16 * 1024 * 1024
_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error, OverflowError)
_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)
# Property tags of [MS-OXPROPS], as the names of streams spell them.
SUBJECT, BODY, HTML, RTF = "0037", "1000", "1013", "1009"
SENDER, SENDER_ADDRESS, SENDER_SMTP, TO, CC = "0C1A", "0C1F", "5D01", "0E04", "0E03"
FILE, LONG_FILE, DATA = "3704", "3707", "3701"
SENT, RECEIVED, CODE_PAGE = 0x0039_0040, 0x0E06_0040, 0x3FFD_0003
_CODE_PAGES = {  # of Windows, that Python has under other names
    936: "gbk",
    20127: "us-ascii",
    20866: "koi8-r",
    21866: "koi8-u",
    **{28590 + part: f"iso-8859-{part}" for part in range(1, 16)},
    50220: "iso-2022-jp",
    51932: "euc-jp",
    51949: "euc-kr",
    54936: "gb18030",
    65001: "utf-8",
}
_RTF_START = (  # what the compression of [MS-OXRTFCP] takes as known
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def read_outlook(body: bytes) -> ParsedDocument:
    """Read a message; its attachments are sections of its text, its senders and its date are metadata."""
    try:
        with OleFileIO(body) as file:
            if not file.exists("__properties_version1.0"):
                raise CorruptFileError("the Outlook message is damaged; save it again, or as .eml")
            mail = _Storage(file, []).mail(0)
            damaged = bool(file.parsing_issues)
    except _BROKEN as exc:
        message = f"the Outlook message cannot be read ({type(exc).__name__}); save it again, or as .eml"
        raise CorruptFileError(message) from exc
    if damaged and mail.is_bare:
        raise CorruptFileError("the Outlook message is damaged, and no text could be read; save it again")
    written = MailWriter()
    if damaged:
        written.warnings.append("the Outlook message is damaged; text may be missing")
    written.write(mail)
    return written.document(MSG, mail)


class _Storage:
    """A folder of the compound file: the message itself, or one that is attached."""

    def __init__(self, file: OleFileIO, path: list[str]) -> None:
        self._file, self._path = file, path
        self._numbers = dict(self._fixed(32 if not path else 24))

    def mail(self, depth: int) -> Mail:
        """The message in this folder."""
        sender, address = self._text(SENDER), self._text(SENDER_SMTP) or self._text(SENDER_ADDRESS)
        shown = f"{sender} <{address}>" if sender and "@" in address and address not in sender else sender or address
        sent = _time(self._numbers.get(SENT) or self._numbers.get(RECEIVED))
        headers = (("From", shown), ("To", self._text(TO)), ("Cc", self._text(CC)), ("Date", sent or ""))
        html, plain = self._bytes(HTML, "0102") or self._text(HTML).encode(), self._text(BODY)
        warnings: list[str] = []
        if not plain.strip() and not html.strip():
            plain = self._of_rtf(warnings)
        attachments = tuple(self._attachments(depth))
        return Mail(self._text(SUBJECT), headers, plain, html, attachments, sent, 0, tuple(warnings))

    def _attachments(self, depth: int) -> Iterator[Attachment]:
        level = len(self._path)
        entries = self._file.listdir(streams=True, storages=True)
        inside = (each[level] for each in entries if each[:level] == self._path and each[level:])
        found = {name for name in inside if name.startswith("__attach_version1.0_#")}
        for name in sorted(found)[:MAX_ATTACHMENTS]:
            path = [*self._path, name]
            part = _Storage(self._file, path)
            shown = part._text(LONG_FILE) or part._text(FILE) or part._text("3001")
            embedded = [*path, f"__substg1.0_{DATA}000D"]
            if self._file.exists("/".join([*embedded, "__properties_version1.0"])):
                if depth < MAX_DEPTH:
                    yield Attachment(shown or "mail", mail=_Storage(self._file, embedded).mail(depth + 1))
            else:
                yield Attachment(shown, part._bytes(DATA, "0102"))

    def _of_rtf(self, warnings: list[str]) -> str:
        packed = self._bytes(RTF, "0102")
        if not packed:
            return ""
        try:
            return read_rtf(unpacked_rtf(packed)).text
        except (ReadError, *_BROKEN):
            warnings.append("the text of the message is kept in a form that cannot be read")
            return ""

    def _text(self, tag: str) -> str:
        wide = self._bytes(tag, "001F")
        if wide:
            return clean(wide.decode("utf-16-le", "replace")).strip("\0")
        narrow = self._bytes(tag, "001E")
        page = self._numbers.get(CODE_PAGE, 1252)
        label = _CODE_PAGES.get(page) or f"cp{page}"
        return clean(narrow.decode(encoding_of_label(label) or "cp1252", "replace"))

    def _bytes(self, tag: str, kind: str) -> bytes:
        name = "/".join([*self._path, f"__substg1.0_{tag}{kind}"])
        if not self._file.exists(name):
            return b""
        with self._file.openstream(name) as stream:
            return bytes(stream.read())

    def _fixed(self, head: int) -> Iterator[tuple[int, int]]:
        """Numbers and times of the stream of properties, 16 bytes each, by their tags."""
        name = "/".join([*self._path, "__properties_version1.0"])
        if not self._file.exists(name):
            return
        with self._file.openstream(name) as stream:
            body = stream.read()
        for at in range(head, len(body) - 15, 16):
            tag, _, value = struct.unpack_from("<IIQ", body, at)
            yield tag, value if tag & 0xFFFF == 0x40 else value & 0xFFFF_FFFF


def unpacked_rtf(packed: bytes) -> bytes:
    r"""Unpack RTF as [MS-OXRTFCP] says.

    >>> unpacked_rtf(b"\x0f\x00\x00\x00\x03\x00\x00\x00MELA\x00\x00\x00\x00abc")
    b'abc'
    """
    size, kind = int.from_bytes(packed[4:8], "little"), packed[8:12]
    if kind == b"MELA":
        return packed[16 : 16 + size]
    window = bytearray(_RTF_START.ljust(4_096, b"\0"))
    at, write = 16, len(_RTF_START)
    found = bytearray()
    limit = min(size, MAX_RTF_BYTES)
    while at < len(packed) and len(found) < limit:
        flags = packed[at]
        at += 1
        for bit in range(8):
            if at >= len(packed) or len(found) >= limit:
                break
            if flags >> bit & 1:
                token = int.from_bytes(packed[at : at + 2], "big")
                at += 2
                start, length = token >> 4, (token & 15) + 2
                if start == write:
                    return bytes(found)
                run = [start + step for step in range(length)]
            else:
                run = [-1]
                window[write] = packed[at]
                at += 1
            for place in run:
                value = window[write] if place < 0 else window[place % 4_096]
                window[write] = value
                write = (write + 1) % 4_096
                found.append(value)
    return bytes(found)


def _time(value: int | None) -> str | None:
    """A FILETIME as ISO 8601, to the second."""
    if not value:
        return None
    try:
        return (_EPOCH + datetime.timedelta(microseconds=value // 10)).isoformat(timespec="seconds")
    except OverflowError:
        return None
