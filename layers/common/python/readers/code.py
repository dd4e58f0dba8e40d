"""Source code, unchanged: the language by Pygments, functions and classes as headings."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename
from pygments.token import Comment, Name, String

from readers.parsed import Heading, ParsedDocument
from readers.text_decoding import decode

MAX_LEXED_CHARACTERS = 1_000_000
PROSE = frozenset(
    {"Text only", "Markdown", "reStructuredText", "TeX", "Org Mode", "Gettext Catalog", "Groff", "E-mail", "Wikitext"}
)
_SHEBANG = re.compile(r"#!\s*\S*?/(?:env\s+(?:-S\s+)?)?([\w.]+)(?=\s|$)")
_PROGRAM_SUFFIXES = {"python": "py", "node": "js", "bash": "sh", "sh": "sh", "zsh": "sh", "ruby": "rb", "perl": "pl"}
_DECLARES = re.compile(
    r"\b(?:def|class|func|function\*?|fn|fun|struct|enum|trait|interface|impl|type|module|namespace|sub|proc|record|"
    r"object|protocol|extension|macro_rules!)\s+(?:\([^()]{0,80}\)\s*)?$|\bimpl(?:<[^>]{0,80}>)?\s+$|\bfunction\s*\*?\s*$"
)
# Lexers that tell a definition from a call.
_TRUSTED = frozenset({"C", "C++", "Java", "Objective-C", "Kotlin", "Swift", "Rust", "Ruby", "PHP", "Python"})
_COOKIE = re.compile(rb"\A(?:[^\n]*\n)?[^\n]*?(?:coding[:=][ \t]*|@charset \")([A-Za-z0-9._-]{2,40})")


def cookie_encoding(body: bytes) -> str:
    """The label that the first two lines of source code declare, as PEP 263 and CSS have it; empty without one."""
    found = _COOKIE.match(body[:500])
    return found.group(1).decode("ascii") if found else ""


def lexer_name(name: str, text: str) -> str | None:
    """The programming language by the file's name or its `#!` line, as Pygments names it; None for prose and the rest.

    >>> lexer_name("src/pump.rs", ""), lexer_name("notes.txt", ""), lexer_name("tool", "#!/usr/bin/env python3")
    ('Rust', None, 'Python')
    """
    lexer = _lexer_of(name, text)
    return None if lexer is None or lexer.name in PROSE else str(lexer.name)


def read_code(body: bytes, name: str) -> ParsedDocument:
    """Decode and find definitions; code of over a million characters is not checked."""
    text, warnings = decode(body, charset=cookie_encoding(body))
    lexer = _lexer_of(name, text)
    found = _definitions(lexer(), text) if lexer and len(text) <= MAX_LEXED_CHARACTERS else {}
    language = lexer.name if lexer else "code"
    return ParsedDocument(
        text,
        "text",
        (lexer.mimetypes or [f"text/x-{language.lower()}"])[0] if lexer else "text/plain",
        headings=tuple(headings_of(text, found)),
        content_type="code",
        warnings=warnings,
    )


def _lexer_of(name: str, text: str) -> type[Lexer] | None:
    path = PurePosixPath(name)
    lexer: type[Lexer] | None = find_lexer_class_for_filename(path.name)
    if lexer is None and (shebang := _SHEBANG.match(text[:200])):
        suffix = _PROGRAM_SUFFIXES.get(shebang.group(1).rstrip("0123456789."))
        lexer = find_lexer_class_for_filename(f"a.{suffix}") if suffix else None
    return lexer


def _definitions(lexer: Lexer, text: str) -> dict[int, str]:
    """The names of functions, classes and types by where their lines start."""
    found: dict[int, str] = {}
    trusted = lexer.name in _TRUSTED
    for start, kind, value in lexer.get_tokens_unprocessed(text):
        if kind not in Name or kind in String or kind in Comment:
            continue
        line = text.rfind("\n", 0, start) + 1
        if line in found or start - line > 300:
            continue
        named = kind in Name.Function or kind in Name.Class
        if (trusted and named) or _DECLARES.search(text[line:start]):
            found[line] = value.strip()
    return found


FIRST_LEVEL = 2  # level 1 is the title of a document
LAST_LEVEL = 6
_BELONGS_BELOW = re.compile(r"[ \t]*(?:@|#|//|/\*|\*|\[|--|template\b)")


def headings_of(text: str, definitions: Mapping[int, str]) -> Iterator[Heading]:
    r"""A heading each, its level by how far its line is indented; decorators and comments above it belong to it.

    >>> code = "class Pump:\n    @slow\n    def start(self): ...\n"
    >>> list(headings_of(code, {0: "Pump", 22: "start"}))
    [Heading(level=2, text='Pump', start=0), Heading(level=3, text='start', start=12)]
    """
    indents = sorted({_indent(text, line) for line in definitions})
    before = 0
    for line, name in sorted(definitions.items()):
        level = FIRST_LEVEL + indents.index(_indent(text, line))
        start = max(_with_preamble(text, line), before)
        before = line + 1
        yield Heading(min(level, LAST_LEVEL), name[:200], start)


def _indent(text: str, line_start: int) -> int:
    blank = re.compile(r"[ \t]*").match(text, line_start)
    return len(blank[0].expandtabs(4)) if blank else 0


def _with_preamble(text: str, line_start: int) -> int:
    start = line_start
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if not _BELONGS_BELOW.match(text, above, start):
            break
        start = above
    return start
