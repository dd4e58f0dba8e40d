"""The laptop's model server, started for real, speaks the OpenAI protocol."""

from __future__ import annotations

import base64
import json
import math
import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("RAGDROP_MODELS_PYTHON", "")
START_TIMEOUT_S = 60
READER = Path(os.environ.get("RAGDROP_READER_FOLDER") or ROOT / "models/reader")
PASSAGE = " ".join(["the pump stands in the cellar of the hall"] * 40)  # over the model's window of 256 tokens
PROMPT = """Sources up to the line "#0a1b end".
#0a1b [1] notes/pump.md | Pump
The pump is green. Its secret code is QX-5521.
#0a1b end

Question: What is the code of the pump?"""

pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="RAGDROP_MODELS_PYTHON does not name the python of the models environment"),
    pytest.mark.enable_socket,
]


@contextmanager
def running(*arguments: str) -> Iterator[httpx.Client]:
    """A server on a free loopback port, healthy, stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([PYTHON, "-m", "localstack.models.server", "--port", str(port), *arguments], cwd=ROOT)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120, trust_env=False) as client:
            await_health(client, process)
            yield client
    finally:
        process.terminate()
        process.wait(timeout=15)


def await_health(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended before it was healthy"
        try:
            if client.get("/health").json() == {"status": "ok"}:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"not healthy within {START_TIMEOUT_S} s")


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = str(tmp_path_factory.mktemp("models"))
    with running("--embedding", "all-MiniLM-L6-v2", "--answerer", "--home", home) as client:
        yield client


@pytest.fixture(scope="module", params=["words alone", "with embeddings"])
def answerer(request: pytest.FixtureRequest, embeddings: httpx.Client) -> Iterator[httpx.Client]:
    if request.param == "with embeddings":
        yield embeddings
    else:
        with running("--answerer") as client:
            yield client


def embed(client: httpx.Client, value: object, **more: object) -> list[list[float]]:
    answer = client.post("/v1/embeddings", json={"input": value, "model": "all-MiniLM-L6-v2", **more})
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert [item["index"] for item in data] == list(range(len(data)))
    return [item["embedding"] for item in data]


def dot(left: list[float], right: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def chat(client: httpx.Client, **more: object) -> httpx.Response:
    body = {"model": "ragdrop-extractive", "messages": [{"role": "user", "content": PROMPT}], **more}
    return client.post("/v1/chat/completions", json=body)


def test_vectors_are_normalised_of_384_numbers_and_mean_something(embeddings: httpx.Client) -> None:
    car, automobile, soup = embed(embeddings, ["a fast car", "a quick automobile", "tomato soup with basil"])

    assert len(car) == 384
    assert dot(car, car) == pytest.approx(1.0, abs=1e-5)
    assert dot(car, automobile) > dot(car, soup) + 0.3


def test_a_text_has_the_same_vector_alone_and_among_others_in_any_order(embeddings: httpx.Client) -> None:
    texts = ["short", PASSAGE, "the valve of the pump", "x", *(f"note {n} " * n for n in range(1, 30))]

    together = embed(embeddings, texts)

    for position in (0, 1, 2, 20):
        assert dot(embed(embeddings, texts[position])[0], together[position]) > 0.999


def test_words_near_the_end_of_the_window_count(embeddings: httpx.Client) -> None:
    body = " ".join(["stone"] * 230)

    assert dot(*embed(embeddings, [f"{body} volcano erupts", f"{body} tax return"])) < 0.9999


def test_base64_and_float_are_the_same_numbers(embeddings: httpx.Client) -> None:
    [coded] = embed(embeddings, "pump", encoding_format="base64")
    [plain] = embed(embeddings, "pump")

    assert struct.unpack("<384f", base64.b64decode(str(coded))) == pytest.approx(plain, abs=1e-6)


def test_tokens_are_counted(embeddings: httpx.Client) -> None:
    answer = embeddings.post("/v1/embeddings", json={"input": ["hello world", "hello"]}).json()

    assert answer["usage"] == {"prompt_tokens": 7, "total_tokens": 7}  # each text has [CLS] and [SEP]


@pytest.mark.parametrize(
    ("body", "status"), [({"input": ""}, 400), ({"input": []}, 400), ({"input": "a", "model": "nope"}, 404), ("{", 400)]
)
def test_a_bad_request_gets_an_error_of_the_protocol(embeddings: httpx.Client, body: object, status: int) -> None:
    content = body if isinstance(body, str) else json.dumps(body)

    answer = embeddings.post("/v1/embeddings", content=content)

    assert answer.status_code == status
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_health_and_questions_are_answered_while_documents_are_embedded(embeddings: httpx.Client) -> None:
    with ThreadPoolExecutor() as pool:
        bulk = [pool.submit(embed, embeddings, [PASSAGE] * 12) for _ in range(2)]
        embed(embeddings, "how do I start the pump?")
        healthy = embeddings.get("/health").status_code
        waiting = not all(job.done() for job in bulk)
        assert [len(job.result()) for job in bulk] == [12, 12]

    assert healthy == 200
    assert waiting


def test_the_written_tokenizer_counts_every_token(tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.json"

    subprocess.run([PYTHON, "-m", "localstack.models.weights", str(target)], cwd=ROOT, check=True, timeout=60)

    tokenizer = json.loads(target.read_text(encoding="utf-8"))
    assert tokenizer["truncation"] is None
    assert tokenizer["padding"] is None
    assert len(tokenizer["model"]["vocab"]) == 30522


def test_all_models_are_listed(embeddings: httpx.Client) -> None:
    listed = [entry["id"] for entry in embeddings.get("/v1/models").json()["data"]]

    assert listed == ["all-MiniLM-L6-v2", "ragdrop-extractive"]


@pytest.mark.skipif(not (READER / "reader.onnx").exists(), reason="there is no trained reader: make reader-train")
def test_the_reader_is_served_beside_the_others_and_reranks_by_its_relevance(tmp_path: Path) -> None:
    passages = ["The pump stands in the cellar.", "Soup needs salt.", PASSAGE * 4]

    with running("--answerer", "--reader", str(READER), "--home", str(tmp_path)) as client:
        listed = [entry["id"] for entry in client.get("/v1/models").json()["data"]]
        read = client.post("/v1/read", json={"pairs": [["Where is the pump?", each] for each in passages]}).json()
        reply = client.post("/v1/rerank", json={"query": "Where is the pump?", "documents": passages})

    assert listed == ["ragdrop-extractive", "ragdrop-reader"]
    assert read["version"] == json.loads((READER / "reader.json").read_text("utf-8"))["version"]
    assert [each["index"] for each in read["data"]] == [0, 1, 2]
    relevance = {each["index"]: each["relevance"] for each in read["data"]}
    ranked = [(each["index"], each["relevance_score"]) for each in reply.json()["results"]]
    assert [index for index, _ in ranked] == sorted(relevance, key=lambda index: -relevance[index])
    assert dict(ranked) == pytest.approx(relevance, abs=1e-3)


def test_the_answerer_quotes_and_cites(answerer: httpx.Client) -> None:
    answer = chat(answerer).json()

    assert answer["choices"][0]["message"]["content"] == "The pump is green. [1] Its secret code is QX-5521. [1]"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["total_tokens"] > 0


def test_the_answerer_streams_the_same_answer(answerer: httpx.Client) -> None:
    answer = chat(answerer, stream=True, stream_options={"include_usage": True})
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line]
    chunks = [json.loads(line) for line in lines[:-1]]

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert lines[-1] == "[DONE]"
    assert chunks[-1]["usage"]["total_tokens"] > 0
    streamed = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks[:-1])
    assert streamed == chat(answerer).json()["choices"][0]["message"]["content"]


def test_a_one_token_completion_ends_by_length(answerer: httpx.Client) -> None:
    choice = chat(answerer, max_tokens=1, messages=[{"role": "user", "content": "ping"}]).json()["choices"][0]

    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"]


def test_an_unknown_chat_model_is_not_found(answerer: httpx.Client) -> None:
    answer = chat(answerer, model="nope")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "model_not_found"
