"""Read pairs of texts by an endpoint with `POST /read`."""

from collections.abc import Sequence
from typing import Any

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ReaderError
from ragdrop.models.cached_reader import MAX_PAIRS, MODEL
from ragdrop.models.http import OpenAiHttp, problem, unreached
from ragdrop.ports.model_services import Reading

SERVICE = "reader"
STAGE = "read"
_PROBABILITIES = ("relevance", "answerable", "supported", "contradicted")


class HttpReader:
    """A Reader over `POST /read`: `{model, pairs: [[query, passage], …]}` -> `{version, data: [{index, …}, …]}`.

    An item of `data` has the fields of Reading; `answer` is `[start, end]` in code points, or null.

    Args:
        http: The endpoint.
        version: Of the model, as the thresholds expect it; None takes any.
    """

    def __init__(self, http: OpenAiHttp, *, version: str | None = None) -> None:
        self._http = http
        self._version = version

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        found: list[Reading] = []
        for at in range(0, len(pairs), MAX_PAIRS):
            found += self._read(pairs[at : at + MAX_PAIRS], deadline)
        return found

    def _read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        texts = [[text.encode(errors="replace").decode() for text in pair] for pair in pairs]  # no half surrogate pairs
        body = {"model": MODEL, "pairs": texts}
        try:
            response = self._http.post("/read", body, deadline, stage=STAGE)
        except httpx.TransportError as exc:
            raise ReaderError(unreached(exc, "the reader"), service=SERVICE, reason="unreachable") from exc
        status = response.status_code
        if status == httpx.codes.REQUEST_ENTITY_TOO_LARGE and len(pairs) > 1:
            half = len(pairs) // 2
            return self._read(pairs[:half], deadline) + self._read(pairs[half:], deadline)
        if status != httpx.codes.OK:
            retryable = status == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error
            message = f"the reader refused: {problem(response)}"
            raise ReaderError(message, service=SERVICE, retryable=retryable, reason="refused", status=status)
        try:
            reply = response.json()
            version, items = reply["version"], {item["index"]: item for item in reply["data"]}
            self._check(version)
            if len(reply["data"]) != len(pairs):
                raise ValueError(f"{len(reply['data'])} readings of {len(pairs)} pairs")
            return [read_item(items[place], passage) for place, (_, passage) in enumerate(pairs)]
        except (ValueError, KeyError, TypeError) as exc:
            raise ReaderError(
                "the reader gave an answer that cannot be read", service=SERVICE, reason="unreadable"
            ) from exc

    def _check(self, version: object) -> None:
        if self._version is not None and version != self._version:
            raise ReaderError(
                f"the reader has version {str(version)[:40]!r}, and READER_VERSION is {self._version!r}: "
                "change the setting or the model",
                service=SERVICE,
                retryable=False,
                reason="version",
            )


def read_item(item: dict[str, Any], passage: str) -> Reading:
    """The reading of *passage* in an item of a reply.

    Raises ValueError, KeyError or TypeError: it is none.

    >>> read_item({"relevance": 1, "answerable": 0.5, "supported": 0, "contradicted": 0, "answer": [0, 2]}, "It is.")
    Reading(relevance=1.0, answerable=0.5, supported=0.0, contradicted=0.0, answer=(0, 2))
    """
    numbers = {name: item[name] for name in _PROBABILITIES}
    if not all(type(number) in {int, float} and 0 <= number <= 1 for number in numbers.values()):
        raise ValueError("a number is no probability")
    answer = item["answer"]
    if answer is not None:
        start, end = answer
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(passage):
            raise ValueError("an answer that is not in its passage")
        answer = (start, end)
    return Reading(**{name: float(number) for name, number in numbers.items()}, answer=answer)
