"""Decode text: by marks and declarations, as UTF-8 with wrong bytes in it, else by a guess from letters."""

import codecs
import math
import re
from collections import Counter
from collections.abc import Iterator

MIN_FOREIGN = 4  # characters of UTF-8 that outweigh a declaration of another encoding of several bytes a character
MAX_WRONG_SHARE = 0.1  # of the bytes beyond ASCII, where a declaration is still believed
# What capital letters before a quotation mark are in Western text, and hardly ever a character of UTF-8.
_UNLIKELY = re.compile("[\u0240-\u036f\u0700-\u07ff]")
_ASCII = bytes(range(128))


def decode(body: bytes, *, declared: bool = False, charset: str = "") -> tuple[str, tuple[str, ...]]:
    r"""The text, without a byte order mark, and warnings: of bytes that are replaced, and of a guess.

    Args:
        body: The bytes.
        declared: Whether an encoding named in the head (HTML) counts; that of an XML declaration always does.
        charset: The label that came with the bytes, such as a mail's; it counts more than one in the head.

    >>> decode(b"\xef\xbb\xbfcaf\xc3\xa9"), decode(b"It cost 3,50 \x80 in the caf\xe9.", charset="latin1")[0][-6:]
    (('café', ()), ' café.')
    >>> decode("schön für Öl".encode() + b" gro\xdfe")
    ('schön für Öl gro�e', ('1 byte could not be decoded as UTF-8 and is replaced by U+FFFD, at offset 19 in line 1',))
    """
    if has_mark(body):
        return _replaced(body, marked_encoding(body) or "utf-8")
    stated = encoding_of_label(charset) or (
        declared_encoding(body) if declared or body.lstrip().startswith(b"<?xml") else None
    )
    found = escaped_encoding(body) or stated
    if found is not None and found != "utf-8":
        text, warnings = _replaced(body, found)
        if found.startswith(("utf-", "iso2022", "hz")):
            return text, warnings if found == stated else (*warnings, _guessed(found))
        as_utf8 = _utf8(body)
        if as_utf8 is not None and _characters(as_utf8) >= (1 if found == "cp1252" else MIN_FOREIGN):
            return as_utf8, (f"the text declares {public_name(found)}, but its bytes are UTF-8, and are read so",)
        if text.count("\ufffd") <= MAX_WRONG_SHARE * len(body.translate(None, _ASCII)):
            return text, warnings
    wide = marked_encoding(body)
    if wide is not None:
        text, warnings = _replaced(body, wide)
        return text, (*warnings, _guessed(wide))
    as_utf8 = _utf8(body)
    if as_utf8 is not None:
        return as_utf8, ()
    if _is_damaged_utf8(body):
        return _replaced(body, "utf-8")
    encoding = guessed_encoding(body)
    text, warnings = _replaced(body, encoding)
    return text, (_guessed(encoding), *warnings)


def _utf8(body: bytes) -> str | None:
    """The text of UTF-8, or of CESU-8, in which databases write a character beyond U+FFFF as two halves."""
    try:
        if b"\xed" in body:
            return body.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _characters(text: str) -> int:
    """The number of characters beyond ASCII."""
    return len(text) - len(text.encode("ascii", "ignore"))


def _is_damaged_utf8(body: bytes) -> bool:
    """Whether most characters beyond ASCII are valid UTF-8, or most lines that have some.

    In other encodings hardly a line is, and of their characters at most one in three.
    """
    text = body.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    valid = _characters(text) - wrong - len(_UNLIKELY.findall(text))
    if valid <= 0 or wrong <= valid:
        return valid > 0
    lines = [line for line in text.splitlines() if not line.isascii()]
    damaged = sum("\ufffd" in line for line in lines)
    return damaged * 2 <= len(lines)


