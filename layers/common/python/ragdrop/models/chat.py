"""Chat completions of OpenAI-compatible endpoints, whole or streamed, from the first model that works.

Endpoints speak dialects of one protocol: what one of them refuses is left out or renamed, and asked again; thoughts of
reasoning models are no part of the answer.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import CONTEXT_LENGTH, GUARDRAIL, DeadlineError, DependencyError, GenerationError
from ragdrop.models.http import OLLAMA_PORT, OpenAiHttp, OpenAiModelList, missing_model, problem
from ragdrop.ports.model_services import Completion, Message, NearServer
from ragdrop.resilience.breakers import Retries, RetryRules

SERVICE = "chat"
PATH = "/chat/completions"
STAGE = "generate"
GUARDRAIL_ACTION = "amazon-bedrock-guardrailAction"  # a field of Bedrock's replies on each route but Converse
WITHHELD = (
    "a guardrail of Amazon Bedrock withheld the answer: change its filters (Bedrock, Guardrails), or the sources that "
    "it objects to"
)
ROOM_TO_THINK = 4  # times the tokens of an answer that a reasoning model gets: its thoughts count
T = TypeVar("T")
Changes = frozenset[str]
_REFUSED = {
    "max_tokens": re.compile(r"max_completion_tokens"),
    "temperature": re.compile(r"temperature"),
    "stream_options": re.compile(r"stream_options"),
    "response_format": re.compile(r"response_format|json_object"),
}
"""What an endpoint says where it does not take a field as it is."""
TOO_LONG = re.compile(
    r"context[_ ](?:length|size|window)|too long for (?:the )?requested model|prompt is too long|too large for model"
    r"|tokens to keep from the initial prompt",
    re.IGNORECASE,
)
_THOUGHTS = re.compile(r"\s*<(think|thinking|thought|reasoning)>")
_LONGEST_OPENING = len("<reasoning>")
Pieces = Generator[str | Completion, None, None]


class ChatInOrder(ABC):
    """A ChatModel of several; *models* are tried in order while one is down or missing."""

    def __init__(self, models: Sequence[str]) -> None:
        self._models = tuple(models)

    @abstractmethod
    def ask(
        self, name: str, messages: Sequence[Message], max_tokens: int, until: Deadline, *, as_json: bool
    ) -> Completion:
        """The whole answer of one model, *as_json* where its endpoint can see to that."""

    @abstractmethod
    def pieces(
        self, name: str, messages: Sequence[Message], max_tokens: int, until: Deadline, deadline: Deadline
    ) -> Pieces:
        """The answer of one model, which begins by *until* and ends by *deadline*.

        Nothing at all where the endpoint refused a field, and is to be asked again without it.
        """

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        deadline: Deadline,
        model: str | None = None,
        as_json: bool = False,
    ) -> Completion:
        def ask(name: str, until: Deadline) -> Completion:
            return self.ask(name, messages, max_tokens, until, as_json=as_json)

        return self._first(ask, deadline, model)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        def begin(name: str, until: Deadline) -> tuple[str | Completion, Pieces]:
            # an answer that has begun may use all the time left, not only the share of this model
            while True:
                pieces = self.pieces(name, messages, max_tokens, until, deadline)
                first = next(pieces, None)
                if first is not None:
                    return first, pieces

        first, rest = self._first(begin, deadline, model)
        with closing(rest):  # who stops listening stops the model
            yield first
            yield from rest

    def _first(self, call: Callable[[str, Deadline], T], deadline: Deadline, model: str | None) -> T:
        """The result of the first model that is not down; each has its share of the time."""
        names = (model,) if model else self._models
        failed: DependencyError | None = None
        for place, name in enumerate(names):
            try:
                return call(name, deadline.share(len(names) - place))
            except DependencyError as exc:
                failed = failed or exc
                if exc.details.get("reason") in {"content_filter", GUARDRAIL}:
                    break
        assert failed is not None  # noqa: S101 - the settings require a model
        raise failed


class OpenAiChatModel(ChatInOrder):
    """A ChatModel over `POST /v1/chat/completions`.

    Args:
        http: The endpoint.
        models: Are tried in order.
        thinks: Whether all its models reason, so that their thoughts count among the tokens of an answer.
        refusal: The error of a reply whose status is not 200, for a model.
    """

    def __init__(
        self,
        http: OpenAiHttp,
        *,
        models: Sequence[str],
        thinks: bool = False,
        refusal: Callable[[httpx.Response, str], DependencyError] | None = None,
    ) -> None:
        super().__init__(models)
        self._http = http
        self._refusal = refusal or _refusal
        self._known: Changes = frozenset({"max_tokens"} if thinks else ())
        self._changes: dict[str, Changes] = {}  # by model: the fields that it does not take as they are

    def ask(
        self, name: str, messages: Sequence[Message], max_tokens: int, until: Deadline, *, as_json: bool
    ) -> Completion:
        more = {"response_format": {"type": "json_object"}} if as_json else {}
        while True:
            with chat_errors(until):
                response = self._http.post(PATH, self._body(name, messages, max_tokens, **more), until, stage=STAGE)
            if response.status_code == httpx.codes.OK:
                return _completion(response, name)
            if not self._adapts(name, response):
                raise self._refusal(response, name)

    def _body(self, name: str, messages: Sequence[Message], max_tokens: int, **more: Any) -> dict[str, Any]:
        changes = self._changes.get(name, self._known)
        body: dict[str, Any] = {
            "model": name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
            **more,
        }
        if "max_tokens" in changes:
            body["max_completion_tokens"] = ROOM_TO_THINK * max_tokens
        return {field: value for field, value in body.items() if field not in changes}

    def _adapts(self, name: str, response: httpx.Response) -> bool:
        """Whether *response* refused a field that can be left out or renamed; the next request does so."""
        known = self._changes.get(name, self._known)
        if response.status_code not in {400, 422} or TOO_LONG.search(response.text):
            return False
        new = next(
            (field for field, said in _REFUSED.items() if field not in known and said.search(response.text)), None
        )
        self._changes[name] = known | {new} if new else known
        return new is not None

    def pieces(
        self, name: str, messages: Sequence[Message], max_tokens: int, until: Deadline, deadline: Deadline
    ) -> Pieces:
        more: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
        body = self._body(name, messages, max_tokens, **more)
        with chat_errors(deadline), self._http.stream(PATH, body, until, limit=deadline, stage=STAGE) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
                if self._adapts(name, response):
                    return
                raise self._refusal(response, name)
            if "json" in response.headers.get("content-type", ""):  # an endpoint that does not stream
                response.read()
                completion = _completion(response, name)
                yield completion.text
                yield completion
                return
            yield from _events(_lines(response.iter_bytes()), name)


@contextmanager
def chat_errors(deadline: Deadline) -> Iterator[None]:
    """Turn the transport's errors within the block into those of a ChatModel, which ends by *deadline*.

    Raises GenerationError or DeadlineError.
    """
    try:
        yield
    except GenerationError as exc:
        if exc.details.get("reason") == "broken_off" and deadline.remaining_s() <= 0:  # we cut it off ourselves
            raise DeadlineError("the chat model was not done in time", service=SERVICE, stage=STAGE) from exc
        raise
    except httpx.TimeoutException as exc:
        raise DeadlineError(_late(deadline), service=SERVICE, stage=STAGE) from exc
    except httpx.DecodingError as exc:
        raise unreadable_answer() from exc
    except (httpx.TransportError, httpx.StreamError) as exc:
        if deadline.remaining_s() <= 0:  # we cut it off ourselves
            raise DeadlineError("the chat model was not done in time", service=SERVICE, stage=STAGE) from exc
        broken = isinstance(exc, httpx.RemoteProtocolError | httpx.ReadError)
        message = "the chat service broke off" if broken else "the chat service could not be reached"
        reason = "broken_off" if broken else "unreachable"
        raise GenerationError(message, service=SERVICE, reason=reason) from exc


def _late(deadline: Deadline) -> str:
    """What to do where a model began no answer: attempts and requests have their limits."""
    if deadline.remaining_s() > 1:
        return "the chat model did not begin to answer in time: raise CHAT_TIMEOUT_S"
    return "the chat model did not begin to answer in the time of the request: ask with stream, or a faster model"


def _completion(response: httpx.Response, model: str) -> Completion:
    """The completion of a whole reply."""
    try:
        body = response.json()
        choice = body["choices"][0]
        text = without_thoughts(_text_of(choice["message"].get("content")))
        reason = GUARDRAIL if body.get(GUARDRAIL_ACTION) == "INTERVENED" else choice.get("finish_reason")
        return whole_answer(text, str(body.get("model") or model), reason, body.get("usage"))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as exc:
        raise unreadable_answer() from exc


def _text_of(content: object) -> str:
    """The text of a content that is a string, or a list of parts of which some are thoughts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def without_thoughts(text: str) -> str:
    """*text* without the thoughts at its start; they may lack the tag that opens them, which some templates hold.

    >>> without_thoughts("<think>7?</think> It is 7."), without_thoughts("7?</think>It is 7."), without_thoughts("7.")
    ('It is 7.', 'It is 7.', '7.')
    """
    visible = Visible()
    shown = visible.feed(text) + visible.end()
    return shown.rpartition("</think>")[2].lstrip() if "</think>" in shown else shown


