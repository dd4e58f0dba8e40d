"""Settings of a deployment: the only reader of the environment.  All problems are reported together."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

from ragdrop.domain.models import BEDROCK_DIMENSIONS, BEDROCK_RERANKERS, EmbeddingSpace, model_window_tokens, of_model
from ragdrop.domain.settings import (
    AUTO,
    FLAG,
    AllowedValues,
    Place,
    Problem,
    Setting,
    Tunables,
    matching,
    number,
    one_of,
    read_settings,
    read_variables,
    setting,
    setting_of,
    whole,
)
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Engine, index_name
from ragdrop.errors import ConfigurationError, InvalidSettingsError
from ragdrop.ports.registry import TokenRules

SPECIAL_TOKENS = (
    16  # what a model adds around a text ([CLS], [SEP], …) and a margin for tokenizers that differ slightly
)
TEXTRACT = "textract"  # as OCR_URL: Amazon's service, by the function's own role
FUNCTION = "lambda:"  # before the name of a function of the stack that runs models, called by the function's own role
BUCKET_URL = "s3://"  # the index in the state bucket
DOCUMENT_KEY = "config/settings.json"
"""The deployment's settings document in the state bucket."""
MAX_PRICE = 1_000_000


def _words(pattern: str, allowed: str, *, least: int) -> AllowedValues:
    """Texts that match *pattern*: a list, or in the environment one text with commas."""
    each = matching(pattern, allowed)

    def admits(value: Any) -> bool:
        return isinstance(value, list | tuple) and len(value) >= least and all(each.admits(word) for word in value)

    return AllowedValues(allowed, admits, lambda text: tuple(word.strip() for word in text.split(",") if word.strip()))


def _are_prices(value: Any) -> bool:
    price = number(0, MAX_PRICE).admits
    return isinstance(value, dict) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(map(price, pair)) for pair in value.values()
    )


HTTP = "https?://.+"
TEXT = matching(".+", "a text")
URL = matching(HTTP, "an address that starts with http:// or https://")
BEDROCK = r"bedrock(?::([a-z]{2,3}(?:-[a-z]+)+-\d))?"
ADDRESS = "an address that starts with http:// or https://"
MODEL_URL = matching(f"{BEDROCK}|{FUNCTION}.+|{HTTP}", f"bedrock, bedrock:REGION, lambda:FUNCTION, or {ADDRESS}")
READER_URL = matching(f"{FUNCTION}.+|{HTTP}", f"lambda:FUNCTION, or {ADDRESS}")
INDEX = matching(f"s3://|{HTTP}", "s3:// alone, for the index in STATE_BUCKET, or the URL of an OpenSearch")
OCR = matching(f"{TEXTRACT}|{HTTP}", "textract, or an address that starts with http:// or https://")
JWKS = matching(r"https://.+|http://(127\.0\.0\.1|localhost):.+", "an address that starts with https://")
SECRET = matching(".+", "a Secrets Manager ARN, ssm:NAME, or on a laptop the secret")
MODELS = _words(".+", "model ids with commas between them, at least one", least=1)
ORIGIN = r"\*|https?://[A-Za-z0-9.-]+(:\d{1,5})?"
ORIGINS = _words(ORIGIN, "* or origins https://HOST[:PORT] without a path, with commas between them", least=0)
PRICES = AllowedValues('JSON by model, such as {"gpt-4o-mini": [0.15, 0.60]}', _are_prices, json.loads)
DAY_S = 86_400


def bedrock_region(url: str | None) -> str | None:
    """The region that a model's address names if it is Amazon Bedrock, empty for the function's own; else None.

    >>> bedrock_region("bedrock:eu-west-1"), bedrock_region("bedrock"), bedrock_region("http://127.0.0.1/v1")
    ('eu-west-1', '', None)
    """
    found = re.fullmatch(BEDROCK, url or "")
    return None if found is None else found[1] or ""


