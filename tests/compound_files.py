"""Compound files as Outlook writes them, made from nothing: no library of ours writes them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import pairwise

SECTOR = 512
END, FREE, FAT, NONE = 0xFFFF_FFFE, 0xFFFF_FFFF, 0xFFFF_FFFD, 0xFFFF_FFFF
Tree = Mapping[str, "bytes | Tree"]


def outlook_message(
    texts: Mapping[str, str], *, sent: bytes = b"", attachments: Mapping[str, bytes] | None = None
) -> bytes:
    """A message with text properties by tag, the time that it was sent at, and files."""
    properties = b"\0" * 32 + (struct.pack("<II", 0x0039_0040, 6) + sent if sent else b"")
    tree: dict[str, bytes | Tree] = {
        "__properties_version1.0": properties,
        "__nameid_version1.0": {"__substg1.0_00020102": b"\0" * 16},
        **{f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in texts.items()},
    }
    for number, (name, body) in enumerate((attachments or {}).items()):
        tree[f"__attach_version1.0_#{number:08X}"] = {
            "__properties_version1.0": b"\0" * 24,
            "__substg1.0_3707001F": name.encode("utf-16-le"),
            "__substg1.0_37010102": body.ljust(4_096, b"\n"),
        }
    return compound(tree)


def compound(tree: Tree) -> bytes:
    """A compound file of version 3; every stream is padded to the size from which streams have sectors of their own."""
    entries: list[tuple[str, int, int, int, int, int]] = []  # name, kind, right, child, first sector, size
    data: list[bytes] = []

    def add(name: str, held: bytes | Tree) -> int:
        number = len(entries)
        entries.append(("", 0, NONE, NONE, 0, 0))
        if isinstance(held, bytes):
            first = sum(len(each) // SECTOR for each in data)
            data.append(held.ljust(max(-(-len(held) // SECTOR) * SECTOR, 8 * SECTOR), b"\0"))
            # a stream under 4,096 bytes would belong to the small sectors: its size says what of the padding counts
            entries[number] = (name, 2, NONE, NONE, first, max(len(held), 4_096))
            return number
        children = [add(each, inside) for each, inside in held.items()]
        for left, right in pairwise(children):
            entries[left] = (*entries[left][:2], right, *entries[left][3:])
        entries[number] = (name, 1, NONE, children[0] if children else NONE, 0, 0)
        return number

    add("Root Entry", tree)
    entries[0] = (entries[0][0], 5, *entries[0][2:4], END, 0)
    directory = b"".join(_entry(*entry) for entry in entries)
    directory = directory.ljust(-(-len(directory) // SECTOR) * SECTOR, b"\0")
    sectors = b"".join(data)
    total = (len(sectors) + len(directory)) // SECTOR
    table_size = -(-(total + 1) // 128)
    table_size = -(-(total + table_size) // 128)
    table: list[int] = []
    for each in [*data, directory]:
        count = len(each) // SECTOR
        table += [len(table) + step + 1 for step in range(count - 1)] + [END]
    table += [FAT] * table_size
    table += [FREE] * (table_size * 128 - len(table))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16 + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + b"\0" * 6
    head += struct.pack("<IIIIIIIII", 0, table_size, len(sectors) // SECTOR, 0, 4_096, END, 0, END, 0)
    places = [total + step for step in range(table_size)]
    head += struct.pack("<109I", *(places + [FREE] * (109 - len(places))))
    return head + sectors + directory + struct.pack(f"<{len(table)}I", *table)


def _entry(name: str, kind: int, right: int, child: int, first: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le")
    packed = encoded.ljust(64, b"\0") + struct.pack("<HBBIII", len(encoded) + 2, kind, 1, NONE, right, child)
    return packed + b"\0" * 36 + struct.pack("<IQ", first, size)
