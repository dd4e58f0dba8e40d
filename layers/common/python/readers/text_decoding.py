"""Decoding rules: byte order marks, labels of encodings, escape sequences, and bytes that are no text."""

from __future__ import annotations

import codecs
import re

from readers.parsed import SPEAKER

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The WHATWG Encoding Standard, section 4.2: browsers read a label as the larger encoding that contains it.
_WIDENED = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso2022_jp": "iso2022_jp_ext",
}
_LABELS = {  # labels of the standard, and some that mails have, which Python does not list
    "8859_1": "cp1252",
    "ansi": "cp1252",
    "cn-big5": "big5hkscs",
    "dos-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "koi": "koi8-r",
    "koi8": "koi8-r",
    "koi8-ru": "koi8-u",
    "logical": "iso8859-8",
    "visual": "iso8859-8",
    "macintosh": "mac-roman",
    "csmacintosh": "mac-roman",
    "unicode": "utf-16",
    "unicode-1-1-utf-8": "utf-8",
    "utf8mb4": "utf-8",
    "sun_eu_greek": "iso8859-7",
    "x-user-defined": "cp1252",
    "x-x-big5": "big5hkscs",
}
_PUBLIC = {"gb18030": "gb18030", "iso2022_jp_ext": "iso-2022-jp", "iso2022_kr": "iso-2022-kr", "hz": "hz-gb-2312"}
_TEXT_CODECS = re.compile(r"utf-(?:8|16|32)|(?:cp|iso|koi8|mac|gb|euc|big5|hz|ptcp|kz|tis|johab|shift)")
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{2,40})", re.IGNORECASE)
_COOKIE = re.compile(rb"\A(?:[^\n]*\n)?[^\n]*?(?:coding[:=][ \t]*|@charset \")([A-Za-z0-9._-]{2,40})")
_ESCAPES = ((re.compile(rb"\x1b(?:\$[@B]|\([JI]|\$\(D)"), "iso2022_jp_ext"), (re.compile(rb"\x1b\$\)C"), "iso2022_kr"))
_HZ = re.compile(rb"~\{(?:[\x21-\x23\x30-\x57][\x21-\x7e]){2,}~\}")  # pairs of its common characters alone
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UNWANTED = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_SAMPLE_BYTES = 8_192
_MIN_SHARE = 0.97  # of the characters of a text, stray bytes allowed for
_LETTERS = re.compile(  # of the scripts that are written today, with their punctuation
    "[\t\n\r\f\x20-\x7e\xa0-\u024f\u02b0-\u0377\u037a-\u052f\u0531-\u058a\u0591-\u05f4\u0600-\u06ff\u0900-\u0df4"
    "\u0e01-\u0e5b\u0e81-\u0edf\u10a0-\u10ff\u1e00-\u1fff\u2010-\u2027\u202f-\u203e\u20a0-\u20c0\u2100-\u214f"
    "\u2190-\u21ff\u2200-\u22ff\u2500-\u26ff\ufe30-\ufe4f\U0001f300-\U0001faff]"
)
_IDEOGRAPHS = re.compile("[\u3000-\u30ff\u3105-\u312f\u4e00-\u9fff\uac00-\ud7a3\uff01-\uffe5]")
# Each with the last row that is common: what lies behind it in Big5 is rare.
_IDEOGRAPHIC_SETS = (("gb2312", 0xF7), ("big5", 0xC6), ("shift_jis", 0xEA), ("euc_kr", 0xFD))
_MIN_IDEOGRAPHS = 5  # where nothing but they speaks for UTF-16
_DATA_URL = re.compile(
    r"(?<![\w-])(data:[\w.+-]{1,40}/[\w.+-]{1,80})(?:;[\w=.-]{1,60}){0,4};base64,"
    r"((?:[A-Za-z0-9+/_=-]|[ \t]*\r?\n[ \t]*(?=[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{2,76}={0,2}[\"')])){32,})"
    r"|(data:image/svg\+xml)(?:;[\w=.-]{1,60}){0,4},([^\s\"')>]{32,})",
    re.IGNORECASE,
)


