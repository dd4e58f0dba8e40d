"""The frameworks that benchmarks compare with are programs asked over pipes: here with a program of our own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.peers.process import PeerError, PeerProcess

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from benchmarks.peers.serving import Peer, best_documents, serve

class Words(Peer):
    distributions = ("pytest",)

    def open(self, place):
        print("a framework that greets")
        self.documents = {}
        return f"{place.configuration} over {place.index}"

    def add(self, documents):
        self.documents |= {each["id"]: each["text"] for each in documents}
        return 2 * len(documents)

    def search(self, query, limit):
        if query == "crash":
            raise ValueError("no such query")
        if query == "exit":
            sys.exit("gone")
        if query == "hang":
            sys.stdin.read()
        return best_documents([id_ for id_, text in self.documents.items() if query in text] * 2, limit)

    def close(self):
        self.documents = None

serve(Words())
"""
PLACE = {
    "embedding_url": "http://127.0.0.1:1/v1",
    "embedding_model": "none",
    "dimension": 8,
    "opensearch_url": "http://127.0.0.1:1",
    "index": "words",
    "configuration": "plain",
}
DOCUMENTS = [{"id": name, "title": name, "text": f"a pump in {name}"} for name in ("one", "two", "three")]


@pytest.fixture
def peer() -> Iterator[PeerProcess]:
    with PeerProcess("words", root=ROOT, command=[sys.executable, "-c", PROGRAM]) as process:
        process.open(**PLACE)
        process.ask("add", documents=DOCUMENTS)
        yield process


def test_what_a_framework_prints_does_not_come_between_the_answers() -> None:
    with PeerProcess("words", root=ROOT, command=[sys.executable, "-c", PROGRAM]) as process:
        opened = process.open(**PLACE)

    versions = {"pytest": pytest.__version__}
    assert opened == {"ok": True, "versions": versions, "settings": "plain over words", "shared": True}


def test_documents_are_added_and_found_each_once_with_the_time_of_each_query(peer: PeerProcess) -> None:
    found = peer.ask("search", queries=["pump", "in two"], limit=2)

    assert found["results"] == [["one", "two"], ["two"]]
    assert len(found["wall_ms"]) == len(found["cpu_ms"]) == 2
    assert min(found["wall_ms"]) > 0


def test_several_callers_get_the_answers_of_their_own_questions_in_order(peer: PeerProcess) -> None:
    found = peer.ask("search", queries=["in one", "in two", "in three"] * 8, limit=1, callers=4)

    assert found["results"] == [["one"], ["two"], ["three"]] * 8
    assert len(set(found["cpu_ms"])) == 1


def test_adding_reports_chunks_times_and_the_peak_of_memory(peer: PeerProcess) -> None:
    reported = peer.ask("add", documents=DOCUMENTS)

    assert reported["chunks"] == 6
    assert reported["wall_s"] >= 0
    assert reported["peak_mb"] > 1


def test_an_error_of_a_framework_is_reported_and_the_next_request_is_answered(peer: PeerProcess) -> None:
    with pytest.raises(PeerError, match="ValueError: no such query"):
        peer.ask("search", queries=["crash"], limit=1)

    assert peer.ask("search", queries=["two"], limit=1)["results"] == [["two"]]


def test_a_program_that_ends_is_an_error_with_the_end_of_its_log(peer: PeerProcess) -> None:
    with pytest.raises(PeerError, match="gone"):
        peer.ask("search", queries=["exit"], limit=1)


def test_a_program_that_does_not_answer_in_time_is_an_error_and_is_ended(peer: PeerProcess) -> None:
    with pytest.raises(PeerError, match="did not answer search"):
        peer.ask("search", queries=["hang"], limit=1, timeout_s=0.2)


def test_a_framework_that_is_not_installed_is_reported_with_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="make bench-env"), PeerProcess("langchain", root=tmp_path):
        pass
