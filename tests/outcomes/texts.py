"""Text, Markdown, HTML and source code: good files and bad ones."""

from __future__ import annotations

from tests.outcomes.case import EMPTY, OUTSIDE, UNSAFE, UNSUPPORTED, Case

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
RUSSIAN = "Насос течёт со среды. "
ARABIC = "المضخة الحمراء تسرب الماء منذ يوم الاربعاء. "
DECODED = ("could not be decoded",)

MARKDOWN = [
    Case("headings and a table", "plain.md", lambda: b"# Pump\n\n| part |\n|---|\n| seal |\n", holds="seal"),
    Case("four scripts, an odd name", "水泵 & pumpe?.md", f"# 水泵\n\n{RUSSIAN}\n\n## {ARABIC}\n\n☂\n".encode,
         holds="水泵"),
    Case("20,000 headings, 1 MB", "long.md", lambda: b"".join(b"## Part %d\n\nIt leaks at valve %d.\n\n" % (n, n)
         for n in range(20_000)), holds="valve 19999"),
    Case("white space alone", "empty.md", lambda: b" \n\t\n", EMPTY),
    Case("front matter of aliases that multiply", "bomb.md", lambda: b"---\na0: &a0 [x, x]\n" + b"".join(
         b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)) + b"---\nText\n",
         warns=("left in the text",), holds="Text"),
    Case("cut within a character", "cut.md", lambda: ("# Насос\n\n" + RUSSIAN * 300).encode()[:-2] + b"\xd0",
         warns=DECODED, holds="Насос течёт"),
    Case("a picture named .md", "picture.md", lambda: PNG, UNSUPPORTED),
    Case("marks of 80,000 nested quotes", "quotes.md", lambda: b"# Pump\n\n" + b">" * 80_000 + b" leaks\n",
         holds="leaks"),
    Case("60,000 brackets and stars that never close", "open.md",
         lambda: b"# Pump\n\n" + b"[*a " * 15_000 + b"![b](" * 10_000, holds="Pump"),
    Case("pictures and links outside", "outside.md", f"# Pump\n\n![a]({OUTSIDE}) [b]({OUTSIDE})\n".encode,
         holds="Pump"),
]  # fmt: skip

TEXT = [
    Case("plain sentences", "plain.txt", lambda: b"The pump leaks.\nCall Ann.\n", holds="Call Ann"),
    Case("Russian in UTF-16, an odd name", "Насос (копия).txt", lambda: (RUSSIAN * 50).encode("utf-16"),
         holds="Насос течёт"),
    Case("a line of 5 MB", "long.txt", lambda: b"The pump leaks. " * 330_000 + b"END", holds="END"),
    Case("text of 49 MB", "huge.txt", lambda: b"The pump leaks since May.\n" * 1_900_000, holds="since May", long=True),
    Case("nothing", "empty.txt", lambda: b"", EMPTY),
    Case("UTF-16 cut within a character", "cut.txt", lambda: ("Die Pumpe tropft. " * 20).encode("utf-16")[:-1],
         warns=DECODED, holds="Pumpe tropft"),
    Case("bytes with NULs", "binary.txt", lambda: b"pump\0\x01\x02leaks" * 9, UNSUPPORTED),
    Case("a gzip archive named .txt", "packed.txt", lambda: b"\x1f\x8b\x08\0rest", UNSUPPORTED),
    Case("control characters and marks of direction", "marks.txt", "The \x1b[31mpump\u202eskael\n".encode,
         holds="pump"),
]  # fmt: skip


def many_formats() -> bytes:
    """Marks that a parser opens again in every paragraph: their number grows with its square."""
    marks = "".join(f"<b id={number}>" for number in range(6_000))
    return f"<html><body>{marks}{'<p>x' * 6_000}</body></html>".encode()


PAGE = (
    f'<html><head><link rel=stylesheet href="{OUTSIDE}"><script src="{OUTSIDE}"></script></head><body>'
    f'<img src="{OUTSIDE}"><iframe src="{OUTSIDE}"></iframe><object data="{OUTSIDE}"></object><p>The pump</body></html>'
)
HTML = [
    Case("a page", "plain.html", lambda: b"<html><h1>Pump</h1><p>It leaks.</html>", holds="It leaks."),
    Case("Arabic in the encoding that it declares", "مضخة.html",
         lambda: f"<html><meta charset=windows-1256><p>{ARABIC}</html>".encode("cp1256"), holds="المضخة"),
    Case("a table of 20,000 rows", "long.html", lambda: b"<html><table>"
         + b"".join(b"<tr><td>part %d<td>%d" % (n, n * 3) for n in range(20_000)) + b"</table>", holds="59997"),
    Case("a script and no text", "script.html", lambda: b"<html><script>var a = 1</script></html>", EMPTY),
    Case("cut within a tag", "cut.html", lambda: b"<html><h1>Pump</h1><p>It leaks.</p><a hr", holds="It leaks."),
    Case("100,000 nested elements", "deep.html", lambda: b"<html>" + b"<div>" * 100_000 + b"x", UNSAFE),
    Case("6,000 open marks in 6,000 paragraphs", "marks.html", many_formats, UNSAFE),
    Case("entities out of entities", "entities.xhtml", lambda: b'<!DOCTYPE html [<!ENTITY b "x"><!ENTITY c "&b;&b;">]>'
         b"<html><p>&c;</html>", UNSAFE),
    Case("pages, pictures and scripts outside", "outside.html", PAGE.encode, holds="The pump"),
    Case("hidden text", "hidden.html", lambda: b"<html><p>Seen<p hidden>not seen</html>", warns=("hidden parts",),
         holds="Seen"),
    Case("a picture named .html", "picture.html", lambda: PNG, UNSUPPORTED),
]  # fmt: skip

CODE = [
    Case("a class of Python", "pump.py", lambda: b"class Pump:\n    def start(self):\n        pass\n", holds="start"),
    Case("names of other scripts in Go", "泵.go", "func 启动() {}\n// Насос\n".encode, holds="启动"),
    Case("900 KB of Java", "Long.java", lambda: b"class Pump {\n" + b"".join(
         b"  int part%d() { return %d; }\n" % (n, n) for n in range(25_000)) + b"}\n", holds="part24999"),
    Case("white space alone", "empty.py", lambda: b"\n\n", EMPTY),
    Case("bytes of a program", "program.py", lambda: b"\x7fELF\x02\x01\x01\0\0\0", UNSUPPORTED),
    Case("5 MB of JavaScript, read as text", "large.js", lambda: b"function pump(a) { return a + 1; }\n" * 150_000,
         holds="pump(a)"),
    Case("100,000 brackets that never close", "open.js", lambda: b"var pump = " + b"([{" * 33_000, holds="pump"),
    Case("strings and comments that never close", "strings.cpp", lambda: b"int pump;\n" + b"/* \"' " * 20_000,
         holds="pump"),
    Case("cut within a character", "cut.rb", lambda: ("# Насос\ndef start\nend\n# " + RUSSIAN * 99).encode()[:-1]
         + b"\xd0", warns=DECODED, holds="Насос течёт"),
]  # fmt: skip
