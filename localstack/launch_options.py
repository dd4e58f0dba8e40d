"""What the caller's environment asks for: real models and another index in place of the local stand-ins."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from localstack_client.config import DEFAULT_EDGE_PORT, parse_localstack_host

from localstack.home import REPOSITORY, Home
from localstack.models.weights import DIMENSION, MODEL_NAME, MULTILINGUAL_NAME, PASSAGE_PREFIX, QUERY_PREFIX
from localstack.processes import HOST, LaunchError, bind_address
from ragdrop.config import DEPLOYMENT_SETTINGS
from ragdrop.domain.settings import read_variables
from ragdrop.errors import ConfigurationError
from ragdrop_cli import costs

TOKENIZER_KEY = f"tokenizers/{MODEL_NAME}.json"
ANSWERER_MODEL = "ragdrop-extractive"
STACK_NAME = "ragdrop"
EMULATOR_VARIABLES = ("AWS_ENDPOINT_URL", "LOCALSTACK_HOST", "LOCALSTACK_HOSTNAME", "EDGE_PORT")  # the first decides
REAL_AWS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
MODELS_HOST = "RAGDROP_MODELS_HOST"
ATTACHED = "-attached-"  # in the name of a stack on a foreign emulator
MAX_STACK_NAME = 25  # the document bucket is named after it
LOCAL_MODEL = "RAGDROP_LOCAL_MODEL"  # the variable by which `make demo MODEL=` names the local model
INDEXES = ("bucket", "opensearch")  # the first is the default
PROCESSES = max(2, os.cpu_count() or 2)  # of a function at once: each unpacks and imports all that it needs
BUCKET_URL = "s3://"
CONFIG = REPOSITORY / "samconfig.toml"
MODELS = "RAGDROP_MODELS"  # the variable by which `make up MODELS=function` asks for the function of the template
IN_FUNCTION = "function"

# Environment variable -> template parameter, passed on unchanged.  Other settings go into the settings document.
PASSED_ON = {
    "EMBEDDING_MODEL": "EmbeddingModel",
    "EMBEDDING_DIMENSION": "EmbeddingDimension",
    "EMBEDDING_API_KEY": "EmbeddingApiKey",
    "CHAT_MODELS": "ChatModels",
    "CHAT_API_KEY": "ChatApiKey",
    "RERANK_URL": "RerankUrl",
    "READER_URL": "ReaderUrl",
    "OCR_URL": "OcrUrl",
    "RERANK_API_KEY": "RerankApiKey",
    "INDEX_PASSWORD": "IndexPassword",
    "INGEST_CONCURRENCY": "IngestConcurrency",
    "CORS_ALLOW_ORIGINS": "CorsAllowOrigins",
}


@dataclass(frozen=True)
class LocalModel:
    """A local embedding model: the environment that runs it, its parameters and settings, and if OCR runs with it."""

    environment: str
    name: str
    settings: Mapping[str, str]
    with_ocr: bool = False


_ENGLISH = LocalModel("models", MODEL_NAME, {"embedding_tokenizer": TOKENIZER_KEY})
LOCAL_MODELS = {
    "english": _ENGLISH,
    "ocr": replace(_ENGLISH, with_ocr=True),
    "multilingual": LocalModel(
        "multilingual",
        MULTILINGUAL_NAME,
        {"embedding_query_prefix": QUERY_PREFIX, "embedding_passage_prefix": PASSAGE_PREFIX},
    ),
}


def local_model_of(environment: Mapping[str, str]) -> str:
    """The name of the requested local model. Raises LaunchError if there is no such model."""
    name = environment.get(LOCAL_MODEL) or "english"
    if name not in LOCAL_MODELS:
        raise LaunchError(f"There is no local model named {name!r}: MODEL is one of {', '.join(LOCAL_MODELS)}.")
    return name


@dataclass(frozen=True)
class LaunchOptions:
    """Addresses that the caller named; None means the local stand-in: for the index, a new OpenSearch node.

    With *in_function* models that the caller names no address for run in the stack's own function, as on AWS.

    *bind* is where local servers listen, *models_host* how functions name this machine, where the caller says so.
    """

    embedding_url: str | None
    chat_url: str | None
    index_url: str | None
    passed_on: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    local_model: LocalModel = LOCAL_MODELS["english"]
    emulator_url: str | None = None
    bind: str = HOST
    models_host: str = ""
    reader: Path = REPOSITORY / "models/reader"
    in_function: bool = False

    @property
    def serves_reader(self) -> bool:
        """Whether the reader, which reads English, runs here: its model is there, and the caller named no other."""
        is_possible = "READER_URL" not in self.passed_on and self.local_model.environment == "models"
        return not self.in_function and is_possible and (self.reader / "reader.onnx").exists()

    @property
    def model_servers(self) -> dict[str, tuple[str, list[str]]]:
        """By the name of a local server: its environment, and what it serves as the caller named no other for it."""
        here = not self.in_function
        served = ["--embedding", self.local_model.name] if here and self.embedding_url is None else []
        served += ["--answerer"] if here and self.chat_url is None else []
        served += ["--reader", str(self.reader)] if self.serves_reader else []
        servers = {"models": (self.local_model.environment, served)} if served else {}
        if self.local_model.with_ocr and "OCR_URL" not in self.passed_on:
            servers["ocr"] = ("ocr", ["--ocr"])
        return servers

    def parameters(self, *, index_url: str, embedding_url: str, chat_url: str) -> dict[str, str]:
        """The template's parameters that are not their defaults, given where index and models answer."""
        local: dict[str, str] = {}
        if self.embedding_url is None:
            local |= {"EmbeddingModel": self.local_model.name, "EmbeddingDimension": str(DIMENSION)}
        if self.chat_url is None:
            local |= {"ChatModels": ANSWERER_MODEL}
        passed = {parameter: self.passed_on.get(name, "") for name, parameter in PASSED_ON.items()}
        return {
            "IngestConcurrency": str(PROCESSES),
            "ReaderUrl": "" if self.in_function else "none",
            **{name: value for name, value in passed.items() if value},
            **local,
            "PythonRuntime": python_runtime(),
            "Architecture": architecture(),
            "IndexUrl": index_url,
            "EmbeddingUrl": embedding_url,
            "ChatUrl": chat_url,
        }

    def document(self) -> dict[str, Any]:
        """The settings document."""
        return {**self.settings, **(self.local_model.settings if self.embedding_url is None else {})}