def _replaced(body: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    try:
        return body.decode(encoding).removeprefix("\ufeff"), ()
    except UnicodeDecodeError as exc:
        first = exc.start
    text = body.decode(encoding, "replace").removeprefix("\ufeff")
    count = max(text.count("\ufffd") - body.count("\ufffd".encode()) * (encoding == "utf-8"), 1)
    line = body.count(b"\n", 0, first) + 1
    name = "UTF-8" if encoding.startswith("utf-8") else public_name(encoding)
    shown = "1 byte" if count == 1 else f"{count} bytes"
    replaced = "is replaced by U+FFFD," if count == 1 else "are replaced by U+FFFD, the first"
    return text, (f"{shown} could not be decoded as {name} and {replaced} at offset {first} in line {line}",)


def _guessed(encoding: str) -> str:
    return (
        f"the text does not declare its encoding and is not UTF-8: it is read as {public_name(encoding)}, a guess; "
        "save it as UTF-8 if characters are wrong"
    )


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The WHATWG Encoding Standard, section 4.2: browsers read a label as the larger encoding that contains it.
_WIDENED = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("iso8859-11", "tis-620"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso2022_jp": "iso2022_jp_ext",
}
_LABELS = {  # labels of the standard, and some that mails have, which Python does not list
    **dict.fromkeys(("8859_1", "ansi", "x-user-defined"), "cp1252"),
    **dict.fromkeys(("cn-big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-8-i", "logical", "visual"), "iso8859-8"),
    **dict.fromkeys(("koi", "koi8"), "koi8-r"),
    **dict.fromkeys(("macintosh", "csmacintosh"), "mac-roman"),
    **dict.fromkeys(("unicode-1-1-utf-8", "utf8mb4"), "utf-8"),
    "dos-874": "cp874",
    "koi8-ru": "koi8-u",
    "sun_eu_greek": "iso8859-7",
    "unicode": "utf-16",
}
_PUBLIC = {"gb18030": "gb18030", "iso2022_jp_ext": "iso-2022-jp", "iso2022_kr": "iso-2022-kr", "hz": "hz-gb-2312"}
_TEXT_CODECS = re.compile(r"utf-(?:8|16|32)|(?:cp|iso|koi8|mac|gb|euc|big5|hz|ptcp|kz|tis|johab|shift)")
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{2,40})", re.IGNORECASE)
_ESCAPES = ((re.compile(rb"\x1b(?:\$[@B]|\([JI]|\$\(D)"), "iso2022_jp_ext"), (re.compile(rb"\x1b\$\)C"), "iso2022_kr"))
_HZ = re.compile(rb"~\{(?:[\x21-\x23\x30-\x57][\x21-\x7e]){2,}~\}")  # pairs of its common characters alone
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
ANSI = re.compile(r"\x1b\[[0-9;?]{0,40}[@-~]")
"""What a terminal takes for a colour or a movement."""
_UNWANTED = re.compile(rf"{ANSI.pattern}|[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
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
    r"""UTF-16 without a byte order mark, in any script; None if *body* is no such text.

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
    """What people call an encoding, with Python's name where it differs."""
    if re.fullmatch(r"cp125\d|cp874", codec):
        return f"windows-{codec[2:]} ({codec})"
    other = {"cp932": "shift_jis (cp932)", "cp949": "euc-kr (cp949)", "big5hkscs": "big5", "euc_jp": "euc-jp"}
    return other.get(codec) or _PUBLIC.get(codec) or codec.replace("iso8859", "iso-8859")


def declared_encoding(body: bytes) -> str | None:
    """The encoding that an HTML or XML head declares, if Python knows it.

    A head that can be read byte by byte is not UTF-16, whatever it declares.
    """
    found = _DECLARED.search(body[:2_048])
    encoding = encoding_of_label(found.group(1).decode("ascii")) if found else None
    return "utf-8" if encoding and encoding.startswith("utf-") else encoding


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
    r"""*text* with line ends as `\n` and without control characters, NULs, lone surrogates.

    >>> clean("a\r\nb\x00\ud800")
    'a\nb'
    """
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


_HIGH = re.compile(rb"[\x80-\xff]")
_STEP = 0.12  # each letter is this much rarer than the one before it, as a logarithm
_FOREIGN, _SYMBOL, _RARE_SYMBOL, _NO_TEXT = -6.0, -4.0, -6.0, -10.0
_CAPITAL, _CASE_WITHIN, _SYMBOL_WITHIN, _ALONE, _MIXED, _PAIR = -1.0, -6.0, -5.0, -4.0, -6.0, -2.0
_COMMON_SYMBOLS = "’‘“”„‚–—…•«»°§€·№¿¡\xa0"
_WORDS = "àáâéèêíóôöúåæåøыаиовсуяοήη"  # letters that are words
_FINAL = "ςךםןףץ"  # letters that end words
_LATIN = re.compile("[A-Za-zªºÀ-ɏḀ-ỿ]")

# Letters beyond ASCII from frequent to rare, by the encodings that a language was written in before UTF-8.  Earlier
# encodings win where the bytes leave a choice.
_WESTERN = (
    "üäößéè",
    "éèàêçùôîûâïëœ",
    "óíáéñúü",
    "ãçáéíóêâõúàô",
    "èàùòìé",
    "åäöøæé",
    "ðíáþöóæúýé",
    "ëéïèöü",
    "àèéòíçúóï·",
)
_CENTRAL = ("íáéěřšýčžůúťďňó", "łęóąśżćńź", "áéöóőíüúű", "áíýčéľšžúťňôďä", "čšžćđ", "ăîâşţ")
_BALTIC = ("ėšųžįąčūę", "āīēšņūķļģžč", "äõüöšž")
_TURKISH = ("ıüşğçöâ",)
_CYRILLIC = (
    "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
    "оаніивтерслкдумпяьзбгючйжхцшєїщґф",
    "аиоентрсвдлкпмзябгучжъхцшюйщф",
    "аоиејнртсдукмвплзбгчшцхњћжљђџф",
)
_GREEK = ("αοιετσνηυρπκμλςωάίγόήδέχύθφβώξζψ",)
_HEBREW = ("יוהלאתמרבשנםדעחקפצגזטןכסךףץ",)
_ARABIC = ("اليمنتروبعدهفسكقحةجشأصطخىضذغإزثئءظؤآ", "اینردهمتوسبشکزلعخفگجحقپچصطغضذثظژ")
_THAI = ("านร่อกเ้งัีมยวลดทิสต็์ะปบคุหแจืชพำไูขใโึศณธษผซฉญถภ",)
_SINGLE_BYTE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("cp1252", _WESTERN),
    ("iso8859-15", _WESTERN),
    ("cp1250", _CENTRAL),
    ("iso8859-2", _CENTRAL),
    ("cp1251", _CYRILLIC),
    ("koi8-r", _CYRILLIC[:1]),
    ("koi8-u", _CYRILLIC[:2]),
    ("cp866", _CYRILLIC),
    ("iso8859-5", _CYRILLIC),
    ("mac_cyrillic", _CYRILLIC),
    ("cp1253", _GREEK),
    ("iso8859-7", _GREEK),
    ("cp1254", _TURKISH),
    ("cp1257", _BALTIC),
    ("iso8859-4", _BALTIC),
    ("cp1255", _HEBREW),
    ("cp1256", _ARABIC),
    ("iso8859-6", _ARABIC[:1]),
    ("cp874", _THAI),
    ("cp850", _WESTERN),
    ("cp437", _WESTERN),
    ("mac_roman", _WESTERN),
    ("cp852", _CENTRAL),
    ("mac_latin2", _CENTRAL),
    ("iso8859-16", _CENTRAL[-1:]),
)
# Frequent characters, and the first bytes of those that every primary school teaches.
_MULTI_BYTE = (
    ("gb18030", "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过", (0xB0, 0xD7)),
    (
        "big5hkscs",
        "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過",
        (0xA4, 0xC6),
    ),
    ("cp932", "のにはたをとがでてしいなるるらかれもこまっすあさくりきんー", (0x88, 0x97)),
    ("euc_jp", "のにはたをとがでてしいなるるらかれもこまっすあさくりきんー", (0xB0, 0xCF)),
    ("cp949", "이다는의에을가은로하지고한도를기아사있어서대자리나수인시전부정일그라만과", (0xB0, 0xC8)),
)
_WIDE_SYMBOLS = "、。，「」『』：；？！（）・　“”《》"
_KANA = re.compile("[\u3041-\u30fc]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_HAN = re.compile("[\u4e00-\u9fff]")


def guessed_encoding(body: bytes) -> str:
    """The most likely encoding of *body*, which has bytes beyond ASCII; a codec of Python.

    Every candidate is the likelihood of what it makes of these bytes, in the language that suits it best.

    >>> [guessed_encoding(text.encode(name)) for text, name in (("Müller", "cp1252"), ("Žluťoučký kůň", "iso8859-2"))]
    ['cp1252', 'iso8859-2']
    >>> guessed_encoding("лифт идёт".encode("koi8-r")), guessed_encoding("水泵漏水了".encode("gbk"))
    ('koi8-r', 'gb18030')
    """
    sample = b"\n".join(_lines(body))
    best, chosen = -math.inf, "cp1252"
    for number, (encoding, languages) in enumerate(_SINGLE_BYTE):
        text = f" {sample.decode(encoding, 'replace')} "
        seen = Counter(each for each in zip(text, text[1:], text[2:], strict=False) if each[1] > "\x7f")
        for alphabet in languages:
            score = _of_letters(seen, alphabet) - 0.1 * number
            if score > best:
                best, chosen = score, encoding
    for encoding, frequent, leads in _MULTI_BYTE:
        text = sample.decode(encoding, "replace")
        score = _of_ideographs(Counter(one for one in text if one > "\x7f"), encoding, frequent, leads)
        if score > best:
            best, chosen = score, encoding
    return chosen


def _lines(body: bytes) -> Iterator[bytes]:
    """Lines with bytes beyond ASCII, 8 KB in all."""
    left, at = _SAMPLE_BYTES, 0
    while left > 0 and (found := _HIGH.search(body, at)):
        line = body.rfind(b"\n", at, found.start())
        start = max(line, body.rfind(b" ", max(at, found.start() - 80), found.start())) + 1  # of the word before it
        start = max(start, at)
        end = body.find(b"\n", found.start(), start + left)
        end = end if end >= 0 else min(start + left, len(body))
        yield body[start:end]
        left, at = left - (end - start), end


def _of_letters(seen: Counter[tuple[str, str, str]], alphabet: str) -> float:
    total = -math.log(sum(math.exp(-_STEP * rank) for rank in range(len(alphabet))))
    latin = bool(_LATIN.match(alphabet))
    score = 0.0
    for (before, one, behind), count in seen.items():
        rank = alphabet.find(one.lower())
        if rank >= 0:
            value = total - _STEP * rank
        elif one.isalpha():
            value = _FOREIGN if latin and _LATIN.match(one) else _NO_TEXT
        else:
            score += count * _of_symbol(before, one, behind)
            continue
        if one.isupper():
            value += _CASE_WITHIN if before.islower() else 0 if before.isupper() else _CAPITAL
        elif before.isupper() and behind.isupper():
            value += _CASE_WITHIN
        if latin:
            value += _PAIR * (before > "\x7f" and before.isalpha())
        else:
            mixed = _is_ascii_letter(before) or _is_ascii_letter(behind) or (one in _FINAL and behind.isalpha())
            value += _MIXED * mixed
        if one not in _WORDS and not before.isalpha() and not behind.isalpha():
            value += _ALONE
        score += count * value
    return score


def _is_ascii_letter(one: str) -> bool:
    return one.isascii() and one.isalpha()


def _of_symbol(before: str, one: str, behind: str) -> float:
    if one == "\ufffd" or not (one.isprintable() or one == "\xa0"):
        return _NO_TEXT
    value = _SYMBOL if one in _COMMON_SYMBOLS else _RARE_SYMBOL
    within = before.isalpha() and behind.isalpha()
    if within and one not in "’·–—\xa0":
        return value + _SYMBOL_WITHIN
    return value + (_ALONE if one == "’" and before.isspace() else 0)


def _of_ideographs(seen: Counter[str], encoding: str, frequent: str, leads: tuple[int, int]) -> float:
    japanese, korean = encoding in {"cp932", "euc_jp"}, encoding == "cp949"
    score = 0.0
    for one, count in seen.items():
        rank = frequent.find(one)
        if rank >= 0:
            value = -3.5 - 0.04 * rank
        elif one in _WIDE_SYMBOLS:
            value = -4.0
        elif japanese and _KANA.match(one):
            value = -4.5
        elif (_HANGUL if korean else _HAN).match(one):
            value = -8.2 if leads[0] <= one.encode(encoding)[0] <= leads[1] else -11.5
        else:
            value = -13.0
        score += count * value
    return score
