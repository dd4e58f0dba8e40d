"""Typed tables as bytes: a head of JSON, then the arrays of keys, all in one zlib stream."""

import json
import sys
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from ragdrop.tables.typed import TypedColumn, TypedTable

FORMAT = 1
LEVEL = 1  # of zlib: ten million keys take 0.3 s, and level 6 saves a tenth for five times that


def pack_tables(tables: Sequence[TypedTable]) -> bytes:
    """The bytes of *tables*, without their paths; `unpack_tables` is the inverse.

    >>> from ragdrop.tables.typed import packed_keys
    >>> item = TypedColumn("item", "text", "", packed_keys([0, 1, 0]), texts=("dog", "cat"))
    >>> table = TypedTable("a.csv", "a", (item,), frozenset({2}), array("I", [9, 12, 15, 18]), places=((0, 2),))
    >>> back = unpack_tables(pack_tables([table]), "a.csv")[0]
    >>> back.columns[0].value(1), back.totals, list(back.starts), back.cell(1, 0)
    ('cat', frozenset({2}), [9, 12, 15, 18], 'A3')
    """
    arrays: list[Any] = []
    heads = []
    for table in tables:
        lengths = array("I", [stop - start for start, stop in pairwise(table.starts)])
        arrays += [lengths, *(column.keys for column in table.columns)]
        heads.append(
            {
                "name": table.name,
                "sheet": table.sheet,
                "left": table.left,
                "header": table.header,
                "first": table.starts[0],
                "totals": sorted(table.totals),
                "places": table.places,
                "columns": [_head(column) for column in table.columns],
            }
        )
    sizes = [(each.typecode, len(each)) for each in arrays]
    head = json.dumps({"format": FORMAT, "tables": heads, "arrays": sizes}, ensure_ascii=False).encode()
    packer = zlib.compressobj(LEVEL)
    pieces = [packer.compress(len(head).to_bytes(8, "little") + head)]
    pieces += [packer.compress(_little(each).tobytes()) for each in arrays]
    return b"".join([*pieces, packer.flush()])


def _head(column: TypedColumn) -> dict[str, Any]:
    units = list(dict.fromkeys(column.units))
    places = {unit: at for at, unit in enumerate(units)}
    return {
        "name": column.name,
        "kind": column.kind,
        "unit": column.unit,
        "scale": column.scale,
        "texts": column.texts,
        "units": units,
        "unit_of": [places[unit] for unit in column.units],
        "unread": sorted(column.unread),
    }


def unpack_tables(body: bytes, path: str) -> list[TypedTable]:
    """The tables of *body*, of the document at *path*; none where another format wrote it."""
    plain = memoryview(zlib.decompress(body))
    size = int.from_bytes(plain[:8], "little")
    head = json.loads(bytes(plain[8 : 8 + size]))
    if head["format"] != FORMAT:
        return []
    arrays = []
    at = 8 + size
    for code, length in head["arrays"]:
        each = array(code)
        each.frombytes(plain[at : at + length * each.itemsize])
        at += length * each.itemsize
        arrays.append(_little(each))
    waiting = iter(arrays)
    return [_table(each, path, waiting) for each in head["tables"]]


def _table(head: dict[str, Any], path: str, waiting: Any) -> TypedTable:
    starts = array("q", accumulate(next(waiting), initial=head["first"]))
    columns = tuple(
        TypedColumn(
            each["name"],
            each["kind"],
            each["unit"],
            next(waiting),
            each["scale"],
            tuple(each["texts"]),
            tuple(each["units"][at] for at in each["unit_of"]),
            frozenset(each["unread"]),
        )
        for each in head["columns"]
    )
    return TypedTable(
        path,
        head["name"],
        columns,
        frozenset(head["totals"]),
        starts,
        head["header"],
        tuple((first, row) for first, row in head["places"]),
        head["left"],
        head["sheet"],
    )


def _little(each: Any) -> Any:
    if sys.byteorder == "little":
        return each
    swapped = array(each.typecode, each)
    swapped.byteswap()
    return swapped