class Visible:
    """Lets the text of a stream through, but for thoughts between tags at its start."""

    def __init__(self) -> None:
        self._waiting = ""
        self._begun = False

    def feed(self, piece: str) -> str:
        """What may be shown once *piece* has come."""
        if self._begun:
            return piece
        self._waiting += piece
        while opened := _THOUGHTS.match(self._waiting):
            _, closed, rest = self._waiting.partition(f"</{opened[1]}>")
            if not closed:
                return ""
            self._waiting = rest.lstrip()
        lead = self._waiting.lstrip()
        if lead.startswith("<") and len(lead) < _LONGEST_OPENING and ">" not in lead:
            return ""
        self._begun = bool(lead)
        return self._waiting if self._begun else ""

    def end(self) -> str:
        """What has waited and is no thought."""
        return "" if self._begun or _THOUGHTS.match(self._waiting) else self._waiting


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""The lines of a body that arrives in *chunks*; only newlines end them, not U+2028.

    >>> list(_lines([b"data: a\r", b"\n\xe2\x80\xa8b\n", b"c"])) == ["data: a", "\u2028b", "c"]
    True
    """
    left = b""
    for chunk in chunks:
        *whole_lines, left = (left + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole_lines)
    if left:
        yield left.removesuffix(b"\r").decode("utf-8", "replace")


def _events(lines: Iterable[str], model: str) -> Iterator[str | Completion]:
    """The text of a stream's events as it arrives, then the completion."""
    text: list[str] = []
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    done = False
    visible = Visible()
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            done = True
            break
        event = _event(data)
        model = str(event.get("model") or model)
        usage = event.get("usage") or usage
        if event.get(GUARDRAIL_ACTION) == "INTERVENED":
            finish_reason, done = GUARDRAIL, True
            break
        for choice in event.get("choices") or ():
            finish_reason = choice.get("finish_reason") or finish_reason
            piece = visible.feed(_text_of((choice.get("delta") or {}).get("content")))
            if piece:
                text.append(piece)
                yield piece
    if rest := visible.end():
        text.append(rest)
        yield rest
    if not done and finish_reason is None:
        raise GenerationError("the chat model's answer broke off", service=SERVICE, reason="broken_off")
    yield whole_answer("".join(text), model, finish_reason, usage)


