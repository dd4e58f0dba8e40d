"""Read pairs of texts in this process by ONNX Runtime, with the model that ragdrop ships.

numpy, onnxruntime and tokenizers are imported when a reader is built: the layer of the functions does not hold them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import probability_of
from ragdrop.errors import ConfigurationError, DeadlineError, ReaderError
from ragdrop.ports.model_services import Reading

SERVICE = "reader"
STAGE = "read"
VERSION = "1"  # of reader.json: what its numbers and the model's outputs mean
CLS, SEP = 101, 102
MAX_QUERY_TOKENS = 96
MAX_PAIR_TOKENS = 320  # with [CLS] and twice [SEP]
MAX_ANSWER_TOKENS = 40
SMALL_REQUEST_TOKENS = 4_096  # a request up to this size never queues behind a larger one
MAX_THREADS = 4
_INPUTS, _OUTPUTS = ["tokens", "types", "mask"], ["scores", "edges"]


@dataclass(frozen=True, slots=True)
class ReaderCard:
    """What reader.json says of a model.

    Args:
        version: Of the model, with its calibration.
        sha256: Of reader.onnx.
        languages: ISO 639-1 codes of what it was trained on.
        temperatures: Divide the logits of relevance, answerable and support.
    """

    version: str
    sha256: str
    languages: tuple[str, ...]
    temperatures: Mapping[str, float]


def read_card(path: Path) -> ReaderCard:
    """Read reader.json.  Raises ConfigurationError: it is missing, damaged, or of a version that is not known."""
    try:
        fields = json.loads(file_content(path))
        version = str(fields["version"])
        if version != VERSION:
            raise ConfigurationError(
                f"{path} has version {version!r}, this ragdrop reads {VERSION!r}: install the files of one release"
            )
        temperatures = {name: float(fields["temperatures"][name]) for name in ("relevance", "answerable", "support")}
        if not all(math.isfinite(each) and each > 0 for each in temperatures.values()):
            raise ValueError("a temperature must be positive")
        return ReaderCard(version, str(fields["sha256"]), tuple(fields["languages"]), temperatures)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise ConfigurationError(f"{path} cannot be read: {exc!r}") from exc


class _Window(NamedTuple):
    """A pair, or a part of one with a long passage: its tokens, where the passage begins, and its code points."""

    pair: int
    tokens: list[int]
    passage_at: int
    offsets: list[tuple[int, int]]


class OnnxReader:
    """A Reader whose model runs in this process; several threads may call it.

    Each window has a pass of one thread alone.  Batches were no faster on a core (177 tokens: 11.8 ms alone, 13.0 ms a
    pair of eight), and with one scale for all 8-bit activations, which the shipped file avoids, a pair's probabilities
    differed by up to 0.4 with what else was in its batch.  Small requests have separate threads, so that none queues
    behind a large one.

    Args:
        folder: Holds reader.onnx and reader.json.
        tokenizer: tokenizer.json of the trunk; None is the one in *folder*.
        threads: Passes of small requests at once, and as many of large ones; None is one a core, at most MAX_THREADS.

    Raises:
        ConfigurationError: A package or a file is missing, damaged, or of another version.
    """

    def __init__(self, folder: Path, *, tokenizer: Path | None = None, threads: int | None = None) -> None:
        self.card = read_card(folder / "reader.json")
        model = folder / "reader.onnx"
        content = file_content(model)
        if hashlib.sha256(content).hexdigest() != self.card.sha256:
            raise ConfigurationError(f"{model} has another checksum than reader.json names: install both again")
        self._numpy = package("numpy")
        self._session = session_of(content)
        named = [each.name for each in self._session.get_inputs()], [each.name for each in self._session.get_outputs()]
        if named != (_INPUTS, _OUTPUTS):
            raise ConfigurationError(f"{model} has other inputs and outputs than version {VERSION}: {named}")
        self._tokenizer = tokenizer_of(tokenizer or folder / "tokenizer.json")
        self._threads = threads or min(os.cpu_count() or 1, MAX_THREADS)
        self._small = ThreadPoolExecutor(self._threads, thread_name_prefix="reader-small")
        self._large = ThreadPoolExecutor(self._threads, thread_name_prefix="reader-large")
        places = self._numpy.arange(MAX_PAIR_TOKENS)
        length = places[None, :] - places[:, None]
        self._spans = (length >= 0) & (length < MAX_ANSWER_TOKENS)  # first token x last token

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        if not pairs:
            return []
        windows = self._windows(pairs, deadline)
        windows.sort(key=lambda window: len(window.tokens), reverse=True)  # no thread ends long after the others
        tokens = sum(len(window.tokens) for window in windows)
        pool = self._small if tokens <= SMALL_REQUEST_TOKENS else self._large
        jobs = [pool.submit(self._run, window, deadline) for window in windows]
        of_pairs: list[list[Reading]] = [[] for _ in pairs]
        try:
            for window, job in zip(windows, jobs, strict=True):
                of_pairs[window.pair].append(job.result(max(0.0, deadline.remaining_s())))
        except TimeoutError as exc:
            raise DeadlineError("the reader used up the time", service=SERVICE, stage=STAGE) from exc
        finally:
            for job in jobs:
                job.cancel()
        return [merged_windows(readings) for readings in of_pairs]

    def _windows(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[_Window]:
        known: dict[str, tuple[list[int], list[tuple[int, int]]]] = {}
        found = []
        for number, pair in enumerate(pairs):
            deadline.timeout_s(math.inf, stage=STAGE)
            for text in pair:
                if text not in known:
                    whole = text.encode(errors="replace").decode()  # half a surrogate pair becomes a `?`
                    encoded = self._tokenizer.encode(whole, add_special_tokens=False)
                    known[text] = encoded.ids, encoded.offsets
            query = known[pair[0]][0][:MAX_QUERY_TOKENS]
            ids, offsets = known[pair[1]]
            room = MAX_PAIR_TOKENS - 3 - len(query)
            for start in window_starts(len(ids), room):
                tokens = [CLS, *query, SEP, *ids[start : start + room], SEP]
                found.append(_Window(number, tokens, len(query) + 2, offsets[start : start + room]))
        return found

    def _run(self, window: _Window, deadline: Deadline) -> Reading:
        deadline.timeout_s(math.inf, stage=STAGE)
        np = self._numpy
        tokens = np.array([window.tokens], np.int32)
        mask = np.ones_like(tokens)
        types = mask.copy()
        types[0, : window.passage_at] = 0
        scores, edges = self._session.run(_OUTPUTS, {"tokens": tokens, "types": types, "mask": mask})
        if not (np.isfinite(scores).all() and np.isfinite(edges).all()):
            raise ReaderError("the reader gave a score that is no number", service=SERVICE, reason="unreadable")
        return self._reading(window, scores[0].tolist(), edges[0])

    def _reading(self, window: _Window, scores: Sequence[float], edges: Any) -> Reading:
        relevance, answerable, *support = scores
        heat = self.card.temperatures
        highest = max(support)
        shares = [math.exp((logit - highest) / heat["support"]) for logit in support]
        return Reading(
            probability_of(relevance / heat["relevance"]),
            probability_of(answerable / heat["answerable"]),
            shares[0] / sum(shares),
            shares[1] / sum(shares),
            self._answer(window, edges),
        )

    def _answer(self, window: _Window, edges: Any) -> tuple[int, int] | None:
        """The code points from the likeliest first token to the likeliest last one of an answer."""
        count = len(window.offsets)
        if not count:
            return None
        inside = edges[window.passage_at : window.passage_at + count]
        worth = self._numpy.where(self._spans[:count, :count], inside[:, 0][:, None] + inside[:, 1][None, :], -math.inf)
        first, last = divmod(int(worth.argmax()), count)
        start, end = window.offsets[first][0], window.offsets[last][1]
        return (start, end) if start < end else None


def window_starts(tokens: int, room: int) -> list[int]:
    """Where windows of *room* tokens begin that overlap by a quarter at least; the last one ends with the passage.

    >>> window_starts(100, 220), window_starts(500, 220), window_starts(0, 220)
    ([0], [0, 165, 280], [0])
    """
    last = max(0, tokens - room)
    return [*range(0, last, room - room // 4), last]


def merged_windows(readings: Sequence[Reading]) -> Reading:
    """The reading of a passage by those of its windows.

    >>> merged_windows([Reading(0.9, 0.1, 0.2, 0.7, (0, 4)), Reading(0.3, 0.8, 0.6, 0.1, (90, 94))])
    Reading(relevance=0.9, answerable=0.8, supported=0.6, contradicted=0.7, answer=(90, 94))
    """
    answering = max(readings, key=lambda each: (each.answer is not None, each.answerable))
    return Reading(
        max(each.relevance for each in readings),
        answering.answerable,
        max(each.supported for each in readings),
        max(readings, key=lambda each: max(each.supported, each.contradicted)).contradicted,
        answering.answer,
    )


def file_content(path: Path) -> bytes:
    """The bytes of a model's file. Raises ConfigurationError: it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as exc:
        message = f"{path} cannot be read ({exc.strerror}): install the model's files, or name an endpoint for it"
        raise ConfigurationError(message) from exc


def package(name: str) -> Any:
    """The package that runs models. Raises ConfigurationError: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        message = f"package {name!r} is not installed: install requirements/models.txt, or name an endpoint"
        raise ConfigurationError(message) from exc


def session_of(content: bytes) -> Any:
    """A session of one thread for the model in *content*."""
    runtime = package("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def tokenizer_of(path: Path) -> Any:
    """The tokenizer of a tokenizer.json, without padding and truncation.

    Raises ConfigurationError: the file cannot be read, or is no tokenizer.
    """
    try:
        tokenizer = package("tokenizers").Tokenizer.from_str(file_content(path).decode())
    except ConfigurationError:
        raise
    except Exception as exc:  # the package raises nothing narrower
        raise ConfigurationError(f"{path} is no tokenizer: {exc}") from exc
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