def named_emulator(environment: Mapping[str, str]) -> str | None:
    """The address of the emulator that the caller's variables name; None where they name none.

    Raises LaunchError if a variable is no address, or names AWS itself.
    """
    name = next((each for each in EMULATOR_VARIABLES if environment.get(each, "").strip()), None)
    if name is None:
        return None
    value = environment[name].strip()
    if name == "AWS_ENDPOINT_URL":
        url = value.rstrip("/")
    else:
        port = environment.get("EDGE_PORT", "").strip() or str(DEFAULT_EDGE_PORT)
        value = f"localhost:{port}" if name == "EDGE_PORT" else value if ":" in value else f"{value}:{port}"
        try:
            host, number = parse_localstack_host(value)
        except RuntimeError as exc:
            raise LaunchError(f"{name} is {environment[name]!r}, which is not HOST:PORT") from exc
        scheme = "https" if environment.get("USE_SSL") in {"1", "true"} else "http"
        url = f"{scheme}://{host}:{number}"
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and parts.hostname is not None and parts.port != 0
    except ValueError:  # a port over 65,535, or none
        valid = False
    if not valid:
        raise LaunchError(f"{name} is {environment[name]!r}, which is no address: it needs the form http://HOST:PORT")
    if f".{parts.hostname}".endswith(REAL_AWS):
        raise LaunchError(
            f"{name} names {parts.hostname}, which is AWS itself. `make up` deploys to emulators alone: unset {name}, "
            "or deploy with `make deploy` (docs/deploy.md)."
        )
    return url


