"""Draw a page of a PDF as a PNG, for a recogniser of text; runs in the child process."""

from __future__ import annotations

import struct
import zlib

import pypdfium2
import pypdfium2.raw as pdfium

DOTS_PER_POINT = 200 / 72
MAX_PIXELS = 12_000_000  # a page of A3 at 200 dots an inch has 7.7 million


def picture_of(body: bytes, page: int) -> bytes | None:
    """A grey PNG of the page with this number from 0; None where it shows no picture, or cannot be drawn."""
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError:
        return None
    try:
        held = document[page]
        if next(held.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=4), None) is None:
            return None
        width, height = held.get_size()
        scale = min(DOTS_PER_POINT, (MAX_PIXELS / max(width * height, 1.0)) ** 0.5)
        bitmap = held.render(scale=scale, grayscale=True)
        return png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride)
    except (pypdfium2.PdfiumError, IndexError, ValueError):
        return None
    finally:
        document.close()


def png(grey: bytes, width: int, height: int, stride: int) -> bytes:
    r"""A PNG of one byte a pixel; *stride* is the length of a row of *grey*.

    >>> png(b"\x00\xff", 2, 1, 2)[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    rows = b"".join(b"\0" + grey[start : start + width] for start in range(0, stride * height, stride))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held)) for kind, held in parts
    )
