"""Settings: the only reader of the environment. Frozen, typed, range-checked; all problems are reported together."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from ragdrop.domain.models import EmbeddingSpace, model_window_tokens
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Engine, index_name
from ragdrop.errors import ConfigurationError
from ragdrop.ports.credentials import TokenRules
from ragdrop.tenants.setting_rules import AUTO, FUSION_PATTERN
from ragdrop.tenants.settings_in_force import Tunables

SPECIAL_TOKENS = (
    16  # what a model adds around a text ([CLS], [SEP], …) and a margin for tokenizers that differ slightly
)

TEXTRACT = "textract"  # as OCR_URL: Amazon's service, by the function's own role
BUCKET_URL = "s3://"  # the index in the state bucket

Price = Annotated[float, Field(ge=0, le=1_000_000)]
Tokens = Annotated[int, Field(ge=1_000, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]


class Settings(BaseModel):
    """What the deployment says.  A field's name in capitals is its name in the environment; empty means unset."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    index_url: str = BUCKET_URL
    index_password: str | None = None

    embedding_url: str
    embedding_model: str
    embedding_dimension: Annotated[int, Field(ge=8, le=4096)]
    embedding_max_tokens: Annotated[int, Field(ge=32, le=32_768)] | None = None
    embedding_tokenizer: str | None = None
    embedding_batch_size: Annotated[int, Field(ge=1, le=2_048)] = 32
    embedding_concurrency: Annotated[int, Field(ge=1, le=16)] = 2
    embedding_timeout_s: Annotated[float, Field(ge=1, le=600)] = 30
    embedding_query_prefix: str = ""
    embedding_passage_prefix: str = ""
    embedding_api_key: str | None = None

    chat_url: str
    chat_models: tuple[str, ...]
    chat_timeout_s: Annotated[float, Field(ge=1, le=600)] = 60
    chat_api_key: str | None = None
    chat_prices: dict[str, tuple[Price, Price]] = {}  # by model: of a million tokens read, and written

    ocr_url: str | None = None

    rerank_url: str | None = None
    rerank_model: str | None = None
    rerank_api_key: str | None = None

    verifier: Literal["vectors", "chat", "rules"] = "vectors"

    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    jwt_jwks_url: str | None = None
    jwt_tenant_claim: str = "tenant"
    jwt_role_claim: str = "role"
    jwt_vaults_claim: str = "vaults"

    document_bucket: str
    state_bucket: str
    registry_table: str
    visited_table: str
    telemetry_table: str
    queue_url: str
    bulk_queue_url: str = ""

    cache_size: Annotated[int, Field(ge=0, le=100_000)] = 1_000
    cache_ttl_s: Annotated[int, Field(ge=0, le=86_400)] = 300
    embedding_cache_size: Annotated[int, Field(ge=0, le=100_000)] = 1_000

    breaker_threshold: Annotated[int, Field(ge=1, le=1_000)] = 5
    breaker_window_s: Annotated[float, Field(ge=1, le=3_600)] = 60
    breaker_open_s: Annotated[float, Field(ge=1, le=3_600)] = 60
    retry_attempts: Annotated[int, Field(ge=1, le=10)] = 3
    retry_base_ms: Annotated[int, Field(ge=1, le=60_000)] = 100
    retry_cap_ms: Annotated[int, Field(ge=1, le=60_000)] = 5_000

    ingest_retry_base_s: Annotated[int, Field(ge=1, le=900)] = 30
    sweep_min_age_s: Annotated[int, Field(ge=0, le=86_400)] = 900
    sweep_orphan_age_s: Annotated[int, Field(ge=0, le=30 * 86_400)] = 86_400
    chunk_tokens: Annotated[int, Field(ge=32, le=8_192)] | None = None
    chunk_overlap_tokens: Annotated[int, Field(ge=0, le=1_024)] | None = None
    max_context_tokens: Tokens = 24_000
    reserved_answer_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = 2_000
    reserved_prompt_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = 500
    critical_share: Share = 0.5
    min_relevance: Share = 0.7
    max_results: Annotated[int, Field(ge=1, le=20)] | None = None
    max_linked_docs: Annotated[int, Field(ge=0, le=20)] = 5
    max_link_depth: Annotated[int, Field(ge=0, le=5)] = 2
    boost_critical: Share = 0.15
    boost_important: Share = 0.10
    fusion: Annotated[str, Field(pattern=f"^({FUSION_PATTERN})$")] = "blend"
    citation_policy: Literal["mark", "drop", "abstain"] = "mark"
    keep_last_good: bool = False
    links_across_vaults: bool = False

    cors_allow_origins: tuple[str, ...] = ()

    stage: Annotated[str, Field(max_length=255)] = "local"
    release: str = ""
    tracing: bool = False
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"

    @field_validator("chat_models", "cors_allow_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value

    @field_validator("chat_prices", mode="before")
    @classmethod
    def _read_prices(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError('JSON is expected, such as {"gpt-4o-mini": [0.15, 0.60]}') from None

    @field_validator("max_results", mode="before")
    @classmethod
    def _auto_is_unset(cls, value: object) -> object:
        return None if value == AUTO else value

    @field_validator("chat_models")
    @classmethod
    def _some_model(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("at least one model must be named")
        return value

    @field_validator("cors_allow_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if origin != "*" and not re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?", origin):
                raise ValueError(f"{origin[:80]!r} is no origin: * or https://HOST[:PORT], without a path")
        return value

    @field_validator("index_url", "embedding_url", "chat_url", "rerank_url", "ocr_url")
    @classmethod
    def _known_scheme(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        schemes: tuple[str, ...] = ("http://", "https://")
        if info.field_name == "index_url":
            if value == BUCKET_URL:
                return value
            if value.startswith(BUCKET_URL):
                raise ValueError("must be s3:// alone, as the index is in STATE_BUCKET, or the URL of an OpenSearch")
            schemes = (BUCKET_URL, *schemes)
        if info.field_name == "ocr_url" and value == TEXTRACT:
            return value
        if not value.startswith(schemes):
            raise ValueError(f"must start with one of {', '.join(schemes)}")
        return value

    @field_validator("jwt_jwks_url")
    @classmethod
    def _keys_that_nobody_can_change_on_their_way(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            raise ValueError("must start with https://")
        return value

    @model_validator(mode="after")
    def _tokens_whole_or_not_at_all(self) -> Settings:
        given = [self.jwt_issuer, self.jwt_audience, self.jwt_jwks_url]
        if any(given) and not all(given):
            raise ValueError("JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL must be set together")
        return self

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read *environ*, or the process's own environment.

        Raises:
            ConfigurationError: Names every variable that is missing or out of range, one a line.
        """
        source = os.environ if environ is None else environ
        given = {name.lower(): source[name] for name in environment_names() if source.get(name)}
        try:
            return cls.model_validate(given)
        except ValidationError as exc:
            lines = [
                f"{str(error['loc'][0]).upper()}: {_problem(error)}" if error["loc"] else error["msg"]
                for error in exc.errors()
            ]
            raise ConfigurationError("the environment is not usable:\n" + "\n".join(lines)) from exc

    @property
    def max_passage_tokens(self) -> int:
        """Tokens that a passage may have: the model's window, less its special tokens and the passage prefix."""
        window = self.embedding_max_tokens or min(2_048, model_window_tokens(self.embedding_model))
        return window - SPECIAL_TOKENS - len(self.embedding_passage_prefix)

    def seed_index(self) -> ActiveIndex:
        """The index of a new tenant: the environment only seeds it, from then on the tenant's item decides."""
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
        """What tokens must say, where JWT_ISSUER names who makes them."""
        if not (self.jwt_issuer and self.jwt_audience and self.jwt_jwks_url):
            return None
        return TokenRules(
            self.jwt_issuer,
            self.jwt_audience,
            self.jwt_jwks_url,
            tenant_claim=self.jwt_tenant_claim,
            role_claim=self.jwt_role_claim,
            vaults_claim=self.jwt_vaults_claim,
        )

    def tunables(self) -> Tunables:
        """What the environment says of the settings that tenants and vaults may change."""
        return Tunables(**{each.name: getattr(self, each.name) for each in fields(Tunables)})


def environment_names() -> frozenset[str]:
    """The names of all variables that Settings reads: the template must set exactly these."""
    return frozenset(name.upper() for name in Settings.model_fields)


def _line(error: Mapping[str, Any]) -> str:
    return f"{str(error['loc'][0]).upper()}: {_problem(error)}" if error["loc"] else str(error["msg"])


def _problem(error: Mapping[str, object]) -> str:
    if error["type"] == "missing":
        return "is required and not set"
    return f"{str(error['input'])[:80]!r} is not allowed: {error['msg']}"