def without_data_urls(text: str) -> tuple[str, tuple[str, ...]]:
    r"""*text* without the bytes of pictures and files that are embedded as data URLs, and a warning where it had any.

    >>> without_data_urls("![Hall](data:image/png;base64," + "iVBORw0KGgo" * 9 + "=)")
    ('![Hall](data:image/png)', ('embedded pictures or files are left out: 1 data URLs of 100 characters in all',))
    >>> without_data_urls("a short one: data:,Hello%20World")
    ('a short one: data:,Hello%20World', ())
    """
    found = [len(each[2] or each[4]) for each in _DATA_URL.finditer(text)]
    if not found:
        return text, ()
    warning = f"embedded pictures or files are left out: {len(found)} data URLs of {sum(found)} characters in all"
    return _DATA_URL.sub(r"\1\3", text), (warning,)


def marked_encoding(body: bytes) -> str | None:
    r"""The encoding that a byte order mark names, or that the bytes of UTF-16 give away; None without either.

    >>> marked_encoding(b"\xef\xbb\xbfa"), marked_encoding("pump".encode("utf-16-le")), marked_encoding(b"a")
    ('utf-8-sig', 'utf-16-le', None)
    """
    marked = next((encoding for mark, encoding in _MARKS if body.startswith(mark)), None)
    return marked or unmarked_utf16(body)


def has_mark(body: bytes) -> bool:
    """Whether *body* begins with a byte order mark."""
    return body.startswith(tuple(mark for mark, _ in _MARKS))


