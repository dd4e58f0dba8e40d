"""Read pairs of texts by an endpoint with `POST /read`, and cache what was read."""

import hashlib
import time
from collections.abc import Sequence
from typing import Any

import httpx

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import ModelCall
from ragdrop.errors import ReaderError
from ragdrop.models.http import OpenAiHttp, problem, unreached
from ragdrop.ports.model_services import Reader, Reading
from ragdrop.resilience.timing import note_call

SERVICE = "reader"
STAGE = "read"
MODEL = "ragdrop-reader"
MAX_PAIRS = 256  # of a request
MAX_READINGS = 10_000  # of the cache; some 4 MB
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


class CachedReader:
    """A Reader that stores readings by the SHA-256 of query and passage; the least recently used go first.

    What it lets read is noted as a call of a model.

    Args:
        reader: Reads what is not known.
        size: Most readings.
    """

    def __init__(self, reader: Reader, *, size: int = MAX_READINGS) -> None:
        self._reader = reader
        self._known = BoundedCache[bytes, Reading](size=size)

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        keys = [_digest(query) + _digest(passage) for query, passage in pairs]
        found: dict[bytes, Reading] = {}
        missing: dict[bytes, tuple[str, str]] = {}
        for key, pair in zip(keys, pairs, strict=True):
            known = self._known.get(key, now_s=0.0)
            if known is None:
                missing[key] = pair
            else:
                found[key] = known
        if missing:
            start_s = time.perf_counter()
            readings = self._reader.read(list(missing.values()), deadline)
            note_call(ModelCall(MODEL, kind="reader", pairs=len(missing), ms=(time.perf_counter() - start_s) * 1_000))
            for key, reading in zip(missing, readings, strict=True):
                found[key] = reading
                self._known.put(key, reading, now_s=0.0)
        return [found[key] for key in keys]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