def whole_answer(text: str, model: str, finish_reason: str | None, usage: Mapping[str, Any] | None) -> Completion:
    """The completion of a *text*, with the counts `prompt_tokens` and `completion_tokens` of *usage*.

    Raises GenerationError: there is no text, or a filter or a guardrail withheld it.
    """
    if finish_reason == GUARDRAIL:
        raise GenerationError(WITHHELD, service=SERVICE, retryable=False, reason=GUARDRAIL)
    if not text.strip():
        filtered = finish_reason == "content_filter"
        message = "the chat service's content filter withheld the answer" if filtered else "the chat model said nothing"
        reason = "content_filter" if filtered else "empty"
        raise GenerationError(message, service=SERVICE, retryable=not filtered, reason=reason)
    counts = usage or {}
    return Completion(text, model, finish_reason, counts.get("prompt_tokens"), counts.get("completion_tokens"))


def _refusal(response: httpx.Response, model: str) -> DependencyError:
    """The error of a reply whose status is not 200."""
    if response.status_code == httpx.codes.NOT_FOUND:
        return missing_model(response, model, service=SERVICE, setting="CHAT_MODELS")
    if response.status_code in {400, 413, 422} and TOO_LONG.search(response.text):
        message = "the prompt is longer than the chat model's context: lower MAX_CONTEXT_TOKENS"
        return GenerationError(
            message, service=SERVICE, retryable=False, reason=CONTEXT_LENGTH, status=response.status_code
        )
    retryable = response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error
    details: dict[str, Any] = {"reason": "refused", "status": response.status_code}
    later = response.headers.get("retry-after", "")
    if later.isdigit():
        details["retry_after_s"] = int(later)
    # what an endpoint says of a key may quote it
    refused = response.status_code in {401, 403}
    why = f"HTTP {response.status_code} (is CHAT_API_KEY right?)" if refused else problem(response)
    message = f"the chat service refused: {why}"
    return GenerationError(message, service=SERVICE, retryable=retryable, **details)


