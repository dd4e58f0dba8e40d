"""Headers and dates of mails: eight-bit ones, encoded words, names of files, and heads that are not quite in order."""

import base64
import binascii
import datetime
import quopri
import re
from email.message import Message
from email.policy import Compat32

from readers.text_decoding import decode

_BETWEEN_MAILS = re.compile(rb"(?m)^>*From [^\n]*\n?")
KNOWN_FIELD = (
    rb"(?i:from|to|cc|subject|date|sender|reply-to|return-path|received|message-id|mime-version|delivered-to"
    rb"|content-[a-z-]+|x-[!-9;-~]+)[ \t]*:"
)
_LINES = re.compile(rb"(?:(?:[^\s:][^:\n]{0,75}:|[ \t])[^\n]*(?:\n|\Z))*")
_LOST_FOLD = re.compile(rb"(?m)^([^\s:][^:\n]*)$")
_ODD_FIELD = re.compile(rb"(?m)^([^\s:>][^:\n]{0,75}?)[ \t]*:")
_NOT_IN_A_NAME = re.compile(rb"[^!-9;-~]")
_WORD = re.compile(r"=\?([^?*\s]{1,40})(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
_WORDS = re.compile(rf"(?:{_WORD.pattern})(?:[ \t\r\n]*(?:{_WORD.pattern}))*")


class _AsWritten(Compat32):
    """Returns headers with bytes beyond ASCII as lone surrogates, where Python's own policy replaces them."""

    def header_fetch_parse(self, _name: str, value: str) -> str:
        return value


AS_WRITTEN = _AsWritten()


def repaired_head(body: bytes) -> bytes:
    r"""A mail whose head Python can read: no lines that separate mails, and only valid names.

    >>> repaired_head(b"From a@b.c Mon\n>From a@b.c Mon\nX Mail Id: 4\nSubject : x\n\nFrom here\n")
    b'X-Mail-Id: 4\nSubject: x\n\nFrom here\n'
    """
    head, blank, rest = body.partition(b"\n\n")
    head = _BETWEEN_MAILS.sub(b"", head)
    known = re.finditer(rb"(?m)^" + KNOWN_FIELD, head)
    end = max((found.end() for found in known), default=0)  # behind it text may have begun
    end = len(head) if blank and _LINES.fullmatch(head) else end
    folded = _LOST_FOLD.sub(rb" \1", head[:end])
    fields = _ODD_FIELD.sub(lambda found: _NOT_IN_A_NAME.sub(b"-", found[1]) + b":", folded)
    return fields + head[end:] + blank + rest


def decoded_header(written: str, charset: str) -> tuple[str, tuple[str, ...]]:
    r"""A header as people read it, and what was replaced or guessed.

    Bytes beyond ASCII are UTF-8 (RFC 6532), else the encoding of the mail's text, else guessed.  Words of one encoding
    that follow each other are decoded together, because programs split them within characters.

    >>> decoded_header("=?gb2312?B?1uzpRrv5?= and =?utf-8*de?q?Gr=C3?= =?utf-8?q?=BC=C3=9Fe?=", "")[0]
    '朱镕基 and Grüße'
    >>> decoded_header("J\udcf6rg", "latin1"), decoded_header("J\udcc3\udcb6rg", "latin1")
    (('Jörg', ()), ('Jörg', ()))
    """
    text, warnings = _of_bytes(written, charset)
    parts: list[str] = []
    at = 0
    for run in _WORDS.finditer(text):
        parts.append(text[at : run.start()])
        at = run.end()
        words: list[tuple[str, bytes]] = []
        for label, how, payload in _WORD.findall(run.group()):
            body = _payload(how.lower(), payload)
            if words and words[-1][0] == label.lower():
                words[-1] = (words[-1][0], words[-1][1] + body)
            else:
                words.append((label.lower(), body))
        for label, body in words:
            word, wrong = decode(body, charset=label)
            parts.append(word)
            warnings += wrong
    return "".join([*parts, text[at:]]), warnings


def file_name(part: Message) -> str:
    """The name of the file in a part, by any of the standards; empty without one."""
    written = part.get_param("filename", header="content-disposition") or part.get_param("name") or ""
    if isinstance(written, tuple):  # RFC 2231: an encoding, a language and bytes
        label, _, text = written
        return decode(text.encode("latin-1", "replace"), charset=label or "")[0]
    return decoded_header(written, str(part.get_content_charset() or ""))[0]


def _of_bytes(written: str, charset: str) -> tuple[str, tuple[str, ...]]:
    if written.isascii() and "\x1b" not in written:
        return written, ()
    body = written.encode("utf-8", "surrogateescape")
    if b"\x1b" not in body:
        try:
            return body.decode("utf-8"), ()
        except UnicodeDecodeError:
            pass
    return decode(body, charset=charset)


def _payload(how: str, text: str) -> bytes:
    if how == "q":
        return quopri.decodestring(text.replace("_", " ").encode("utf-8", "surrogateescape"))
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        return base64.b64decode(letters[: len(letters) // 4 * 4])


_MONTHS = (  # how their names begin: English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish
    ("jan", "ene", "gen", "jän"),
    ("feb", "fév", "fev"),
    ("mar", "mär", "mrz", "maa"),
    ("apr", "avr", "abr"),
    ("may", "mai", "mag", "mei", "maj"),
    ("jun", "juin", "giu"),
    ("jul", "juil", "lug"),
    ("aug", "aoû", "aou", "ago"),
    ("sep", "set"),
    ("oct", "okt", "ott", "out"),
    ("nov",),
    ("dec", "dez", "déc", "dic"),
)
_ZONES = {
    **dict.fromkeys(("z", "ut", "utc", "gmt", "wet"), 0),
    **dict.fromkeys(("cet", "met", "mez", "bst", "west"), 60),
    **dict.fromkeys(("cest", "mest", "mesz", "eet", "sast"), 120),
    **dict.fromkeys(("eest", "msk"), 180),
    **dict.fromkeys(("hkt", "sgt", "awst"), 480),
    **dict.fromkeys(("jst", "kst"), 540),
    "aest": 600,
    "aedt": 660,
    "nzst": 720,
    "nzdt": 780,
    "edt": -240,
    **dict.fromkeys(("est", "cdt"), -300),
    **dict.fromkeys(("cst", "mdt"), -360),
    **dict.fromkeys(("mst", "pdt"), -420),
    "pst": -480,
}
_NUMBERS = re.compile(r"(?<!\d)(\d{1,4})([-./])\s?(\d{1,2})\2\s?(\d{1,4})(?!\d)")
_EASTERN = re.compile(r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]")
_TIME = re.compile(r"(?<!\d)(\d{1,2})[:.h](\d\d)(?:[:.](\d\d)(?:[.,]\d+)?)?\s*(?:([ap])\.?m\b)?", re.IGNORECASE)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)?(?!\d)")
_NAME = re.compile(r"[^\W\d_]+")


def date_of(written: str) -> str | None:
    """A written date as ISO 8601; None if it cannot be read, or if either of its first two numbers could be the month.

    Python reads the forms of RFC 5322 alone, and drops "PM" and the names of most zones.

    >>> date_of("Mon, 21 Oct 2024 19:38:13 +1000"), date_of("2024-10-21 19:38"), date_of("21. Oktober 2024")
    ('2024-10-21T19:38:13+10:00', '2024-10-21T19:38:00', '2024-10-21')
    >>> date_of("Monday, 21-Oct-24 19:38:13 CEST"), date_of("Mon Oct 21 19:38:13 2024"), date_of("10/21/2024 7:38 PM")
    ('2024-10-21T19:38:13+02:00', '2024-10-21T19:38:13', '2024-10-21T19:38:00')
    >>> date_of("05/06/2024"), date_of("soon"), date_of("Mon, 32 Oct 2024 19:38:13 +1000")
    (None, None, None)
    """
    text = _EASTERN.sub(r"\1-\2-\3 ", " ".join(written.split()))
    numbers = None if _months_in(text) else _NUMBERS.search(text)
    rest = _NUMBERS.sub(" ", text, count=1) if numbers else text
    time = _TIME.search(rest)
    before, behind = (rest[: time.start()], rest[time.end() :]) if time else (rest, "")
    try:
        day = _of_numbers(*numbers.groups()) if numbers else _of_names(f"{before} {_OFFSET.sub(' ', behind)}")
        if day is None or time is None:
            return None if day is None else day.isoformat()
        hour, minute, second, half = time.groups()
        hours = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
        zone = _zone(behind)
        moment = datetime.time(hours, int(minute), min(int(second or 0), 59), tzinfo=zone)  # 60 is a leap second
        return datetime.datetime.combine(day, moment).isoformat()
    except ValueError:
        return None


def _of_numbers(first: str, sign: str, middle: str, last: str) -> datetime.date | None:
    if len(first) == 4:
        return datetime.date(int(first), int(middle), int(last))
    day, month = int(first), int(middle)
    if month > 12:
        day, month = month, day
    elif sign != "." and ((day <= 12 and day != month) or len(last) < 4):
        return None  # of 05/06/2024 either could be the month, and of 24/10/21 either could be the year
    return datetime.date(_year(last), month, day)


def _of_names(text: str) -> datetime.date | None:
    """The day of a text with the name of a month; of two the last, as "mar" is March, and Tuesday in French."""
    months = _months_in(text)
    numbers = re.findall(r"\d+", text)
    if not months or len(numbers) < 2:
        return None
    day, year = numbers[:2] if len(numbers[0]) < 3 else (numbers[1], numbers[0])
    return datetime.date(_year(year), months[-1], int(day))


def _months_in(text: str) -> list[int]:
    words = _NAME.findall(text.lower())
    return [number for word in words for number, names in enumerate(_MONTHS, start=1) if word.startswith(names)]


def _year(written: str) -> int:
    """A year; two digits are of 1969 to 2068, as POSIX reads them, and three count from 1900."""
    year = int(written)
    return year if len(written) > 3 else year + (1900 if year >= 69 else 2000)


def _zone(behind: str) -> datetime.timezone | None:
    """The zone behind a time: an offset, else a name; None if not known."""
    offset = _OFFSET.search(behind)
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if offset[1] == "-" and minutes == 0:
            return None  # RFC 5322: the zone is unknown
        return datetime.timezone(datetime.timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    named = next((word for word in _NAME.findall(behind.lower()) if word in _ZONES), None)
    return None if named is None else datetime.timezone(datetime.timedelta(minutes=_ZONES[named]))
