"""What every Reader does: the fake, the shipped model in a process of the models environment, and a server's client."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from groundcheck import Passage
from models.reader.data import cell, own_passages, own_rows
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError, ReaderError
from ragdrop.generate.verify_answer import VerifyAnswer
from ragdrop.models.cached_reader import MAX_PAIRS, MODEL
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.reader import HttpReader
from ragdrop.ports.model_services import Reader, Reading
from ragdrop.resilience.breakers import Retries
from testing.memory_services import WordReader
from tests.faults.proxy import FaultProxies
from tests.faults.verifier import ANSWER, SOURCE, VERIFIER_FAULTS, VerifierFault
from tests.reader_server import ReaderServer, by_words, reader_server, supporting
from tests.world import World

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("RAGDROP_MODELS_PYTHON", "")
FOLDER = Path(os.environ.get("RAGDROP_READER_FOLDER") or ROOT / "models/reader")
PUMP = "The pump in the cellar 🚰 is not red. It was built in Åland in 1998."
PAIRS = [
    ("Where does the pump stand?", PUMP),
    ("The pump is red.", PUMP),
    ("When was it built?", "Soup needs salt."),
    ("", ""),
    ("\ud800 half a sign", "half a sign \udc00 and more"),
]
LONG = "the door is closed by hand " * 200 + "the password is green"
CHILD = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import RagdropError
from ragdrop.models.onnx_reader import OnnxReader

reader = OnnxReader(Path(sys.argv[1]), tokenizer=Path(sys.argv[2]))
print("ready", flush=True)
for line in sys.stdin:
    pairs, seconds = json.loads(line)
    try:
        reply = [asdict(each) for each in reader.read([tuple(pair) for pair in pairs], Deadline.after(seconds))]
    except RagdropError as exc:
        reply = {"error": type(exc).__name__, "message": exc.message, **exc.details}
    print(json.dumps(reply), flush=True)
"""


class ReaderInModels:
    """An OnnxReader in a process of the models environment, which this one lacks the packages of."""

    def __init__(self, tokenizer: Path) -> None:
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers/common/python")}
        self.command = [PYTHON, "-c", CHILD, str(FOLDER), str(tokenizer)]
        self._process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment
        )
        assert self._line() == "ready\n", "the reader did not come up"

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([list(map(list, pairs)), deadline.remaining_s()]) + "\n")
        self._process.stdin.flush()
        reply = json.loads(self._line())
        if isinstance(reply, list):
            return [Reading(**{**each, "answer": each["answer"] and tuple(each["answer"])}) for each in reply]
        failed = {"DeadlineError": DeadlineError, "ReaderError": ReaderError}[reply.pop("error")]
        raise failed(reply.pop("message"), **reply)

    def close(self) -> None:
        self._process.communicate(timeout=15)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@pytest.fixture(scope="module")
def in_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReaderInModels]:
    """The shipped model; RAGDROP_READER_FOLDER names another one's folder."""
    if not PYTHON:
        pytest.skip("RAGDROP_MODELS_PYTHON does not name the python of the models environment")
    if not (FOLDER / "reader.onnx").is_file():
        pytest.skip(f"{FOLDER / 'reader.onnx'} is not there: no reader was trained")
    tokenizer = tmp_path_factory.mktemp("reader") / "tokenizer.json"
    program = "import sys, pathlib, localstack.models.weights as w; w.write_tokenizer(pathlib.Path(sys.argv[1]))"
    subprocess.run([PYTHON, "-c", program, str(tokenizer)], cwd=ROOT, check=True, timeout=60)
    reader = ReaderInModels(tokenizer)
    yield reader
    reader.close()


@pytest.fixture
def server() -> Iterator[ReaderServer]:
    with reader_server() as made:
        yield made


def over_http(server: ReaderServer, version: str | None = "1") -> HttpReader:
    http = OpenAiHttp(server.url, api_key=lambda: "k", timeout_s=5, retries=Retries(sleep=lambda _: None))
    return HttpReader(http, version=version)


@pytest.fixture(params=["memory", "in process", "http"])
def reader(request: pytest.FixtureRequest) -> Reader:
    if request.param == "memory":
        return WordReader()
    if request.param == "http":
        return over_http(request.getfixturevalue("server"))
    made: Reader = request.getfixturevalue("in_models")
    return made


def numbers(reading: Reading) -> list[float]:
    return [reading.relevance, reading.answerable, reading.supported, reading.contradicted]


