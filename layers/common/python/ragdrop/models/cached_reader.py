"""What a client of the reader and its server share, without HTTP: the model's name, its limit, a cache of readings."""

import hashlib
import time
from collections.abc import Sequence

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import ModelCall
from ragdrop.ports.model_services import Reader, Reading
from ragdrop.resilience.timing import note_call

MODEL = "ragdrop-reader"
MAX_PAIRS = 256  # of a request
MAX_READINGS = 10_000  # of the cache; some 4 MB


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
