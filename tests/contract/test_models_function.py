"""The models of the stack's own function, through the clients of the OpenAI protocol and a fake of Lambda."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import (
    ConfigurationError,
    DeadlineError,
    EmbeddingServiceError,
    GenerationError,
    ModelNotFoundError,
    ReaderError,
)
from ragdrop.models.answerer import MODEL as ANSWERER
from ragdrop.models.answerer import answerer_calls, read_by, similarity_by
from ragdrop.models.cached_reader import MODEL as READER
from ragdrop.models.cached_reader import CachedReader
from ragdrop.models.chat import OpenAiChatModel
from ragdrop.models.embedder import OpenAiEmbedder
from ragdrop.models.function_transport import BASE_URL, FunctionTransport
from ragdrop.models.http import OpenAiHttp, OpenAiModelList
from ragdrop.models.model_protocol import Embedded, ServedModels, embedding_calls, reader_calls
from ragdrop.models.reader import HttpReader
from ragdrop.ports.model_services import Completion, Message
from ragdrop.resilience.breakers import Retries
from testing.memory_functions import MemoryFunctions
from testing.memory_services import WordReader
from testing.models import word_vector

NAME = "ragdrop-models:live"
SPACE = EmbeddingSpace("words", 8)
PROMPT = """Sources up to the line "#0a1b end".
#0a1b [1] notes/pump.md | Pump
The pump is green. Its secret code is QX-5521.
#0a1b end