def _problems_of_bedrock(values: Mapping[str, Any]) -> list[str]:
    """Which models and dimensions Amazon Bedrock does not have, or ragdrop does not call."""
    found = []
    model, dimension = values.get("embedding_model"), values.get("embedding_dimension")
    if model and dimension and bedrock_region(values.get("embedding_url")) is not None:
        lengths = of_model(model, BEDROCK_DIMENSIONS)
        if lengths is None:
            known = ", ".join(BEDROCK_DIMENSIONS)
            found.append(f"EMBEDDING_MODEL: {model!r} of Bedrock is not one of {known}")
        elif dimension not in lengths:
            found.append(f"EMBEDDING_DIMENSION: {dimension} is not one of {', '.join(map(str, lengths))} of {model}")
    reranker = values.get("rerank_model")
    if reranker and bedrock_region(values.get("rerank_url")) is not None and reranker not in BEDROCK_RERANKERS:
        found.append(f"rerank_model: {reranker!r} of Bedrock is not one of {', '.join(BEDROCK_RERANKERS)}")
    return found


SECONDS = number(1, 3_600)
TIMEOUT = number(1, 600)
MILLISECONDS = whole(1, 60_000)
ENTRIES = whole(0, 100_000)
VERIFIERS = one_of("vectors", "reader", "chat", "rules")
LEVELS = one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
STACK: tuple[Place, ...] = ("environment",)
"""The place of a setting that a parameter or a resource of template.yaml decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Tunables):
    """The settings of a deployment.  A field's name in capitals is its name in the environment; empty means unset."""

    index_url: str = setting(BUCKET_URL, INDEX, "The chunk index", STACK)
    index_password: str | None = setting(None, SECRET, "Password of an OpenSearch with basic authentication", STACK)

    embedding_url: str = setting(
        ..., MODEL_URL, "Embedding service with the OpenAI protocol, up to and with /v1; or Amazon Bedrock", STACK
    )
    embedding_model: str = setting(..., TEXT, "Its model, for new tenants", STACK)
    embedding_dimension: int = setting(..., whole(8, 4_096), "Length of the model's vectors", STACK)
    embedding_api_key: str | None = setting(None, SECRET, "Key of the embedding service", STACK)
    embedding_max_tokens: int | None = setting(None, whole(32, 32_768), "The model's window; if unset at most 2,048")
    embedding_tokenizer: str | None = setting(
        None, TEXT, "Key of the model's tokenizer.json in the state bucket; without it tokens are estimated"
    )
    embedding_batch_size: int = setting(32, whole(1, 2_048), "Texts of a request")
    embedding_concurrency: int = setting(2, whole(1, 16), "Requests of one ingest function at a time")
    embedding_timeout_s: float = setting(30, TIMEOUT, "Seconds of an attempt")
    embedding_query_prefix: str = setting("", TEXT, "Put before each question, for new tenants")
    embedding_passage_prefix: str = setting("", TEXT, "Put before each passage, for new tenants")

    chat_url: str = setting(
        ..., MODEL_URL, "Chat service with the OpenAI protocol, up to and with /v1; or Amazon Bedrock", STACK
    )
    chat_models: tuple[str, ...] = setting(..., MODELS, "Its models; the first is the default", STACK)
    chat_api_key: str | None = setting(None, SECRET, "Key of the chat service", STACK)
    chat_timeout_s: float = setting(60, TIMEOUT, "Seconds of an attempt, at most the request's own deadline")
    chat_prices: dict[str, tuple[float, float]] = setting(dict, PRICES, "Prices of a million tokens, read and written")
    verifier: Literal["vectors", "reader", "chat", "rules"] | None = setting(
        None,
        VERIFIERS,
        "Judge of sentences [beside the rules](api.md#statuses-of-sentences): embedding model, reader, chat model or "
        "nobody; if unset the reader where there is one, else the embedding model",
    )

    ocr_url: str | None = setting(
        None, OCR, "Reads pictures and scanned pages ([OCR](formats.md#ocr)): Textract, or `POST /recognize`", STACK
    )
    rerank_url: str | None = setting(
        None, MODEL_URL, "A reranker with `POST /rerank`, up to and with /v1; or Amazon Bedrock", STACK
    )
    rerank_api_key: str | None = setting(None, SECRET, "Key of the reranker", STACK)
    rerank_model: str | None = setting(None, TEXT, "Its model; if unset the reranker's default")
    reader_url: str | None = setting(None, READER_URL, "A reader with `POST /read`, up to and with /v1", STACK)
    reader_api_key: str | None = setting(None, SECRET, "Key of the reader", STACK)
    reader_version: str | None = setting(None, TEXT, "Version that its model must have; if unset any")

    jwt_issuer: str | None = setting(None, TEXT, "Issuer of signed tokens that open the API; if unset none do", STACK)
    jwt_audience: str | None = setting(None, TEXT, "What the tokens' `aud` must name", STACK)
    jwt_jwks_url: str | None = setting(None, JWKS, "Address of the issuer's public keys", STACK)
    jwt_tenant_claim: str = setting("tenant", TEXT, "JWT claim that names the tenant")
    jwt_role_claim: str = setting("role", TEXT, "JWT claim that names the role; `reader` without it")
    jwt_vaults_claim: str = setting("vaults", TEXT, "JWT claim that lists the visible vaults; all without it")
    jwt_groups_claim: str = setting("groups", TEXT, "JWT claim that lists the groups; none without it")

    document_bucket: str = setting(..., TEXT, "Set by the template", STACK)
    state_bucket: str = setting(..., TEXT, "Set by the template", STACK)
    registry_table: str = setting(..., TEXT, "Set by the template", STACK)
    visited_table: str = setting(..., TEXT, "Set by the template", STACK)
    telemetry_table: str = setting(..., TEXT, "Set by the template", STACK)
    queue_url: str = setting(..., TEXT, "Set by the template", STACK)
    bulk_queue_url: str = setting("", TEXT, "Set by the template: [bulk work](adr/0029-two-lanes-of-ingest.md)", STACK)

    fan_out_function: str = setting("", TEXT, "Set by the template: [shards](index.md#shards)", STACK)
    fan_out_chunks: int = setting(
        2_000_000, whole(1, 1_000_000_000), "Chunks of a [shard](index.md#shards) of the bucket index"
    )

    index_shards: int | None = setting(
        None, whole(1, 1_024), "Shards of a new OpenSearch index ([layout](opensearch.md)); if unset 6"
    )
    index_route_chunks: int = setting(
        2_000_000, whole(1_000, 1_000_000_000), "Chunks of a tenant for each of its routing values in OpenSearch"
    )

    cache_size: int = setting(1_000, ENTRIES, "Cached answers of a function, checked before use; 0 = none")
    cache_ttl_s: int = setting(300, whole(0, DAY_S), "Seconds that an answer is cached")
    embedding_cache_size: int = setting(1_000, ENTRIES, "Cached vectors of questions; 0 = none, no shared ones either")

    breaker_threshold: int = setting(
        5, whole(1, 1_000), "Failures that open a [breaker](operations.md), if at least half of the calls failed"
    )
    breaker_window_s: float = setting(60, SECONDS, "Seconds within which failures count")
    breaker_open_s: float = setting(60, SECONDS, "Seconds until an open breaker lets one call through")
    retry_attempts: int = setting(3, whole(1, 10), "Attempts of a call to a model or to OpenSearch, with the first")
    retry_base_ms: int = setting(100, MILLISECONDS, "Longest first pause before a retry; it doubles with each")
    retry_cap_ms: int = setting(5_000, MILLISECONDS, "Longest pause before a retry")

    ingest_retry_base_s: int = setting(30, whole(1, 900), "Seconds before ingest retries; then 4 times, at most 900")
    sweep_min_age_s: int = setting(900, whole(0, DAY_S), "Age below which the sweep ignores a change")
    sweep_orphan_age_s: int = setting(DAY_S, whole(0, 30 * DAY_S), "Age at which chunks without a live revision go")

    cors_allow_origins: tuple[str, ...] = setting((), ORIGINS, "Web pages that may call the API from a browser", STACK)

    stage: str = setting("local", matching(".{1,255}", "1 to 255 characters"), "Dimension of the metrics", STACK)
    release: str = setting("", TEXT, "Changes with each deployment; golden questions are asked again then", STACK)
    tracing: bool = setting(False, FLAG, "Whether [traces](operations.md#traces) are sent to OpenTelemetry", STACK)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = setting(
        "INFO", LEVELS, "Level of the log; documents, prompts and keys are logged at none"
    )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, document: bytes | None = None) -> Settings:
        """Read *environ*, or the process's own environment, and the settings document, which it overrides.

        Raises ConfigurationError: names every setting that is missing or out of range, one a line.
        """
        source = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        problems: list[str] = []
        if document is not None:
            try:
                values = read_settings(document, DEPLOYMENT_SETTINGS, "document")
            except InvalidSettingsError as exc:
                problems += [f"{DOCUMENT_KEY}: {Problem(**each)}" for each in exc.details["problems"]]
        variables, wrong = read_variables(source, DEPLOYMENT_SETTINGS)
        values |= variables
        problems += map(str, wrong)
        required = [each.name for each in fields(cls) if each.default is each.default_factory is MISSING]
        problems += [f"{name.upper()}: is required and not set" for name in required if not source.get(name.upper())]
        tokens = [bool(values.get(name)) for name in ("jwt_issuer", "jwt_audience", "jwt_jwks_url")]
        if any(tokens) and not all(tokens):
            problems.append("JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL must be set together")
        if values.get("verifier") == "reader" and not values.get("reader_url"):
            problems.append("VERIFIER: reader needs READER_URL, a server with POST /read; without one choose vectors")
        problems += _problems_of_bedrock(values)
        if problems:
            raise ConfigurationError("the settings are not usable:\n" + "\n".join(problems))
        return cls(**values | {name: None for name, value in values.items() if value == AUTO})

    @property
    def max_passage_tokens(self) -> int:
        """Tokens that a passage may have: the model's window, less its special tokens and the passage prefix."""
        window = self.embedding_max_tokens or min(2_048, model_window_tokens(self.embedding_model))
        return window - SPECIAL_TOKENS - len(self.embedding_passage_prefix)

    def seed_index(self) -> ActiveIndex:
        """The index of a new tenant: settings only seed it, from then on the tenant's item decides."""
        space = EmbeddingSpace(
            self.embedding_model, self.embedding_dimension, self.embedding_query_prefix, self.embedding_passage_prefix
        )
        plan = ChunkingPlan.fitting(
            self.max_passage_tokens, tokens=self.chunk_tokens, overlap=self.chunk_overlap_tokens
        )
        return ActiveIndex(index_name(space, self.engine), space, plan, titled=True)

    @property
    def engine(self) -> Engine:
        """The kind of index of a new tenant."""
        return "bucket" if self.index_url == BUCKET_URL else "opensearch"

    def token_rules(self) -> TokenRules | None:
        """What tokens must contain, if JWT_ISSUER names their issuer."""
        if not (self.jwt_issuer and self.jwt_audience and self.jwt_jwks_url):
            return None
        return TokenRules(
            self.jwt_issuer,
            self.jwt_audience,
            self.jwt_jwks_url,
            tenant_claim=self.jwt_tenant_claim,
            role_claim=self.jwt_role_claim,
            vaults_claim=self.jwt_vaults_claim,
            groups_claim=self.jwt_groups_claim,
        )

    def tunables(self) -> Tunables:
        """The settings that tenants and vaults may change."""
        return Tunables(**{each.name: getattr(self, each.name) for each in fields(Tunables)})


DEPLOYMENT_SETTINGS: Mapping[str, Setting] = {each.name: setting_of(each) for each in fields(Settings)}
"""Every setting of a deployment, by name."""
