"""Guess the encoding of text that declares none and is not UTF-8, by the letters of the languages that use it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

SAMPLE_BYTES = 8_192
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
    (
        "gb18030",
        "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过",
        (0xB0, 0xD7),
    ),
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
    left, at = SAMPLE_BYTES, 0
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