def test_each_pair_has_a_reading_of_probabilities_and_an_answer_in_its_passage(reader: Reader) -> None:
    readings = reader.read(PAIRS, Deadline.after(30))

    assert len(readings) == len(PAIRS)
    for (_, passage), reading in zip(PAIRS, readings, strict=True):
        assert all(0 <= number <= 1 for number in numbers(reading))
        assert reading.supported + reading.contradicted <= 1.001
        if passage:
            assert reading.answer is not None
            start, end = reading.answer
            assert 0 <= start < end <= len(passage)
    assert readings[3].answer is None


def test_a_pair_has_the_same_reading_alone_and_among_others(reader: Reader) -> None:
    others = [(f"What is number {place}?", f"Number {place} is a number. " * place) for place in range(1, 9)]

    [alone] = reader.read([PAIRS[0]], Deadline.after(30))
    among = reader.read([*others, PAIRS[0], *others], Deadline.after(30))[len(others)]

    assert numbers(among) == pytest.approx(numbers(alone), abs=1e-6)
    assert among.answer == alone.answer


def test_a_long_passage_is_read_to_its_end(reader: Reader) -> None:
    end = LONG[-1_500:]  # of some 320 words, each a token: the last window
    pairs = [("the password", end.partition(" ")[2]), ("the password", LONG)]

    of_end, of_all = reader.read(pairs, Deadline.after(60))

    assert all(whole >= part - 0.1 for whole, part in zip(numbers(of_all)[:3], numbers(of_end)[:3], strict=True))
    assert of_all.answer is not None
    assert of_all.answer[1] <= len(LONG)


def test_no_pairs_cost_no_call(server: ReaderServer, reader: Reader) -> None:
    assert reader.read([], Deadline.after(5)) == []
    assert server.requests == []


def test_a_deadline_that_has_passed_is_an_error_of_the_stage(reader: Reader) -> None:
    with pytest.raises(DeadlineError) as failed:
        reader.read(PAIRS, Deadline.after(-1))

    assert failed.value.details["stage"] == "read"


def test_a_large_request_ends_with_its_deadline(in_models: ReaderInModels) -> None:
    with pytest.raises(DeadlineError):
        in_models.read([(f"Which valve is number {place}?", LONG) for place in range(100)], Deadline.after(0.5))

    assert in_models.read(PAIRS[:1], Deadline.after(30))


SMALL_BESIDE_LARGE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from ragdrop.domain.deadlines import Deadline
from ragdrop.models.onnx_reader import OnnxReader

reader = OnnxReader(Path(sys.argv[1]), tokenizer=Path(sys.argv[2]))
pairs = [(str(n), "the door is closed " * 60) for n in range(60)]
with ThreadPoolExecutor(2) as pool:
    large = [pool.submit(reader.read, pairs, Deadline.after(60)) for _ in range(2)]
    reader.read([("the password", "the password is green")], Deadline.after(60))
    print(any(job.done() for job in large))
    print(sum(len(job.result()) for job in large))