def unmarked_utf16(body: bytes) -> str | None:
    r"""UTF-16 without a byte order mark, in any script; None where *body* reads as no text of it.

    Two ASCII bytes are an ideograph in UTF-16.  So a text of ideographs counts only if few of them are such pairs, and
    if most stand in one of the sets that people write with.

    >>> [unmarked_utf16(text.encode("utf-16-be")) for text in ("лифт идёт", "水泵漏水了。", "pump")]
    ['utf-16-be', 'utf-16-be', 'utf-16-be']
    >>> unmarked_utf16(b"plain text"), unmarked_utf16(b"pump\0\x01\x02leaks"), unmarked_utf16("für".encode("cp1252"))
    (None, None, None)
    """
    sample = body[: min(_SAMPLE_BYTES, len(body) // 2 * 2)]
    plain = _CONTROLS.search(sample) is None
    if len(sample) < (2 * _MIN_IDEOGRAPHS if plain else 4) or (plain and _is_utf8(sample)):
        return None
    shares = {encoding: _share_of_text(sample, encoding) for encoding in ("utf-16-le", "utf-16-be")}
    best = max(shares, key=lambda encoding: shares[encoding])
    return best if shares[best][0] >= _MIN_SHARE else None


def _share_of_text(sample: bytes, encoding: str) -> tuple[float, int]:
    """The share of its characters that a text may have, and how many of them are letters of an alphabet."""
    text = sample.decode(encoding, "replace")
    if len(set(text)) < 2:
        return 0, 0  # numbers, such as the zeros and ones of a mask
    letters = len(_LETTERS.findall(text))
    ideographs = "".join(_IDEOGRAPHS.findall(text))
    if ideographs:
        of_ascii = sum(ord(one) & 0x8080 == 0 and ord(one) & 0xFF >= 0x20 for one in ideographs)
        known = max(sum(_is_common(one, name, last) for one in ideographs) for name, last in _IDEOGRAPHIC_SETS)
        if of_ascii * 2 > len(ideographs) or known < 0.9 * len(ideographs):
            return 0, 0
    return (letters + len(ideographs)) / len(text), letters


def _is_common(one: str, name: str, last: int) -> bool:
    encoded = one.encode(name, "ignore")
    return len(encoded) == 2 and encoded[0] <= last


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def escaped_encoding(body: bytes) -> str | None:
    r"""The encoding of seven-bit text that escape sequences give away: ISO-2022-JP, ISO-2022-KR or HZ.

    >>> escaped_encoding("水".encode("iso2022_jp")), escaped_encoding(b"\x1b[31mred"), escaped_encoding(b"~{<:Ky~}")
    ('iso2022_jp_ext', None, 'hz')
    """
    if not (b"\x1b" in body or b"~{" in body) or not body.isascii():
        return None
    found = next((name for mark, name in _ESCAPES if mark.search(body)), None)
    return found or ("hz" if _HZ.search(body) else None)


def encoding_of_label(label: str) -> str | None:
    """The codec for a declared label, as browsers choose it; None for one that names no encoding of text.

    UTF-7 is none: it hides mark-up from whoever checks a text.

    >>> [encoding_of_label(label) for label in ("ISO-8859-1", "GB2312", "x-sjis", "windows-949", "utf-7", "x-none")]
    ['cp1252', 'gb18030', 'cp932', 'cp949', None, None]
    """
    name = label.strip().strip("\"'").lower()
    plain = re.sub(r"^(?:x-|cs)", "", name)
    plain = re.sub(r"^(?:windows|win|cp|ibm|dos)[-_ ]?(?=\d)", "cp", plain)
    for each in (name, plain, plain.replace("mac-", "mac_")):
        found = _LABELS.get(each)
        try:
            found = found or codecs.lookup(each.replace("sjis", "shift_jis").replace("cp31j", "cp932")).name
        except (LookupError, ValueError):
            continue
        found = _WIDENED.get(found, found)
        return found if _TEXT_CODECS.match(found) else None
    return None


def public_name(codec: str) -> str:
    """What people call an encoding, with Python's name where it differs.

    >>> public_name("cp1252"), public_name("iso8859-2"), public_name("utf-16-le")
    ('windows-1252 (cp1252)', 'iso-8859-2', 'utf-16-le')
    """
    if re.fullmatch(r"cp125\d|cp874", codec):
        return f"windows-{codec[2:]} ({codec})"
    other = {"cp932": "shift_jis (cp932)", "cp949": "euc-kr (cp949)", "big5hkscs": "big5", "euc_jp": "euc-jp"}
    return other.get(codec) or _PUBLIC.get(codec) or codec.replace("iso8859", "iso-8859")


def declared_encoding(body: bytes) -> str | None:
    """The encoding that an HTML or XML head declares, if Python knows it.

    A head that can be read byte by byte is not UTF-16, whatever it declares.

    >>> declared_encoding(b'<meta charset="windows-1252">'), declared_encoding(b'<meta charset="x-none">')
    ('cp1252', None)
    """
    found = _DECLARED.search(body[:2_048])
    encoding = encoding_of_label(found.group(1).decode("ascii")) if found else None
    return "utf-8" if encoding and encoding.startswith("utf-") else encoding


def cookie_encoding(body: bytes) -> str:
    r"""The label that the first two lines of source code declare, as PEP 263 and CSS have it; empty without one.

    >>> cookie_encoding(b"#!/bin/sh\n# -*- coding: latin-1 -*-\n"), cookie_encoding(b"x = 1\n")
    ('latin-1', '')
    """
    found = _COOKIE.match(body[:500])
    return found.group(1).decode("ascii") if found else ""


def looks_binary(body: bytes) -> bool:
    r"""Whether *body* holds NULs that no encoding explains.

    >>> looks_binary(b"a\0b"), looks_binary(b"plain")
    (True, False)
    """
    return b"\0" in body and marked_encoding(body) is None


def holds_controls(body: bytes) -> bool:
    r"""Whether *body* holds control characters that no text has, in an encoding that has no others.

    >>> holds_controls(b"PK\x03\x04"), holds_controls(b"\x1b[31mplain\r\n"), holds_controls("plain".encode("utf-16"))
    (True, False, False)
    """
    return _CONTROLS.search(body) is not None and marked_encoding(body) is None


def clean(text: str) -> str:
    r"""*text* with line ends as `\n` and without what is no text: control characters, NULs, lone surrogates.

    >>> clean("a\r\nb\x00\ud800")
    'a\nb'
    """
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_chat(text: str) -> bool:
    r"""Whether lines of `[Name] message` are most of the lines that hold something.

    >>> is_chat("[Ann] hello\n[Bob] hi\n"), is_chat("# Notes\n[Ann] said")
    (True, False)
    """
    lines = [line for line in text[:200_000].splitlines()[:500] if line.strip()]
    return bool(lines) and sum(bool(SPEAKER.match(line)) for line in lines) > len(lines) / 2