def without_own(environment: Mapping[str, str], ports: Collection[int]) -> dict[str, str]:
    """*environment* without the variables that lead to an emulator of ``up`` itself, on one of *ports*."""
    url = named_emulator(environment)
    own = url is not None and urlsplit(url).hostname in {HOST, "localhost"} and urlsplit(url).port in ports
    return {name: value for name, value in environment.items() if not (own and name in EMULATOR_VARIABLES)}


def home_for(base: Path, environment: Mapping[str, str], *, index: str) -> Home:
    """The stack below *base* of the requested index and local model; a server that is named has its own."""
    model = local_model_of(environment)
    stack = index if model == "english" else f"{index}-{model}"
    if (emulator := named_emulator(environment)) is not None:
        plain = emulator.replace("//localhost:", f"//{HOST}:")
        stack = f"{stack}{ATTACHED}{hashlib.sha256(plain.encode()).hexdigest()[:8]}"
    named = named_index(environment, index=index)
    if named is None:
        return Home(base, stack)
    return Home(base, f"{stack}-{hashlib.sha256(named.encode()).hexdigest()[:8]}")


def named_index(environment: Mapping[str, str], *, index: str) -> str | None:
    """The index that the caller runs himself, without a slash at the end; None where there is none."""
    own = environment.get("INDEX_URL") or (environment.get("OPENSEARCH_URL") if index == "opensearch" else None)
    return own.rstrip("/") if own and own != BUCKET_URL else None


def read_launch_options(environment: Mapping[str, str], *, index: str) -> LaunchOptions:
    """What *environment* asks for; INDEX_URL beats *index*.

    Raises LaunchError if a model service is named without what has to be known of its model.
    """
    in_function = environment.get(MODELS) == IN_FUNCTION
    if in_function and local_model_of(environment) != "english":
        raise LaunchError(f"MODELS={IN_FUNCTION} has the english model alone: leave MODEL out.")
    embedding_url = environment.get("EMBEDDING_URL") or None
    chat_url = environment.get("CHAT_URL") or None
    needed = ["EMBEDDING_MODEL", "EMBEDDING_DIMENSION"] if embedding_url else []
    needed += ["CHAT_MODELS"] if chat_url else []
    missing = [name for name in needed if not environment.get(name)]
    if missing:
        raise LaunchError(f"EMBEDDING_URL or CHAT_URL is set, so {' and '.join(missing)} must be set too.")
    passed = {name: environment[name] for name in PASSED_ON if environment.get(name)}
    of_document = {name: each for name, each in DEPLOYMENT_SETTINGS.items() if "document" in each.places}
    settings, problems = read_variables(environment, of_document)
    if problems:
        raise LaunchError("\n".join(map(str, problems)))
    index_url = named_index(environment, index=index)
    if index_url is None and index == "bucket":
        index_url = BUCKET_URL
    return LaunchOptions(
        embedding_url,
        chat_url,
        index_url,
        passed,
        settings,
        LOCAL_MODELS[local_model_of(environment)],
        emulator_url=named_emulator(environment),
        bind=bind_address(environment),
        models_host=environment.get(MODELS_HOST, ""),
        in_function=in_function,
    )


def stack_name_of(home: Home) -> str:
    """The name of *home*'s stack in its emulator: in one that is shared, each index and local model needs another."""
    kind, attached, _ = home.name.partition(ATTACHED)
    shared = attached and kind != INDEXES[0]
    return f"{STACK_NAME}-{kind}"[:MAX_STACK_NAME].rstrip("-") if shared else STACK_NAME


def python_runtime() -> str:
    """Lambda's name of this interpreter: the emulator runs functions in it, so the build must be for it."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def architecture() -> str:
    """Lambda's name of this machine's processor."""
    return "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"


def parameters_of(config: Mapping[str, Any], environment: str) -> dict[str, str]:
    """The parameters that samconfig.toml has for *environment*. Raises LaunchError if there is no such environment."""
    try:
        return costs.parameters_of(config, environment)
    except ConfigurationError as exc:
        raise LaunchError(str(exc)) from exc
