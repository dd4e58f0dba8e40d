"""Encodings: damaged UTF-8 stays UTF-8, labels are read as browsers read them, and every guess is named."""

from __future__ import annotations

import re

import pytest

from readers.parsed import ParsedDocument
from readers.read_errors import UnsupportedFormatError
from tests.reading import parse
from tests.reading import parse as read

GERMAN = "Die Wärterin öffnet das Tor für Gäste.\n"


def decoded(body: bytes, name: str = "a.txt", media_type: str = "") -> ParsedDocument:
    return read(body, name, media_type)


CHINESE = "绿色闸门每天早上打开。\n"


JAPANESE = "緑の門は毎朝開きます。鍵は事務所にあります。"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.py", "a.html"])
@pytest.mark.parametrize("stray", [b"\xfc", b"\x92", b"\xff", b"\xe9", b"\xc3"])
def test_one_wrong_byte_leaves_the_rest_of_a_text_utf8(name: str, stray: bytes) -> None:
    document = decoded(b"<p>" + GERMAN.encode() + stray + b" " + GERMAN.encode(), name)

    assert document.text.count("Wärterin öffnet das Tor für Gäste.") == 2
    assert document.text.count("\ufffd") == 1
    (warning,) = document.warnings
    assert warning.startswith("1 byte could not be decoded as UTF-8 and is replaced by U+FFFD, at offset ")


@pytest.mark.parametrize("at", [65_535, 65_536, 65_537, 1_999_999])
def test_a_wrong_byte_of_a_long_text_is_found_wherever_it_stands(at: int) -> None:
    body = (GERMAN * 50_000).encode()

    document = decoded(body[:at] + b"\xfc" + body[at:])

    assert document.text.startswith(GERMAN)
    assert "UTF-8" in document.warnings[0]
    assert f"at offset {at} in line" in document.warnings[0]


def test_a_line_of_another_encoding_in_utf8_is_replaced_and_counted() -> None:
    document = decoded("Grün\n".encode() + "für Öl, größer, süß".encode("cp1252"))

    assert document.text.startswith("Grün\n")
    assert document.warnings == (
        "6 bytes could not be decoded as UTF-8 and are replaced by U+FFFD, the first at offset 7 in line 2",
    )


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("The gate is open, and Herr Schröder has the key.", "cp1252"),
        ("Il a fermé la grille à cause de l’orage, c’est réglé.", "cp1252"),
        ("La señora abrió el portón mañana.", "cp1252"),
        ("Portens nøgle ligger på øen hos Åse.", "cp1252"),
        ("The ticket costs 12 € for all.", "iso8859-15"),
        ("Vrátný zavřel těžká vrata, klíč leží v kanceláři.", "iso8859-2"),
        ("Vrátný zavřel těžká vrata, klíč leží v kanceláři.", "cp1250"),
        ("Dozorca zamknął bramę, a klucz leży w żółtej szafie.", "iso8859-2"),
        ("A kapuőr bezárta a kaput, a kulcs a fűtőházban van.", "cp1250"),
        ("Сторож закрыл ворота, ключ лежит в конторе.", "cp1251"),
        ("Сторож закрыл ворота, ключ лежит в конторе.", "koi8-r"),
        ("Сторож закрыл ворота, ключ лежит в конторе.", "cp866"),
        ("Ο φύλακας έκλεισε την πύλη και το κλειδί είναι στο γραφείο.", "cp1253"),
        ("Kapıcı bahçe kapısını kapattı, anahtar çekmecede, güneş doğdu.", "cp1254"),
        ("Der Wärter öffnet das Tor für die Gäste.", "cp850"),
        (CHINESE, "gb18030"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        ("문지기가 초록색 문을 닫고 열쇠를 사무실에 두었습니다.", "cp949"),
        ("守門人關上了綠色的大門，鑰匙在辦公室裡。", "big5"),
    ],
)
def test_an_older_encoding_is_guessed_and_named(text: str, encoding: str) -> None:
    document = decoded(text.encode(encoding))

    assert document.text == text
    (warning,) = document.warnings
    assert "a guess" in warning
    assert re.sub(r"\D", "", encoding) in warning.replace("-", "")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("times", [1, 2_000])
@pytest.mark.parametrize(
    "text", [CHINESE, JAPANESE, GERMAN, "Сторож", "البوابة مغلقة", "πύλη", "문을 닫고 열쇠를", "gate", "ประตูปิด"]
)
def test_utf16_without_a_mark_is_found_in_any_script(text: str, times: int, encoding: str) -> None:
    document = decoded((text * times).encode(encoding))

    assert document.text == text * times
    assert encoding in document.warnings[0]


