"""Chat models on this machine, and whether an endpoint takes a key: for people who connect their first model."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DependencyError
from ragdrop.models.chat import OpenAiChatModel
from ragdrop.models.http import OLLAMA_PORT, OpenAiHttp, OpenAiModelList
from ragdrop.ports.model_services import Message, NearServer
from ragdrop.resilience.breakers import Retries, RetryRules

PORTS = {"Ollama": OLLAMA_PORT, "LM Studio": 1234, "llama.cpp": 8080}  # where each listens unless it is told otherwise
LOOK_S = 1.0  # a server of this machine answers in milliseconds
TRY_S = 20.0  # a first answer waits until the model is in memory
MAX_MODELS = 50  # of a server
TOKENS = 64  # room for a model that thinks first


class LocalModels:
    """Looks at the usual ports of *host*, and asks an endpoint one question; *client* is for tests."""

    def __init__(self, host: str, *, client: Callable[[], httpx.Client] | None = None) -> None:
        self._host = host
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
