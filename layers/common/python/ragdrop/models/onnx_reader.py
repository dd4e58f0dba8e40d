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
from ragdrop.errors import ConfigurationError, DeadlineError, ReaderError
from ragdrop.ports.model_services import Reading

SERVICE = "reader"
STAGE = "read"
VERSION = "1"  # of reader.json: what its numbers and the model's outputs mean
CLS, SEP = 101, 102
MAX_QUERY_TOKENS = 96
MAX_PAIR_TOKENS = 320  # with [CLS] and twice [SEP]
MAX_ANSWER_TOKENS = 40
MAX_BATCH_TOKENS = 2_048  # with padding
SMALL_BATCH_TOKENS = 256  # a smaller batch is not worth a separate thread
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
        thresholds: Of probabilities, as they were calibrated.
    """

    version: str
    sha256: str
    languages: tuple[str, ...]
    temperatures: Mapping[str, float]
    thresholds: Mapping[str, float]


def read_card(path: Path) -> ReaderCard:
    """Read reader.json.  Raises ConfigurationError: it is missing, damaged, or of a version that is not known."""
    try:
        fields = json.loads(_content(path))
        version = str(fields["version"])
        if version != VERSION:
            raise ConfigurationError(
                f"{path} has version {version!r}, this ragdrop reads {VERSION!r}: install the files of one release"
            )
        temperatures = {name: float(fields["temperatures"][name]) for name in ("relevance", "answerable", "support")}
        if not all(math.isfinite(each) and each > 0 for each in temperatures.values()):
            raise ValueError("a temperature must be positive")
        thresholds = {str(name): float(value) for name, value in fields.get("thresholds", {}).items()}
        return ReaderCard(version, str(fields["sha256"]), tuple(fields["languages"]), temperatures, thresholds)
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

    Each batch has one thread, and several batches run at once.  Small requests have separate threads.

    Args:
        folder: Holds reader.onnx and reader.json.
        tokenizer: tokenizer.json of the trunk; None is the one in *folder*.
        threads: Batches of small requests that run at once, and as many of large ones; None is one a core, at most
            MAX_THREADS.

    Raises:
        ConfigurationError: A package or a file is missing, damaged, or of another version.
    """

    def __init__(self, folder: Path, *, tokenizer: Path | None = None, threads: int | None = None) -> None:
        self.card = read_card(folder / "reader.json")
        model = folder / "reader.onnx"
        content = _content(model)
        if hashlib.sha256(content).hexdigest() != self.card.sha256:
            raise ConfigurationError(f"{model} has another checksum than reader.json names: install both again")
        self._numpy = _package("numpy")
        self._session = _session(content, model)
        self._tokenizer = _tokenizer(tokenizer or folder / "tokenizer.json")
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
        lengths = [len(window.tokens) for window in windows]
        pool = self._small if sum(lengths) <= SMALL_REQUEST_TOKENS else self._large
        batches = even_batches(lengths, self._threads)
        jobs = [pool.submit(self._run, [windows[place] for place in batch], deadline) for batch in batches]
        of_pairs: list[list[Reading]] = [[] for _ in pairs]
        try:
            for batch, job in zip(batches, jobs, strict=True):
                for place, reading in zip(batch, job.result(max(0.0, deadline.remaining_s())), strict=True):
                    of_pairs[windows[place].pair].append(reading)
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

    def _run(self, batch: Sequence[_Window], deadline: Deadline) -> list[Reading]:
        deadline.timeout_s(math.inf, stage=STAGE)
        np = self._numpy
        shape = len(batch), max(len(window.tokens) for window in batch)
        tokens, types, mask = (np.zeros(shape, np.int32) for _ in _INPUTS)
        for row, window in enumerate(batch):
            length = len(window.tokens)
            tokens[row, :length] = window.tokens
            types[row, window.passage_at : length] = 1
            mask[row, :length] = 1
        scores, edges = self._session.run(_OUTPUTS, {"tokens": tokens, "types": types, "mask": mask})
        if not (np.isfinite(scores).all() and np.isfinite(edges).all()):
            raise ReaderError("the reader gave a score that is no number", service=SERVICE, reason="unreadable")
        return [
            self._reading(window, row_scores.tolist(), row_edges)
            for window, row_scores, row_edges in zip(batch, scores, edges, strict=True)
        ]

    def _reading(self, window: _Window, scores: Sequence[float], edges: Any) -> Reading:
        relevance, answerable, *support = scores
        heat = self.card.temperatures
        highest = max(support)
        shares = [math.exp((logit - highest) / heat["support"]) for logit in support]
        return Reading(
            _sigmoid(relevance / heat["relevance"]),
            _sigmoid(answerable / heat["answerable"]),
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


def even_batches(lengths: Sequence[int], threads: int) -> list[list[int]]:
    """Places of *lengths* in batches of near lengths, shortest first, which are as even as *threads* can use.

    A batch has at most MAX_BATCH_TOKENS with its padding; a longer text is alone.

    >>> even_batches([200, 9, 200, 200, 200], 2), even_batches([9, 8], 2)
    ([[1, 0, 2], [3, 4]], [[1, 0]])
    """
    total = sum(lengths)
    share = total / max(min(threads, total // SMALL_BATCH_TOKENS), math.ceil(total / MAX_BATCH_TOKENS), 1)
    found: list[list[int]] = [[]]
    taken = 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        length, batch = lengths[place], found[-1]
        has_its_share = taken + length / 2 > share * len(found)
        if batch and (has_its_share or (len(batch) + 1) * length > MAX_BATCH_TOKENS):
            found.append([])
        found[-1].append(place)
        taken += length
    return found


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


def _sigmoid(logit: float) -> float:
    """Stable for large numbers of both signs."""
    return (1 + math.tanh(logit / 2)) / 2


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        message = f"{path} cannot be read ({exc.strerror}): install the reader's files, or do without the reader"
        raise ConfigurationError(message) from exc


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        message = f"package {name!r} is not installed: install requirements/models.txt, or set READER_URL"
        raise ConfigurationError(message) from exc


def _session(content: bytes, path: Path) -> Any:
    runtime = _package("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    named = [each.name for each in session.get_inputs()], [each.name for each in session.get_outputs()]
    if named != (_INPUTS, _OUTPUTS):
        raise ConfigurationError(f"{path} has other inputs and outputs than version {VERSION}: {named}")
    return session


def _tokenizer(path: Path) -> Any:
    package = _package("tokenizers")
    try:
        tokenizer = package.Tokenizer.from_str(_content(path).decode())
    except ConfigurationError:
        raise
    except Exception as exc:  # the package raises nothing narrower
        raise ConfigurationError(f"{path} is no tokenizer: {exc}") from exc
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
