"""Answers from any endpoint that speaks the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from ragdrop.adapters.openai_http import OpenAiHttp, problem
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError, GenerationError, ModelNotFoundError
from ragdrop.ports import Completion, Message

SERVICE = "chat"
OLLAMA_PORT = 11434


class OpenAiChatModel:
    """A ChatModel over `POST /v1/chat/completions`."""

    def __init__(self, http: OpenAiHttp, *, models: Sequence[str]) -> None:
        self._http = http
        self._model = models[0]

    def complete(self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline) -> Completion:
        """The whole answer of the model."""
        body = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        try:
            response = self._http.post("/chat/completions", body, deadline, stage="generate")
        except httpx.TimeoutException as exc:
            raise DeadlineError("the chat model did not answer in time", service=SERVICE, stage="generate") from exc
        except httpx.TransportError as exc:
            raise GenerationError("the chat service could not be reached", service=SERVICE) from exc
        if response.status_code == httpx.codes.NOT_FOUND:
            raise self._model_not_found(response)
        if response.status_code != httpx.codes.OK:
            retryable = response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error
            raise GenerationError(
                f"the chat service refused: {problem(response)}", service=SERVICE, retryable=retryable
            )
        return self._completion(response)

    def _completion(self, response: httpx.Response) -> Completion:
        try:
            body = response.json()
            choice = body["choices"][0]
            usage = body.get("usage") or {}
            return Completion(
                text=choice["message"]["content"] or "",
                model=str(body.get("model") or self._model),
                finish_reason=choice.get("finish_reason"),
                prompt_tokens=usage.get("prompt_tokens"),
                completion_tokens=usage.get("completion_tokens"),
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as exc:
            raise GenerationError("the chat service gave an answer that cannot be read", service=SERVICE) from exc

    def _model_not_found(self, response: httpx.Response) -> ModelNotFoundError:
        ollama = httpx.URL(self._http.url).port == OLLAMA_PORT
        install = f"ollama pull {self._model}" if ollama else f"set CHAT_MODELS to a model that {self._http.url} lists"
        return ModelNotFoundError(
            f"the chat endpoint does not have the model {self._model!r}: {problem(response)}",
            service=SERVICE,
            retryable=False,
            model=self._model,
            install=install,
        )
