"""Read text in pictures: by a service over HTTP, or by Amazon Textract."""

import base64
from typing import Any

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DependencyError
from ragdrop.models.http import OpenAiHttp, problem, unreached
from readers.pages.page_recognition import RecognizedText

SERVICE = "ocr"
MAX_AT_ONCE = 8


class HttpTextRecognizer:
    """A TextRecognizer over `POST /recognize` of `{image}`, in base64 -> `lines[] {text, confidence}`.

    A service that reads several pictures at once gives their number in `at_once` of its replies.
    """

    def __init__(self, http: OpenAiHttp) -> None:
        self._http = http
        self.at_once = 1  # until a reply has more

    def recognize(self, picture: bytes, deadline: Deadline) -> RecognizedText:
        body = {"image": base64.b64encode(picture).decode()}
        try:
            response = self._http.post("/recognize", body, deadline, stage="ocr")
        except httpx.TransportError as exc:
            raise DependencyError(unreached(exc, "the OCR service"), service=SERVICE) from exc
        if response.status_code == httpx.codes.UNPROCESSABLE_ENTITY:  # it is no picture that can be read
            return RecognizedText("", 0.0)
        if response.status_code != httpx.codes.OK:
            raise DependencyError(f"the OCR service refused: {problem(response)}", service=SERVICE)
        try:
            reply = response.json()
            lines = [(str(line["text"]), float(line["confidence"])) for line in reply["lines"]]
            self.at_once = min(max(int(reply.get("at_once", 1)), 1), MAX_AT_ONCE)
        except (ValueError, KeyError, TypeError) as exc:
            raise DependencyError("the OCR service gave an answer that cannot be read", service=SERVICE) from exc
        return of_lines(lines)


class TextractRecognizer:
    """A TextRecognizer over Textract's DetectDocumentText; *failures* are the errors of its boto3 *client*."""

    at_once = 4  # the least that AWS grants a second, where it has Textract, is 1: boto3 waits and tries again
    REFUSALS = frozenset({"UnsupportedDocumentException", "BadDocumentException", "DocumentTooLargeException"})

    def __init__(self, client: Any, *, failures: tuple[type[Exception], ...]) -> None:
        self._client, self._failures = client, failures

    def recognize(self, picture: bytes, deadline: Deadline) -> RecognizedText:  # noqa: ARG002 - boto3 has its own time
        try:
            reply = self._client.detect_document_text(Document={"Bytes": picture})
        except self._failures as exc:
            code = getattr(exc, "response", {}).get("Error", {}).get("Code", type(exc).__name__)
            if code in self.REFUSALS:
                return RecognizedText("", 0.0)
            raise DependencyError(f"Textract did not answer: {code}", service=SERVICE) from exc
        found = (block for block in reply.get("Blocks", ()) if block.get("BlockType") == "LINE")
        return of_lines([(str(block.get("Text", "")), float(block.get("Confidence", 0.0)) / 100) for block in found])


def of_lines(lines: list[tuple[str, float]]) -> RecognizedText:
    r"""Lines as one text; the confidence of a line weighs as its length.

    >>> of_lines([("The pump", 1.0), ("leaks.", 0.5)])
    RecognizedText(text='The pump\nleaks.', confidence=0.7857142857142857)
    """
    weight = sum(len(text) for text, _ in lines)
    sure = sum(len(text) * min(max(confidence, 0.0), 1.0) for text, confidence in lines)
    return RecognizedText("\n".join(text for text, _ in lines), sure / weight if weight else 0.0)
