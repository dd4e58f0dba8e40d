"""Cells of an XLSX sheet that are shown as per cent: calamine gives their values, not how they are shown."""

from __future__ import annotations

import re
from typing import TypeAlias
from xml.etree.ElementTree import Element

from readers.office.package import Package, attribute, below, child

Percents: TypeAlias = "frozenset[tuple[int, int]]"
"""Row and column of each, both from 0."""
_BUILT_IN = frozenset({9, 10})  # 0 % and 0.00 %, ECMA-376 part 1, 18.8.30
_CELL = re.compile(rb"<(?:\w+:)?c\s([^<>]{1,200})>")
_AT = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
_STYLE = re.compile(rb'\bs="(\d{1,6})"')


def percents_of(package: Package) -> dict[str, Percents]:
    """The cells shown as per cent by the names of their sheets; empty where the workbook has no such format."""
    root = package.xml("xl/styles.xml")
    styles = _percent_styles(root) if root is not None else frozenset()
    if not styles:
        return {}
    book, relations = package.xml("xl/workbook.xml"), package.relations("xl/workbook.xml")
    sheets = child(book, "sheets")
    found = {}
    for sheet in sheets if sheets is not None else ():
        _, part = relations.get(
            next((value for key, value in sheet.attrib.items() if key.endswith("}id")), ""), ("", "")
        )
        body = package.read(part) or b""
        found[attribute(sheet, "name")] = frozenset(_cells(body, styles))
    return found


def _percent_styles(root: Element) -> frozenset[int]:
    """The numbers of the cell styles whose number format ends in a per cent sign."""
    written = {_int(each.get("numFmtId")) for each in below(root, "numFmt") if _is_percent(each.get("formatCode", ""))}
    cells = child(root, "cellXfs")
    formats = [_int(each.get("numFmtId")) for each in cells] if cells is not None else []
    return frozenset(at for at, number in enumerate(formats) if number in written | _BUILT_IN)


def _is_percent(code: str) -> bool:
    r"""Whether a number format shows per cent: quoted signs do not count.

    >>> _is_percent("0.0%"), _is_percent('0" %"'), _is_percent("0.00")
    (True, False, False)
    """
    return "%" in re.sub(r'"[^"]*"|\\.|\[[^\]]*\]', "", code)


def _cells(body: bytes, styles: frozenset[int]) -> list[tuple[int, int]]:
    found = []
    for cell in _CELL.finditer(body):
        style, at = _STYLE.search(cell[1]), _AT.search(cell[1])
        if style and at and int(style[1]) in styles:
            column = 0
            for letter in at[1]:
                column = column * 26 + letter - 64
            found.append((int(at[2]) - 1, column - 1))
    return found


def _int(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) else -1