def unreadable_answer() -> GenerationError:
    """The error of an answer of another shape."""
    return GenerationError("the chat service gave an answer that cannot be read", service=SERVICE, reason="unreadable")


def _event(data: str) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError as exc:
        raise unreadable_answer() from exc
    if not isinstance(event, dict):
        raise unreadable_answer()
    if event.get("error"):
        error = event["error"]
        message = str(error.get("message") if isinstance(error, dict) else error)[:300]
        raise GenerationError(f"the chat service broke off: {message}", service=SERVICE, reason="broken_off")
    return event


PORTS = {"Ollama": OLLAMA_PORT, "LM Studio": 1234, "llama.cpp": 8080}  # where each listens unless it is set otherwise
LOOK_S = 1.0  # a server of this machine answers in milliseconds
TRY_S = 20.0  # a first answer waits until the model is in memory
MAX_MODELS = 50  # of a server
TOKENS = 64  # room for a model that thinks first


class LocalModels:
    """Looks at the usual ports of the host of *url*, and asks an endpoint one question; *client* is for tests."""

    def __init__(self, url: str, *, client: Callable[[], httpx.Client] | None = None) -> None:
        self._host = httpx.URL(url).host or "127.0.0.1"  # a container has another name for its machine
        self._client = client

    def near(self, deadline: Deadline) -> list[NearServer]:
        """The servers that answer with models, by the order of PORTS; all are asked at once, each for a second."""
        with ThreadPoolExecutor(len(PORTS), thread_name_prefix="ragdrop-near") as pool:
            found = pool.map(lambda name: self._look(name, PORTS[name], deadline), PORTS)
            return [server for server in found if server is not None]

    def attempt(self, url: str, model: str, key: str | None, deadline: Deadline) -> str | None:
        """Ask *model* at *url* for one word: None if it answers, else why not, without the key."""
        chat = OpenAiChatModel(self._http(url, key, TRY_S), models=[model])
        try:
            chat.complete([Message("user", "Say yes.")], max_tokens=TOKENS, deadline=deadline)
        except DependencyError as exc:
            if exc.details.get("reason") == "empty":  # it only thought: it is there, and takes the key
                return None
            return exc.message.replace(key, "…") if key else exc.message
        return None

    def _look(self, name: str, port: int, deadline: Deadline) -> NearServer | None:
        url = f"http://{self._host}:{port}/v1"
        try:
            found = OpenAiModelList(self._http(url, None, LOOK_S), service="chat").models(deadline)
        except DependencyError:
            return None
        return NearServer(name, url, tuple(sorted(found)[:MAX_MODELS])) if found else None

    def _http(self, url: str, key: str | None, timeout_s: float) -> OpenAiHttp:
        client = self._client() if self._client is not None else None
        return OpenAiHttp(
            url, api_key=lambda: key, timeout_s=timeout_s, client=client, retries=Retries(RetryRules(attempts=1))
        )
