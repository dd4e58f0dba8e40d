"""Numbers that Word counts for headings, clauses and lists, its styles, and formulas of Office Open XML on one line."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from readers.office.package import attribute, child, integer, local
from readers.parsed import column_name

BULLET = "\u2022"
MAX_BASES = 20  # styles that a style is based on, one on the other
_OFF = frozenset({"0", "false", "off"})
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1_000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_CHINESE = "零一二三四五六七八九"


class WordStyles:
    """The styles of a document, each with those it is based on."""

    def __init__(self, root: Element | None) -> None:
        styles = [node for node in root if local(node) == "style"] if root is not None else []
        self._styles = {attribute(style, "styleId"): style for style in reversed(styles)}
        usual = (style for style in styles if attribute(style, "type") == "paragraph" and is_on(style, "default"))
        self._usual = next((attribute(style, "styleId") for style in usual), "")

    def chain(self, style_id: str, *, paragraph: bool = False) -> Iterator[Element]:
        """The style, then what it is based on; the usual style of a *paragraph* that names none."""
        at = self._styles.get(style_id or (self._usual if paragraph else ""))
        for _ in range(MAX_BASES):
            if at is None:
                return
            yield at
            at = self._styles.get(value(child(at, "basedOn")))


class Numbered(NamedTuple):
    """The text before a paragraph: `label` is a number or a bullet, empty if hidden, None if not known.

    `number` and `level` (from 0) are the numbering as the document names it.
    """

    label: str | None
    separator: str
    number: str
    level: int


class WordNumbers:
    """Counts the numbered paragraphs of a document, in the order of the calls."""

    def __init__(self, root: Element | None, styles: WordStyles) -> None:
        self._styles = styles
        nodes = list(root) if root is not None else []
        self._lists = {attribute(node, "abstractNumId"): node for node in nodes if local(node) == "abstractNum"}
        self._numbers = {attribute(node, "numId"): node for node in nodes if local(node) == "num"}
        self._cached: dict[str, tuple[dict[int, Element], dict[int, int], str]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def of(self, paragraph: Element) -> Numbered | None:
        """The number of the next paragraph; None if it has none."""
        if not self._numbers:
            return None
        number, level = self._place(child(paragraph, "pPr"))
        levels, overrides, name = self._levels(number)
        if level not in levels:
            return None
        counts = self._counts.setdefault(name, {})
        self._count(counts, levels, level, number, overrides.get(level))
        kind, suffix = value(child(levels[level], "numFmt")), value(child(levels[level], "suff"))
        separator = "" if suffix == "nothing" else " "
        if kind == "bullet":
            return Numbered(BULLET, separator, number, level)
        return Numbered(_label(levels, level, counts), separator, number, level)

    def _place(self, properties: Element | None) -> tuple[str, int]:
        """The numbering of a paragraph and its level, as it names them or else its style."""
        named = child(properties, "numPr")
        number, level = value(child(named, "numId")), value(child(named, "ilvl"))
        linked = ""
        for style in self._styles.chain(value(child(properties, "pStyle")), paragraph=True):
            found = child(style, "pPr", "numPr")
            if not number and child(found, "numId") is not None:
                number, linked = value(child(found, "numId")), attribute(style, "styleId")
            level = level or value(child(found, "ilvl"))
        if linked:
            levels = self._levels(number)[0]
            candidates = (value(child(properties, "pStyle")), linked)
            links = {value(child(node, "pStyle")): at for at, node in levels.items()}
            level = next((str(links[style]) for style in candidates if style and style in links), level)
        return number, integer(level)

    def _levels(self, number: str) -> tuple[dict[int, Element], dict[int, int], str]:
        """The levels of a numbering, the starts that it overrides, and the list that it counts in."""
        if number not in self._cached:
            self._cached[number] = self._read_levels(number)
        return self._cached[number]

    def _read_levels(self, number: str) -> tuple[dict[int, Element], dict[int, int], str]:
        node, levels, starts = self._numbers.get(number), dict[int, Element](), dict[int, int]()
        if node is None:
            return levels, starts, ""
        name = value(child(node, "abstractNumId"))
        linked = value(child(self._lists.get(name), "numStyleLink"))
        for style in self._styles.chain(linked) if linked else ():
            other = self._numbers.get(value(child(style, "pPr", "numPr", "numId")))
            name = value(child(other, "abstractNumId")) if other is not None else name
        levels |= {integer(attribute(each, "ilvl")): each for each in self._lists.get(name, ()) if local(each) == "lvl"}
        for each in node:
            if local(each) == "lvlOverride":
                start, other = child(each, "startOverride"), child(each, "lvl")
                starts |= {integer(attribute(each, "ilvl")): integer(value(start))} if start is not None else {}
                levels |= {integer(attribute(each, "ilvl")): other} if other is not None else {}
        return levels, starts, name

    def _count(
        self, counts: dict[int, int], levels: dict[int, Element], level: int, number: str, override: int | None
    ) -> None:
        if override is not None and (number, level) not in self._begun:
            counts[level] = override
        else:
            counts[level] = counts[level] + 1 if level in counts else integer(value(child(levels[level], "start")))
        self._begun.add((number, level))
        for each in [each for each in counts if each > level]:
            restart = integer(value(child(levels.get(each), "lvlRestart")), each)
            if level < restart:
                del counts[each]


def _label(levels: dict[int, Element], level: int, counts: dict[int, int]) -> str | None:
    """The text of a level with its numbers; None where a number has a form that is not known."""
    legal = is_on(child(levels[level], "isLgl"))
    forms: list[str | None] = []

    def number(found: re.Match[str]) -> str:
        at = int(found[1]) - 1
        if at not in levels or at > level:
            return ""
        kind = value(child(levels[at], "numFmt")) or "decimal"
        count = counts.get(at, integer(value(child(levels[at], "start"))))
        form = FORMS.get("decimal" if legal and kind != "none" else kind)
        forms.append(None if form is None else form(count))
        return forms[-1] or ""

    text = " ".join(_PLACE.sub(number, value(child(levels[level], "lvlText"))).split())
    return None if None in forms else text


def roman(number: int) -> str:
    """A number in small Roman digits."""
    text = ""
    for worth, digits in _ROMAN if 0 < number < 32_768 else ():
        text += digits * (number // worth)
        number %= worth
    return text


def numeral(number: int, style: str) -> str:
    """The number of an item in a style of HTML's lists: `1`, `a`, `A`, `i` or `I`.

    >>> numeral(28, "a"), numeral(4, "I"), numeral(0, "a"), numeral(7, "1")
    ('ab', 'IV', '0', '7')
    """
    lower = style.lower()
    if lower not in {"a", "i"} or not 0 < number < 4_000:
        return str(number)
    text = roman(number) if lower == "i" else column_name(number - 1).lower()
    return text.upper() if style.isupper() else text


def lettered(number: int) -> str:
    """A number as Word counts in letters."""
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if 0 < number < 1_000 else ""


def chinese(number: int) -> str | None:
    """A number below a hundred in Chinese and Japanese digits."""
    tens, ones = divmod(number, 10)
    if not 0 <= number < 100:
        return None
    ten = ("" if tens == 1 else _CHINESE[tens]) + "十" if tens else ""
    return ten + ("" if tens and not ones else _CHINESE[ones])


def ordinal(number: int) -> str:
    """An English ordinal number."""
    return f"{number}{'th' if number % 100 in {11, 12, 13} else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


FORMS: dict[str, Callable[[int], str | None]] = {
    "decimal": str,
    "decimalZero": lambda number: f"{number:02}",
    "decimalEnclosedCircle": lambda number: chr(0x245F + number) if 0 < number < 21 else str(number),
    "decimalFullWidth": lambda number: "".join(chr(ord(digit) + 0xFEE0) for digit in str(number)),
    "numberInDash": lambda number: f"- {number} -",
    "upperRoman": lambda number: roman(number).upper(),
    "lowerRoman": roman,
    "upperLetter": lambda number: lettered(number).upper(),
    "lowerLetter": lettered,
    "ordinal": ordinal,
    **dict.fromkeys(("none", "bullet"), lambda _: ""),
    **dict.fromkeys(("chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting",
                     "taiwaneseCountingThousand"), chinese),
}  # fmt: skip
"""How numbers are written, by the names of Office Open XML."""


def value(node: Element | None) -> str:
    """The value of a property; empty if it is missing."""
    return attribute(node, "val") if node is not None else ""


def is_on(node: Element | None, name: str = "val") -> bool:
    """Whether a property is there and is not switched off."""
    return node is not None and (name == "val" or bool(attribute(node, name))) and attribute(node, name) not in _OFF


def linear(node: Element) -> str:
    """A formula on one line.

    >>> from xml.etree import ElementTree
    >>> part = lambda name, text: f"<{name}><r><t>{text}</t></r></{name}>"
    >>> linear(ElementTree.fromstring(f"<oMath><f>{part('num', 'a')}{part('den', 'b+c')}</f></oMath>"))
    'a/(b+c)'
    """
    write = _WRITTEN.get(local(node))
    return write(_Parts(node)) if write else "".join(map(linear, node))


class _Parts(dict[str, str]):
    """The parts of an element of a formula by name, each on one line; empty if missing."""

    def __init__(self, node: Element) -> None:
        super().__init__()
        self.node = node

    def __missing__(self, name: str) -> str:
        self[name] = (self.each(name) or [""])[-1]
        return self[name]

    def each(self, name: str) -> list[str]:
        """All parts of this name."""
        return [linear(each) for each in self.node if local(each) == name]

    def grouped(self, name: str) -> str:
        """A part in brackets unless it is one term."""
        text = self[name]
        return text if len(text) < 2 or text.isalnum() else f"({text})"

    def marks(self) -> str:
        """What is lowered and what is raised."""
        under, above = self.grouped("sub"), self.grouped("sup")
        return (f"_{under}" if under else "") + (f"^{above}" if above else "")

    def sign(self, name: str, usual: str) -> str:
        """The character that a property of the element names, *usual* if it names none."""
        named = child(self.node, f"{local(self.node)}Pr", name)
        return usual if named is None else value(named)


_WRITTEN: dict[str, Callable[[_Parts], str]] = {
    "t": lambda parts: parts.node.text or "",
    "f": lambda parts: f"{parts.grouped('num')}/{parts.grouped('den')}",
    "sSup": lambda parts: parts.grouped("e") + parts.marks(),
    "sSub": lambda parts: parts["e"] + parts.marks(),
    "sSubSup": lambda parts: parts["e"] + parts.marks(),
    "sPre": lambda parts: f"{parts.marks()} {parts['e']}",
    "rad": lambda parts: f"√{parts['deg']}({parts['e']})",
    "nary": lambda parts: f"{parts.sign('chr', '∫')}{parts.marks()} {parts['e']}",
    "d": lambda parts: (
        parts.sign("begChr", "(") + parts.sign("sepChr", ", ").join(parts.each("e")) + parts.sign("endChr", ")")
    ),
    "m": lambda parts: f"[{'; '.join(parts.each('mr'))}]",
    "mr": lambda parts: ", ".join(map(linear, parts.node)),
    "eqArr": lambda parts: "; ".join(parts.each("e")),
    "limLow": lambda parts: f"{parts['e']}_{parts.grouped('lim')}",
    "limUpp": lambda parts: f"{parts['e']}^{parts.grouped('lim')}",
    "acc": lambda parts: parts["e"] + parts.sign("chr", "\u0302"),
    "func": lambda parts: f"{parts['fName']} {parts['e']}",
    "del": lambda _: "",
}


def linear_formulas(node: Element) -> str:
    """A formula, or all of a paragraph of formulas, on one line."""
    return " ".join(filter(None, map(linear, node))) if local(node) == "oMathPara" else linear(node)