"""


def test_a_small_request_does_not_wait_for_a_large_one(in_models: ReaderInModels) -> None:
    printed = subprocess.run(
        [*in_models.command[:1], "-c", SMALL_BESIDE_LARGE, *in_models.command[3:]],
        env=in_models.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout

    assert printed.split() == ["False", "120"]


def test_the_shipped_model_ranks_what_is_true_and_what_is_answered_first(in_models: ReaderInModels) -> None:
    wanted = {"own_true", "own_false", "own_unsaid", "other_answered", "other_near"}
    rows = [(cell(field), row) for field, row in own_rows(own_passages("dev")[::30]) if cell(field) in wanted]
    readings = in_models.read([(row.query, row.passage) for _, row in rows], Deadline.after(120))
    read: dict[str, list[float]] = defaultdict(list)
    for (name, row), reading in zip(rows, readings, strict=True):
        read[name].append(reading.supported if row.support else reading.answerable)

    assert wins(read["own_true"], read["own_false"]) > 0.88
    assert wins(read["own_true"], read["own_unsaid"]) > 0.95
    assert wins(read["other_answered"], read["other_near"]) > 0.78


def wins(high: list[float], low: list[float]) -> float:
    """The share of pairs in which *high* is above *low*."""
    return mean(a > b for a in high for b in low)


def test_the_request_names_model_and_pairs_and_carries_the_key(server: ReaderServer) -> None:
    over_http(server).read(PAIRS[:2], Deadline.after(5))

    assert server.requests == [{"path": "/v1/read", "model": MODEL, "pairs": [list(pair) for pair in PAIRS[:2]]}]
    assert server.keys == ["Bearer k"]


def test_many_pairs_are_several_requests(server: ReaderServer) -> None:
    pairs = [(str(place), f"{place} is a number") for place in range(MAX_PAIRS + 1)]

    readings = over_http(server).read(pairs, Deadline.after(5))

    assert [len(each["pairs"]) for each in server.requests] == [MAX_PAIRS, 1]
    assert {reading.relevance for reading in readings} == {1.0}


def item(**other: Any) -> dict[str, Any]:
    whole = {"index": 0, "relevance": 0.1, "answerable": 0.2, "supported": 0.3, "contradicted": 0.1, "answer": None}
    return {**whole, **other}


@pytest.mark.parametrize(
    "reply",
    [
        b"<html>",
        b"[NaN]",
        [],
        {"data": [item()]},
        {"version": "1"},
        {"version": "1", "data": []},
        {"version": "1", "data": [1]},
        {"version": "1", "data": [item(), item(index=1)]},
        {"version": "1", "data": [item(), item()]},
        {"version": "1", "data": [item(index=1)]},
        {"version": "1", "data": [item(index=[])]},
        {"version": "1", "data": [{"index": 0, "relevance": 0.1}]},
        *({"version": "1", "data": [item(relevance=wrong)]} for wrong in (1.01, -0.1, "0.5", None, True, 10**400)),
        *({"version": "1", "data": [item(supported=wrong)]} for wrong in (float("nan"), float("inf"))),
        *(
            {"version": "1", "data": [item(answer=wrong)]}
            for wrong in ([0], [2, 2], [-1, 2], [0, 9], [0.0, 1.0], "ab", 1)
        ),
    ],
)
def test_an_answer_that_is_not_whole_is_unreadable(server: ReaderServer, reply: Any) -> None:
    server.answer = lambda _: (200, reply)

    with pytest.raises(ReaderError) as failed:
        over_http(server).read([("Red?", "It is.")], Deadline.after(5))

    assert failed.value.details["reason"] == "unreadable"


def test_another_version_than_the_settings_name_is_an_error_that_says_what_to_do(server: ReaderServer) -> None:
    with pytest.raises(ReaderError, match="'1', and READER_VERSION is '2'") as failed:
        over_http(server, version="2").read(PAIRS[:1], Deadline.after(5))

    assert (failed.value.details["reason"], failed.value.retryable) == ("version", False)
    assert over_http(server, version=None).read(PAIRS[:1], Deadline.after(5))


@pytest.mark.parametrize(("status", "retryable", "calls"), [(500, True, 3), (429, True, 3), (404, False, 1)])
def test_a_refusal_is_an_error_that_says_whether_to_try_again(
    server: ReaderServer, status: int, retryable: bool, calls: int
) -> None:
    server.answer = lambda _: (status, {"error": {"message": "not now"}})

    with pytest.raises(ReaderError, match="not now") as failed:
        over_http(server).read(PAIRS[:1], Deadline.after(5))

    assert (failed.value.details["reason"], failed.value.retryable) == ("refused", retryable)
    assert len(server.requests) == calls


def test_a_server_that_comes_back_is_asked_again(server: ReaderServer) -> None:
    server.answer = lambda body: by_words(body) if len(server.requests) > 1 else (503, {})

    assert over_http(server).read(PAIRS[:1], Deadline.after(5))


def test_a_server_that_is_not_there_is_an_error() -> None:
    http = OpenAiHttp("http://127.0.0.1:9/v1", api_key=lambda: None, timeout_s=1, retries=Retries(sleep=lambda _: None))

    with pytest.raises(ReaderError) as failed:
        HttpReader(http).read(PAIRS[:1], Deadline.after(5))

    assert failed.value.details["reason"] == "unreachable"


@pytest.mark.parametrize(
    "fault", [each for each in VERIFIER_FAULTS if "by reader" in each.name], ids=lambda each: each.name
)
def test_each_fault_of_the_drill_leads_to_the_status_of_its_row(fault: VerifierFault) -> None:
    with FaultProxies() as proxies, reader_server(supporting) as server:
        proxy = proxies.before(int(server.url.split(":")[2].partition("/")[0]))
        proxy.set(fault.faults.get("reader", "pass"))
        settings = {**fault.settings, "READER_URL": f"http://127.0.0.1:{proxy.port}/v1"}
        verify = VerifyAnswer(World(settings=settings).app.ports.claim_verifier)

        found = verify(ANSWER, [Passage(SOURCE, id="source")], Deadline.after(6))

    assert [each.status for each in found.sentences] == [fault.status]
    assert bool(found.warnings) == (fault.status != "supported")
