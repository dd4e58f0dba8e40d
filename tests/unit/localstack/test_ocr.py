"""The laptop's recogniser of text: lines in reading order, and what its address answers."""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

from localstack.models.ocr import Box, in_reading_order, ocr_routes
from localstack.models.serving import application
from ragdrop.domain.deadlines import Deadline
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.text_recognizers import HttpTextRecognizer
from readers.pages.page_recognition import RecognizedText


def box(x: float, y: float, wide: float = 40) -> Box:
    return [[x, y], [x + wide, y], [x + wide, y + 10], [x, y + 10]]


class Finds:
    """Finds two pieces in every picture but one that is broken."""

    def pieces(self, picture: bytes) -> list[tuple[Box, str, float]]:
        if picture == b"broken":
            raise ValueError("no picture")
        return [(box(50, 0), "leaks.", 0.8), (box(0, 0), "The pump", 1.0)]


def test_columns_are_read_one_after_the_other() -> None:
    left = [(box(0, 15 * n), f"left {n}", 1.0) for n in range(5)]
    right = [(box(60, 15 * n), f"right {n}", 1.0) for n in range(5)]

    lines = [text for text, _ in in_reading_order([*right, *left])]

    assert lines == [f"left {n}" for n in range(5)] + [f"right {n}" for n in range(5)]


def test_a_line_across_the_page_makes_no_columns() -> None:
    pieces = [(box(60 * (n % 2), 15 * (n // 2)), str(n), 1.0) for n in range(10)]

    assert in_reading_order([*pieces, (box(0, 90, 100), "all of it", 1.0)])[0][0] == "0 1"


def test_ragdrops_own_client_reads_what_the_server_answers() -> None:
    with TestClient(application(ocr_routes(Finds())), base_url="http://ocr.example") as client:
        http = OpenAiHttp("http://ocr.example", api_key=lambda: None, timeout_s=5, client=cast("Any", client))

        found = HttpTextRecognizer(http).recognize(b"picture", Deadline.after(5))

    assert (found.text, round(found.confidence, 2)) == ("The pump leaks.", 0.91)


@pytest.mark.parametrize(
    ("body", "status"),
    [({"image": base64.b64encode(b"broken").decode()}, 422), ({"image": "no base64!"}, 400), ({}, 400), ([], 400)],
)
def test_what_is_no_picture_is_refused(body: object, status: int) -> None:
    with TestClient(application(ocr_routes(Finds()))) as client:
        assert client.post("/v1/recognize", json=body).status_code == status


def test_a_picture_that_the_server_refuses_is_without_text() -> None:
    with TestClient(application(ocr_routes(Finds())), base_url="http://ocr.example") as client:
        http = OpenAiHttp("http://ocr.example", api_key=lambda: None, timeout_s=5, client=cast("Any", client))

        assert HttpTextRecognizer(http).recognize(b"broken", Deadline.after(5)) == RecognizedText("", 0.0)