Question: What is the code of the pump?"""
MESSAGES = [Message("system", "Quote."), Message("user", PROMPT)]


class Words:
    """An EmbeddingModel in which equal words give near vectors."""

    name, dimension = "words", 8

    def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded([array("f", word_vector(text, 8)).tobytes() for text in texts], len(texts))


def served() -> ServedModels:
    """What the function's handler calls, over models of the tests' own."""
    reader = CachedReader(WordReader())
    answers = answerer_calls(similarity_by(Words()), read_by(reader))
    return ServedModels({"words": embedding_calls(Words()), READER: reader_calls(reader, "1"), ANSWERER: answers})


@pytest.fixture
def functions() -> MemoryFunctions:
    return MemoryFunctions(served())


def http_over(functions: MemoryFunctions, name: str = NAME) -> OpenAiHttp:
    client = httpx.Client(transport=FunctionTransport(name, functions))
    quick = Retries(sleep=lambda _: None)
    return OpenAiHttp(BASE_URL, api_key=lambda: None, timeout_s=30, client=client, retries=quick)


def embedder(functions: MemoryFunctions, name: str = NAME, batch_size: int = 32) -> OpenAiEmbedder:
    return OpenAiEmbedder(http_over(functions, name), batch_size=batch_size)


def test_a_question_has_the_vector_of_the_model(functions: MemoryFunctions) -> None:
    assert embedder(functions).query("the pump", SPACE, Deadline.after(5)) == word_vector("the pump", 8)


def test_passages_are_embedded_in_batches_and_stay_in_order(functions: MemoryFunctions) -> None:
    texts = [f"passage {number}" for number in range(70)]

    vectors = embedder(functions).passages(texts, SPACE, Deadline.after(5))

    assert vectors == [word_vector(text, 8) for text in texts]
    assert functions.calls == 3


def test_a_request_over_lambdas_limit_is_sent_in_halves(functions: MemoryFunctions) -> None:
    texts = [letter * 2_000_000 for letter in "abcd"]

    vectors = embedder(functions, batch_size=4).passages(texts, SPACE, Deadline.after(30))

    assert len(vectors) == 4
    assert functions.calls == 2


def test_pairs_that_lambda_does_not_take_together_are_read_in_halves(functions: MemoryFunctions) -> None:
    functions.refuse("RequestTooLargeException", 413)
    pairs = [("the pump", "The pump is red."), ("soup", "Soup needs salt.")]

    readings = HttpReader(http_over(functions), version="1").read(pairs, Deadline.after(5))

    assert readings == WordReader().read(pairs, Deadline.after(5))
    assert functions.calls == 3


def test_the_answerer_quotes_and_cites_whole_and_where_a_stream_is_asked_for(functions: MemoryFunctions) -> None:
    chat = OpenAiChatModel(http_over(functions), models=[ANSWERER])

    whole = chat.complete(MESSAGES, max_tokens=200, deadline=Deadline.after(5))
    *pieces, last = chat.stream(MESSAGES, max_tokens=200, deadline=Deadline.after(5))

    assert "Its secret code is QX-5521. [1]" in whole.text
    assert isinstance(last, Completion)
    assert "".join(map(str, pieces)) == last.text == whole.text


def test_an_answer_that_came_whole_may_be_read_after_the_deadline(functions: MemoryFunctions) -> None:
    chat = OpenAiChatModel(http_over(functions), models=[ANSWERER])

    stream = chat.stream(MESSAGES, max_tokens=200, deadline=Deadline.after(0.5))
    first = next(iter(stream))
    time.sleep(0.6)

    assert [first, *stream][-1].text == first  # type: ignore[union-attr]


def test_the_models_are_listed(functions: MemoryFunctions) -> None:
    found = OpenAiModelList(http_over(functions), service="chat").models(Deadline.after(5))

    assert found == frozenset({"words", READER, ANSWERER})


def test_another_model_than_the_functions_own_is_not_found(functions: MemoryFunctions) -> None:
    with pytest.raises(ModelNotFoundError, match="'other'"):
        embedder(functions).query("the pump", EmbeddingSpace("other", 8), Deadline.after(5))


def asked(functions: MemoryFunctions, name: str = NAME) -> Any:
    return embedder(functions, name).query("the pump", SPACE, Deadline.after(5))


TIMED_OUT = {"errorType": "Sandbox.Timedout", "errorMessage": "Task timed out after 60.00 seconds"}
NO_IMPORT = {"errorType": "Runtime.ImportModuleError", "errorMessage": "No module named 'numpy'"}


@pytest.mark.parametrize(
    ("fail", "said", "retryable"),
    [
        (lambda lambda_: lambda_.refuse("TooManyRequestsException", 429, times=3), "as many functions", True),
        (lambda lambda_: lambda_.refuse("ServiceException", 500, times=3), "could not run", True),
        (lambda lambda_: lambda_.refuse("AccessDeniedException", 403), "may not be invoked by this function's", False),
        (lambda lambda_: lambda_.fail(TIMED_OUT, times=3), "Sandbox.Timedout: Task timed out", True),
        (lambda lambda_: lambda_.fail(NO_IMPORT, times=3), "No module named 'numpy'", True),
        (lambda lambda_: lambda_.refuse("RequestTooLargeException", 413), "request of this size", False),
        (lambda lambda_: lambda_.fail(EndpointConnectionError(endpoint_url="x"), times=3), "not be reached", True),
        (lambda lambda_: lambda_.fail(ReadTimeoutError(endpoint_url="x")), "did not answer in time", True),
        (lambda lambda_: lambda_.fail(ConnectTimeoutError(endpoint_url="x"), times=3), "did not answer in time", True),
    ],
    ids=["throttled", "broken", "forbidden", "timed out", "not importable", "too large", "no route", "slow", "silent"],
)
def test_what_lambda_refuses_is_an_error_that_says_whether_to_try_again(
    functions: MemoryFunctions, fail: Callable[[MemoryFunctions], None], said: str, *, retryable: bool
) -> None:
    fail(functions)

    with pytest.raises(EmbeddingServiceError, match=said) as failed:
        asked(functions)

    assert failed.value.retryable is retryable


def test_an_error_of_the_functions_code_is_named_without_its_message(functions: MemoryFunctions) -> None:
    functions.fail({"errorType": "ValueError", "errorMessage": "bad text: my secret"}, times=3)

    with pytest.raises(EmbeddingServiceError, match=r"failed with ValueError$"):
        asked(functions)


def test_a_throttled_call_is_tried_again(functions: MemoryFunctions) -> None:
    functions.refuse("TooManyRequestsException", 429, times=2)

    assert asked(functions) == word_vector("the pump", 8)
    assert functions.calls == 3


def test_a_function_that_does_not_exist_is_an_error_of_the_deployment(functions: MemoryFunctions) -> None:
    with pytest.raises(ConfigurationError, match="function other-models:live does not exist: deploy the stack again"):
        asked(functions, "other-models:live")


def test_missing_credentials_are_an_error_of_the_deployment(functions: MemoryFunctions) -> None:
    functions.fail(NoCredentialsError())

    with pytest.raises(ConfigurationError, match="no AWS credentials"):
        asked(functions)


def test_a_slow_answer_ends_with_the_deadline(functions: MemoryFunctions) -> None:
    functions.gate.clear()

    with pytest.raises(EmbeddingServiceError, match="did not answer in time"):
        embedder(functions).query("the pump", SPACE, Deadline.after(0.2))
    with pytest.raises(ReaderError, match="did not answer in time"):
        HttpReader(http_over(functions)).read([("a", "b")], Deadline.after(0.2))
    with pytest.raises(DeadlineError):
        OpenAiChatModel(http_over(functions), models=[ANSWERER]).complete(
            MESSAGES, max_tokens=9, deadline=Deadline.after(0.2)
        )
    functions.gate.set()


def test_an_answer_that_no_model_gives_is_unreadable() -> None:
    with pytest.raises(GenerationError, match="cannot be read"):
        OpenAiChatModel(http_over(MemoryFunctions(lambda _: "hello")), models=["m"]).complete(
            MESSAGES, max_tokens=9, deadline=Deadline.after(5)
        )


@pytest.mark.parametrize(
    ("event", "status", "said"),
    [
        (None, 400, "must be an object with a path"),
        ({"path": 7}, 400, "must be an object with a path"),
        ({"path": "/sing"}, 404, "No model for /sing"),
        ({"path": "/embeddings"}, 400, "The body must be a JSON object"),
        ({"path": "/embeddings", "body": {"input": [""]}}, 400, "input[0] is empty"),
        ({"path": "/read", "body": {"pairs": [["a"]]}}, 400, "pairs[0] needs a query and a passage"),
        ({"path": "/chat/completions", "body": {"model": ANSWERER}}, 400, "messages must be a list"),
    ],
)
def test_a_bad_event_is_refused_with_what_is_wrong(event: object, status: int, said: str) -> None:
    answer = served()(event)

    assert answer["status"] == status
    assert said in answer["body"]["error"]["message"]
