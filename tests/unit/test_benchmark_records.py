"""What benchmarks keep, and the documents that they make or take a part of."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.collections import Collection, Source
from benchmarks.peers.generated import GeneratedModel, documents, questions
from benchmarks.peers_quality import subset
from benchmarks.records import Record

RECORD = Record(
    "speed", "2026-11-22", "abc1234", {"cores": 2, "memory_gb": 24, "processor": "X"}, {"a": "1"}, [{"p50": 1.5}]
)


def test_a_kept_record_is_read_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    records.keep(RECORD)

    assert records.read("speed") == RECORD


def test_a_quick_run_never_replaces_the_record_of_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    records.keep(RECORD)
    records.keep(replace(RECORD, quick=True, results=[]))

    assert records.read("speed") == RECORD
    assert records.read("speed", records.QUICK) == replace(RECORD, quick=True, results=[])


def test_the_machine_is_told_without_its_name() -> None:
    assert sorted(records.machine()) == ["cores", "memory_gb", "processor"]


def test_a_part_of_a_collection_has_every_document_that_its_questions_need() -> None:
    sources = [Source(f"d{number}", "", "text") for number in range(10)]
    relevant = {"q1": {"d9": 1.0}, "q2": {"d7": 1.0, "d8": 2.0}, "q3": {"d1": 1.0}}
    whole = Collection("c", sources, {name: name for name in relevant}, relevant, {name: [] for name in relevant})

    part = subset(whole, questions=2, documents=5)

    assert [source.id for source in part.documents] == ["d0", "d1", "d7", "d8", "d9"]
    assert sorted(part.questions) == sorted(part.relevant) == ["q1", "q2"]


def test_generated_documents_questions_and_vectors_are_the_same_in_every_process() -> None:
    texts = [each["text"] for each in islice(documents(50), 3)] + questions(2)

    assert texts == [each["text"] for each in islice(documents(10), 3)] + questions(9)[:2]
    assert GeneratedModel().embed(texts) == GeneratedModel().embed(texts)
    assert len(set(GeneratedModel().embed(texts).vectors)) == 5
