"""What the caller's environment asks for: real models and another index in place of the local stand-ins."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from localstack.home import Home
from localstack.processes import LaunchError
from localstack.weights import DIMENSION, MODEL_NAME

TOKENIZER_KEY = f"tokenizers/{MODEL_NAME}.json"
ANSWERER_MODEL = "ragdrop-extractive"

# Environment variable -> template parameter, for what is passed on as it stands.
PASSED_ON = {
    "EMBEDDING_MODEL": "EmbeddingModel",
    "EMBEDDING_DIMENSION": "EmbeddingDimension",
    "EMBEDDING_MAX_TOKENS": "EmbeddingMaxTokens",
    "EMBEDDING_QUERY_PREFIX": "EmbeddingQueryPrefix",
    "EMBEDDING_PASSAGE_PREFIX": "EmbeddingPassagePrefix",
    "EMBEDDING_API_KEY": "EmbeddingApiKey",
    "CHAT_MODELS": "ChatModels",
    "CHAT_API_KEY": "ChatApiKey",
    "INDEX_PASSWORD": "IndexPassword",
    "INGEST_RETRY_BASE_S": "IngestRetryBaseS",
    "INGEST_CONCURRENCY": "IngestConcurrency",
    "LOG_LEVEL": "LogLevel",
}


@dataclass(frozen=True)
class Wishes:
    """Addresses that the caller named; None means the local stand-in."""

    embedding_url: str | None
    chat_url: str | None
    index_url: str
    passed_on: Mapping[str, str]

    def parameters(self, *, embedding_url: str, chat_url: str) -> dict[str, str]:
        """The template's parameters, given where the two models answer.

        >>> wishes = Wishes(None, None, "sqlite:///x", {"CHAT_API_KEY": "k"})
        >>> wishes.parameters(embedding_url="e", chat_url="c")["ChatApiKey"]
        'k'
        """
        local: dict[str, str] = {}
        if self.embedding_url is None:
            local |= {"EmbeddingModel": MODEL_NAME, "EmbeddingDimension": str(DIMENSION)}
        if self.chat_url is None:
            local |= {"ChatModels": ANSWERER_MODEL}
        passed = {parameter: self.passed_on.get(name, "") for name, parameter in PASSED_ON.items()}
        return {
            **{name: value for name, value in passed.items() if value or name in CLEARABLE},
            **local,
            "PythonRuntime": python_runtime(),
            "Architecture": architecture(),
            "IndexUrl": self.index_url,
            "EmbeddingUrl": embedding_url,
            "EmbeddingTokenizer": TOKENIZER_KEY if self.embedding_url is None else "",
            "ChatUrl": chat_url,
        }


# Written even when empty, so that what an earlier start was given is taken back.
CLEARABLE = frozenset(
    {
        "EmbeddingMaxTokens",
        "EmbeddingQueryPrefix",
        "EmbeddingPassagePrefix",
        "EmbeddingApiKey",
        "ChatApiKey",
        "IndexPassword",
    }
)


def read_wishes(environment: Mapping[str, str], home: Home, *, index: str) -> Wishes:
    """What *environment* asks for.

    Args:
        environment: Variables as in the README's table of settings.
        home: Where the embedded index lives.
        index: ``embedded``; INDEX_URL beats it.

    Raises:
        LaunchError: A model service is named without what has to be known of its model.
    """
    embedding_url = environment.get("EMBEDDING_URL") or None
    chat_url = environment.get("CHAT_URL") or None
    needed = ["EMBEDDING_MODEL", "EMBEDDING_DIMENSION"] if embedding_url else []
    needed += ["CHAT_MODELS"] if chat_url else []
    missing = [name for name in needed if not environment.get(name)]
    if missing:
        raise LaunchError(f"EMBEDDING_URL or CHAT_URL is set, so {' and '.join(missing)} must be set too.")
    if index != "embedded":
        raise LaunchError(f"there is no index {index!r}; there is: embedded")
    passed = {name: environment[name] for name in PASSED_ON if environment.get(name)}
    return Wishes(embedding_url, chat_url, environment.get("INDEX_URL") or f"sqlite:///{home.index}", passed)


def python_runtime() -> str:
    """Lambda's name of this interpreter: the emulator runs functions in it, so the build must be for it."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def architecture() -> str:
    """Lambda's name of this machine's processor."""
    return "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
