"""Markdown and plain text: the parsed text is the decoded object but for embedded files, so quotes are verbatim."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

import yaml

from readers.markdown import links_of, outline
from readers.markdown_writer import without_data_urls
from readers.parsed import SPEAKER, ContentType, ParsedDocument
from readers.read_errors import EmptyFileError, UnsupportedFormatError
from readers.text_decoding import ANSI, decode

MAX_FRONT_MATTER_CHARACTERS = 65_536
MAX_WARNINGS = 20  # about one front matter: they stand in the document's record
VALUE_CHARACTERS = 16  # of a text count as one value more
MAX_VALUES = 10_000  # of a front matter, each counted as often as an alias repeats it: a few lines can make gigabytes
_EOL = r"(?:\r\n?|\n)"
_OPENED = re.compile(
    rf"\A\ufeff?((?:[ \t]*{_EOL}|<!--(?:(?!-->).){{0,2000}}-->){{0,20}})(---|\+\+\+)[ \t]*{_EOL}", re.DOTALL
)
_CLOSED = re.compile(rf"(?<=[\r\n])(---|\.\.\.|\+\+\+)[ \t]*(?:{_EOL}|\Z)")
_FIELD = re.compile(r"""^(["']?)([^\W\d][\w .-]{0,100})\1[ \t]*:(?=\s|\Z)""", re.MULTILINE)
_CONTINUED = re.compile(r"[ \t\r\n#\]}]|-\s")  # how later lines of a field begin
_TABS = re.compile(r"^[ \t]*\t[ \t]*|(?<=[:,-])[ \t]*\t[ \t]*", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t]+#([^\r\n]*)")
_FREE_TEXT = frozenset({"title", "summary", "description"})
_EMPTY = frozenset({""})
_NOTHING = _EMPTY | {"~", "null"}  # of a field: in lists and maps these words stay as they are written
_USUAL_NAMES = frozenset({"title", "tags", "date", "summary", "description", "category", "access"})


def is_chat(text: str) -> bool:
    """Whether lines of `[Name] message` are most of the lines that hold something."""
    lines = [line for line in text[:200_000].splitlines()[:500] if line.strip()]
    return bool(lines) and sum(bool(SPEAKER.match(line)) for line in lines) > len(lines) / 2


def read_text(body: bytes) -> ParsedDocument:
    """Decode plain text; a chat is marked as such."""
    text, warnings = _decoded(body)
    kind: ContentType = "chat" if is_chat(text) else "documentation"
    return ParsedDocument(text, "text", "text/plain", content_type=kind, warnings=warnings)


def read_markdown(body: bytes) -> ParsedDocument:
    """Decode Markdown, and read its front matter, headings, tables and links."""
    text, warnings = _decoded(body)
    front = front_matter(text)
    headings, tables, code = outline(text, front.end)
    return ParsedDocument(
        text,
        "markdown",
        "text/markdown",
        body_start=front.body_start,
        headings=tuple(headings),
        metadata=front.fields,
        content_type="chat" if is_chat(text[front.end :]) else "documentation",
        links=links_of(text, front.end, code),
        warnings=(*warnings, *front.warnings),
        tables=tuple(tables),
    )


def _decoded(body: bytes) -> tuple[str, tuple[str, ...]]:
    text, warnings = decode(body)
    if not text.strip():
        raise EmptyFileError("there is no text in this document")
    if "\0" in text:
        raise UnsupportedFormatError("the object holds NULs and is not text")
    text, left_out = without_data_urls(ANSI.sub("", text))
    return text, warnings + left_out


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a document states before its text: texts as written, lists and maps of them, None if empty.

    The Markdown begins at `end`, the indexed text at `body_start`: a front matter that was read in part stays in it.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    end: int = 0
    body_start: int = 0
    warnings: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter:
    r"""The front matter of a Markdown text: a map in YAML between `---`, in TOML between `+++`, or in JSON.

    >>> front_matter("---\ncountry: NO\nzip: 0123\n---\nText").fields
    {'country': 'NO', 'zip': '0123'}
    >>> front_matter("---\n- a list\n---\nText").end
    0
    """
    head = text[:MAX_FRONT_MATTER_CHARACTERS]
    opened = _OPENED.match(head)
    if opened is None:
        return _json_front_matter(head)
    above, opener = opened.groups()
    closed = _CLOSED.search(head, opened.end())
    if closed is None:
        first = _FIELD.match(head[opened.end() :])
        if first is None or first[2].lower() not in _USUAL_NAMES:
            return FrontMatter()
        return FrontMatter(warnings=(f"the front matter has no line {opener} at its end and is read as text",))
    if (opener == "+++") != (closed[1] == "+++"):
        return FrontMatter()
    inner = head[opened.end() : closed.start()]
    line = above.count("\n") + 2
    front = _toml_front_matter(inner, closed.end()) if opener == "+++" else _YamlReader(inner, line).read(closed.end())
    is_text = above and _USUAL_NAMES.isdisjoint(name.lower() for name in front.fields)
    return FrontMatter() if is_text else front


def _json_front_matter(head: str) -> FrontMatter:
    if not head.startswith("{"):
        return FrontMatter()
    try:
        fields, end = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode(head)
    except (ValueError, RecursionError):
        return FrontMatter()
    after = re.compile(rf"[ \t]*{_EOL}").match(head, end)
    if after is None or _USUAL_NAMES.isdisjoint(name.lower() for name in fields):
        return FrontMatter()  # a text that begins with an example of JSON
    return FrontMatter(fields, after.end(), after.end())


def _toml_front_matter(inner: str, end: int) -> FrontMatter:
    try:
        fields = tomllib.loads(inner.replace("\r\n", "\n"), parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        if "=" not in inner:
            return FrontMatter()
        reason = str(exc)[:100]
        return FrontMatter(warnings=(f"the front matter between +++ is not valid TOML ({reason}) and is read as text",))
    return FrontMatter(fields, end, end) if fields or not inner.strip() else FrontMatter()


class _YamlReader:
    """Reads one front matter in YAML; scalars stay as written, so that `NO`, `0123` and `1.10` are not changed."""

    def __init__(self, inner: str, line: int) -> None:
        self._inner = inner
        self._line = line  # of the document, where the text that is read begins
        self._text = inner
        self._left = MAX_VALUES
        self._warnings: list[str] = []

    def read(self, end: int) -> FrontMatter:
        """The front matter, which ends at *end*; an empty one if it is text."""
        try:
            root = self._composed(self._inner)
            if root is None:  # nothing, or comments alone, which may be headings
                return FrontMatter() if self._inner.strip() else FrontMatter(end=end, body_start=end)
            if not isinstance(root, yaml.MappingNode):
                return FrontMatter()
            is_rule = self._inner.lstrip(" \t")[:1] in {"\r", "\n"}  # `name:` behind it may be prose
            if is_rule and _USUAL_NAMES.isdisjoint(str(name.value).lower() for name, _ in root.value):
                return FrontMatter()
            fields = self._map(root, "")
        except (yaml.YAMLError, ValueError, RecursionError) as exc:
            return self._field_by_field(end, exc)
        return FrontMatter(fields, end, end, tuple(self._warnings))

    def _composed(self, text: str) -> yaml.Node | None:
        self._text = text
        try:
            return yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError:
            self._text = _TABS.sub(lambda found: " " * max(len(found.group().expandtabs(2)), 1), text)
            if self._text == text:
                raise
            return yaml.compose(self._text, Loader=yaml.SafeLoader)

    def _field_by_field(self, end: int, exc: Exception) -> FrontMatter:
        """Read each field separately; a field that cannot be read stays in the text, and a warning names it."""
        matches, top = list(_FIELD.finditer(self._inner)), self._line
        lines = self._inner.splitlines()
        apart = next(
            (n for n, line in enumerate(lines) if line and not (_FIELD.match(line) or _CONTINUED.match(line))), None
        )
        if not matches or (apart is not None and not _FIELD.match(lines[0])):
            return FrontMatter()
        if apart is not None:
            reason = str(getattr(exc, "problem", None) or "no field begins there")[:100]
            return FrontMatter(
                warnings=(f"the front matter is not valid YAML (line {apart + top}: {reason}) and is read as text",)
            )
        fields: dict[str, Any] = {}
        unread: list[str] = []
        self._warnings, ends = [], [match.start() for match in matches[1:]] + [len(self._inner)]
        for match, stop in zip(matches, ends, strict=True):
            name, self._line = match.group(2), self._inner.count("\n", 0, match.start()) + top
            try:
                node = self._composed(self._inner[match.start() : stop])
                if isinstance(node, yaml.MappingNode):
                    fields |= self._map(node, "")
                    continue
            except (yaml.YAMLError, ValueError, RecursionError):
                pass
            value = self._inner[match.end() : stop].strip()
            if value and value[0] not in "[{|>&\"'" and "\n" not in value and "\r" not in value:
                fields[name] = value
                self._warn(self._line, f"the value of {name[:40]!r} is not valid YAML and is read as written: quote it")
            else:
                unread.append(f"{name[:40]!r} (line {self._line})")
        if unread:
            named = ", ".join(unread[:5])
            self._warnings.append(f"fields of the front matter are not valid YAML and are left in the text: {named}")
        return FrontMatter(fields, end, 0 if unread else end, tuple(self._warnings))

    def _warn(self, line: int, problem: str) -> None:
        if len(self._warnings) < MAX_WARNINGS:
            self._warnings.append(f"front matter, line {line}: {problem}")

    def _map(self, node: yaml.MappingNode, above: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for name_node, value_node in node.value:
            line = self._line + name_node.start_mark.line
            if not isinstance(name_node, yaml.ScalarNode):
                self._warn(line, "a name that is no plain text is left out")
                continue
            name = str(name_node.value)
            value = self._value(value_node, f"{above}{name}", inside=bool(above))
            if name == "<<" and isinstance(value, dict):  # a merge: what the map itself states wins
                merged |= value
                continue
            if name in found:
                self._warn(line, f"{above + name!r} stands there twice; the last value counts"[:200])
            found[name] = value
        return merged | found

    def _value(self, node: yaml.Node, name: str, *, inside: bool) -> Any:
        self._left -= 1 + len(node.value) // VALUE_CHARACTERS
        if self._left < 0:
            raise yaml.YAMLError(f"there are over {MAX_VALUES} values")
        if isinstance(node, yaml.ScalarNode):
            return self._written(node, name, inside=inside)
        if isinstance(node, yaml.MappingNode):
            return self._map(node, f"{name}.")
        return [self._value(item, name, inside=True) for item in node.value]

    def _written(self, node: yaml.ScalarNode, name: str, *, inside: bool) -> str | None:
        """A scalar as it is written; a title with ` #` is the whole line."""
        if node.style is not None:
            return str(node.value)
        rest = _REST_OF_LINE.match(self._text, node.end_mark.index)
        if rest is not None:
            line = self._line + node.end_mark.line
            if name.lower() in _FREE_TEXT and node.value and not rest.group(1).startswith((" ", "#")):
                return f"{node.value}{rest.group()}".rstrip()
            if name.lower() in _FREE_TEXT or not rest.group(1).startswith((" ", "#")):
                self._warn(line, f"what follows ' #' in {name[:40]!r} counts as a comment: quote the value to keep it")
        return None if node.value in (_EMPTY if inside else _NOTHING) else str(node.value)
