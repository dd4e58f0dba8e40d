"""Scans: pages without text are read by a recogniser, marked as such, and all others keep their text."""

from __future__ import annotations

import httpx
import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DependencyError
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.text_recognizers import HttpTextRecognizer, TextractRecognizer
from readers.pages.page_recognition import RecognizedText

PNG = b"\x89PNG\r\n\x1a\n rest"


def service(status: int, body: object) -> HttpTextRecognizer:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/v1/recognize"
        return httpx.Response(status, json=body)

    client = httpx.Client(transport=httpx.MockTransport(answer))
    return HttpTextRecognizer(OpenAiHttp("http://ocr.example", api_key=lambda: None, timeout_s=5, client=client))


class RefusedError(Exception):
    """As botocore raises it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code}}


class Textract:
    def __init__(self, reply: dict[str, object] | RefusedError) -> None:
        self.reply = reply

    def detect_document_text(self, **asked: dict[str, bytes]) -> dict[str, object]:
        assert asked == {"Document": {"Bytes": PNG}}
        if isinstance(self.reply, RefusedError):
            raise self.reply
        return self.reply


def test_a_service_gives_lines_with_their_confidence() -> None:
    lines = [{"text": "The pump", "confidence": 1.0}, {"text": "leaks.", "confidence": 0.5}]

    found = service(200, {"lines": lines}).recognize(PNG, Deadline.after(5))

    assert (found.text, round(found.confidence, 2)) == ("The pump\nleaks.", 0.79)
    assert service(422, {}).recognize(PNG, Deadline.after(5)).text == ""


@pytest.mark.parametrize(("status", "body"), [(400, {}), (200, {"lines": [{}]}), (200, [])])
def test_a_service_that_fails_is_a_dependency_that_fails(status: int, body: object) -> None:
    with pytest.raises(DependencyError):
        service(status, body).recognize(PNG, Deadline.after(5))


def test_textract_gives_its_lines_and_what_it_refuses_is_without_text() -> None:
    blocks = [{"BlockType": "PAGE"}, {"BlockType": "LINE", "Text": "It leaks.", "Confidence": 98.0}]

    def recognized(reply: dict[str, object] | RefusedError) -> RecognizedText:
        return TextractRecognizer(Textract(reply), failures=(RefusedError,)).recognize(PNG, Deadline.after(5))

    assert recognized({"Blocks": blocks}) == RecognizedText("It leaks.", 0.98)
    assert recognized(RefusedError("UnsupportedDocumentException")).text == ""
    with pytest.raises(DependencyError):
        recognized(RefusedError("ThrottlingException"))
