"""The cache of readings, and what a reader in this process says of files and texts before it reads."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, ReaderError
from ragdrop.models.cached_reader import CachedReader
from ragdrop.models.onnx_reader import OnnxReader, merged_windows, window_starts
from ragdrop.ports.model_services import Reading
from testing.memory_services import WordReader

NOW = Deadline.after(86_400)


def test_a_pair_is_read_once_alone_and_among_others() -> None:
    reader = WordReader()
    cached = CachedReader(reader)
    first = cached.read([("red", "It is red."), ("red", "It is red.")], NOW)

    again = cached.read([("blue", "It is red."), ("red", "It is red.")], NOW)

    assert reader.asked == [[("red", "It is red.")], [("blue", "It is red.")]]
    assert first == [again[1]] * 2 == WordReader().read([("red", "It is red.")], NOW) * 2


def test_the_border_between_query_and_passage_counts() -> None:
    reader = WordReader()
    cached = CachedReader(reader)
    cached.read([("ab", "c")], NOW)

    cached.read([("a", "bc")], NOW)

    assert len(reader.asked) == 2


def test_the_least_recently_used_reading_goes_first() -> None:
    reader = WordReader()
    cached = CachedReader(reader, size=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        cached.read([(query, "text")], NOW)

    assert [pairs[0][0] for pairs in reader.asked] == ["a", "b", "c", "b"]


def test_a_failure_is_not_cached_and_what_was_read_before_needs_no_reader() -> None:
    reader = WordReader()
    cached = CachedReader(reader)
    cached.read([("a", "text")], NOW)
    reader.fail_with = ReaderError("down", service="reader")

    assert cached.read([("a", "text")], Deadline.after(-1))
    with pytest.raises(ReaderError):
        cached.read([("a", "text"), ("b", "text")], NOW)
    reader.fail_with = None

    assert cached.read([("b", "text")], NOW) == WordReader().read([("b", "text")], NOW)


@pytest.mark.parametrize("tokens", [0, 1, 219, 220, 221, 500, 5_000])
def test_windows_cover_a_passage_and_overlap_by_a_quarter(tokens: int) -> None:
    starts = window_starts(tokens, 220)

    assert (starts[0], starts[-1]) == (0, max(0, tokens - 220))
    assert all(0 < after - before <= 165 for before, after in pairwise(starts))


def test_the_best_window_supports_and_the_one_that_is_surest_contradicts() -> None:
    windows = [Reading(0.2, 0.9, 0.1, 0.6, (0, 4)), Reading(0.8, 0.3, 0.7, 0.2, (9, 12)), Reading(0, 1, 0, 0)]

    assert merged_windows(windows) == Reading(0.8, 0.9, 0.7, 0.2, (0, 4))


CARD = {
    "version": "1",
    "sha256": hashlib.sha256(b"model").hexdigest(),
    "languages": ["en"],
    "temperatures": {"relevance": 1.0, "answerable": 1.0, "support": 1.0},
}


def folder(path: Path, card: Any = CARD, model: bytes = b"model") -> Path:
    (path / "reader.json").write_text(card if isinstance(card, str) else json.dumps(card), "utf-8")
    (path / "reader.onnx").write_bytes(model)
    return path


@pytest.mark.parametrize("missing", ["reader.json", "reader.onnx"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    (folder(tmp_path) / missing).unlink()

    with pytest.raises(ConfigurationError, match=rf"{missing} cannot be read \(No such file"):
        OnnxReader(tmp_path)


def test_a_model_of_another_checksum_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"reader\.onnx has another checksum"):
        OnnxReader(folder(tmp_path, model=b"another"))


def test_a_version_that_the_code_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has version '2', this ragdrop reads '1'"):
        OnnxReader(folder(tmp_path, {"version": "2"}))


@pytest.mark.parametrize(
    "card", ["{", "[]", {"version": "1"}, {**CARD, "temperatures": {}}, {**CARD, "languages": None}]
)
def test_a_damaged_card_is_refused(tmp_path: Path, card: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"reader\.json cannot be read"):
        OnnxReader(folder(tmp_path, card))


@pytest.mark.parametrize("temperature", [0, -1, "x"])
def test_a_temperature_must_be_positive(tmp_path: Path, temperature: Any) -> None:
    card = {**CARD, "temperatures": {"relevance": temperature, "answerable": 1, "support": 1}}

    with pytest.raises(ConfigurationError, match=r"reader\.json cannot be read"):
        OnnxReader(folder(tmp_path, card))


@pytest.mark.skipif(importlib.util.find_spec("numpy") is not None, reason="this environment has numpy")
def test_a_missing_package_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"package 'numpy' is not installed: .* or name an endpoint"):
        OnnxReader(folder(tmp_path))