@pytest.mark.parametrize("body", [b"gate\0\x01\x02shut" * 9, bytes(range(256)) * 8, b"\x00\x01" * 40, b"\x7f\x00" * 3])
def test_bytes_that_are_no_text_are_not_taken_for_utf16(body: bytes) -> None:
    with pytest.raises(UnsupportedFormatError):
        decoded(body, "a.bin")


@pytest.mark.parametrize("encoding", ["iso2022_jp", "hz"])
def test_seven_bit_text_is_known_by_its_escape_sequences(encoding: str) -> None:
    text = JAPANESE if encoding == "iso2022_jp" else "绿色闸门打开"

    assert decoded(text.encode(encoding)).text == text


def test_coloured_output_of_a_terminal_is_no_japanese() -> None:
    assert decoded(b"\x1b[31mred\x1b[0m $B").warnings == ()


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("iso-8859-1", "cp1252", "it’s 7 €"),
        ("us-ascii", "cp1252", "it’s 7 €"),
        ("ISO-8859-9", "cp1254", "“ğ” 7 €"),
        ("iso-8859-11", "cp874", "ประตู 7 €"),
        ("gb2312", "gb18030", "陶喆的门"),
        ("GBK", "gb18030", "陶喆的门"),
        ("shift_jis", "cp932", "髙島屋の門②"),
        ("x-sjis", "cp932", "髙島屋の門②"),
        ("windows-31j", "cp932", "髙島屋の門②"),
        ("euc-kr", "cp949", "똠방각하 문"),
        ("ks_c_5601-1987", "cp949", "똠방각하 문"),
        ("big5", "big5hkscs", "門口嘅樽"),
        ("utf8", "utf-8", "it’s 7 €"),
    ],
)
def test_a_declared_label_is_read_as_browsers_read_it(label: str, encoding: str, text: str) -> None:
    page = f"<html><head><meta http-equiv=Content-Type content='text/html; charset={label}'></head><p>{text}</p>"

    assert decoded(page.encode(encoding), "a.html").text.strip() == text
    assert decoded(page.encode(encoding), "a.html").warnings == ()


def test_utf7_is_never_read() -> None:
    page = b"<html><head><meta charset=utf-7></head><p>gate +ADw-script+AD4-</p>"

    assert "+ADw-script" in decoded(page, "a.html").text


def test_a_page_that_declares_latin1_and_is_utf8_is_read_as_utf8_with_a_warning() -> None:
    document = decoded(b"<html><meta charset=iso-8859-1><p>" + GERMAN.encode(), "a.html")

    assert "Wärterin öffnet" in document.text
    assert document.warnings == ("the text declares windows-1252 (cp1252), but its bytes are UTF-8, and are read so",)


def test_a_declaration_that_the_bytes_contradict_gives_way_to_a_guess() -> None:
    document = decoded(b"<html><meta charset=utf-8><p>" + GERMAN.encode("cp1252"), "a.html")

    assert "Wärterin öffnet" in document.text
    assert "windows-1252" in document.warnings[0]


def test_the_charset_of_an_objects_content_type_counts() -> None:
    document = decoded("陶喆的门".encode("gb18030"), "a.txt", media_type="text/plain; charset=gb2312")

    assert (document.text, document.warnings) == ("陶喆的门", ())


def test_the_coding_line_of_source_code_counts() -> None:
    code = "# -*- coding: koi8-r -*-\nname = 'ворота'\n"

    assert decoded(code.encode("koi8-r"), "a.py").text == code


def test_raw_bytes_of_rtf_are_of_its_code_page() -> None:
    body = b"{\\rtf1\\ansi\\ansicpg1251 " + "Ворота закрыты".encode("cp1251") + b"}"

    assert decoded(body, "a.rtf").text == "Ворота закрыты\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_an_encoding_is_found_and_its_mark_is_no_text(encoding: str) -> None:
    assert parse("The café's pump leaks, the gauge too.".encode(encoding), "a.txt").text[:10] == "The café's"


def test_a_single_byte_encoding_is_guessed() -> None:
    text = "Die schöne Frau hat einen Kaffee für drei Euro gekauft, später auch Käse und Brötchen. " * 5

    assert parse(text.encode("cp1252"), "a.txt").text == text


def test_a_character_in_two_halves_of_utf8_is_read() -> None:
    document = parse(b"caf\xc3\xa9 \xed\xa0\xbd\xed\xb8\x80 ok", "a.txt")

    assert (document.text, document.warnings) == ("café 😀 ok", ())
    assert parse("각 힣 \U0001f600".encode(), "a.txt").text == "각 힣 😀"
