"""What benchmarks keep, and the documents that they make or take a part of."""

from __future__ import annotations

import subprocess
from itertools import islice
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.__main__ import is_stored
from benchmarks.collections import Collection, CollectionDocument
from benchmarks.embeddings import GeneratedModel, documents, questions
from benchmarks.peers_quality import subset
from benchmarks.registry import BENCHMARKS

WHO = ["-c", "user.name=a", "-c", "user.email=a@example.org"]


def repository(folder: Path) -> Path:
    """A repository with one commit."""
    (folder / "first.py").write_text("measured")
    for command in (["init", "--quiet"], ["add", "."], [*WHO, "commit", "--quiet", "--message", "first"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def test_a_stored_record_is_read_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path))
    record = records.keep("speed", [{"p50": 1.5}], {"b": "2", "a": "1"})

    assert records.read("speed") == record
    assert list(record.versions) == ["b", "a"]


def test_a_quick_run_never_replaces_the_record_of_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path))
    whole = records.keep("speed", [1], {"a": "1"})
    quick = records.keep("speed", [2], {"a": "1"}, quick=True)

    assert records.read("speed") == whole
    assert records.read("speed", records.QUICK) == quick


def test_a_run_is_not_marked_by_what_runs_before_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path))
    generated = ("README.md", "docs/a.md", "benchmarks/results/a.json", *records.GENERATED)
    paths = [Path(each) for each in ("code.py", *generated)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("measured")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", *WHO, "commit", "--quiet", "--message", "second"], check=True)
    measured = records.commit()

    for path in paths[1:]:
        path.write_text("written")
    assert (records.commit(), len(measured)) == (measured, 7)

    subprocess.run(["git", *WHO, "commit", "--quiet", "--all", "--message", "third"], check=True)
    assert records.commit() == measured

    paths[0].write_text("changed")
    assert records.commit() == f"{measured}+"


def test_a_resumed_run_leaves_out_what_was_measured_whole_on_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository(tmp_path))
    records.keep("push", {}, {})
    records.keep("growth", {}, {}, older={"links": "aaaaaaa"})
    records.keep("peers_quality_scifact", {}, {})

    assert [name for name in BENCHMARKS if is_stored(name)] == ["push"]

    Path("first.py").write_text("changed")
    records.keep("push", {}, {})
    assert not is_stored("push")


def test_a_record_reports_the_commit_of_a_part_that_an_earlier_run_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository(tmp_path))
    now = records.commit()
    record = records.keep("growth", {}, {"a": "1"}, older={"links": "aaaaaaa", "sizes": now})

    assert record.commit_with_parts == f"{now} (links: aaaaaaa)"
    assert records.read("growth") == record


def test_the_machine_is_reported_without_its_name() -> None:
    assert sorted(records.machine()) == ["cores", "memory_gb", "processor"]


def test_a_part_of_a_collection_has_every_document_that_its_questions_need() -> None:
    sources = [CollectionDocument(f"d{number}", "", "text") for number in range(10)]
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
