"""Settings of a deployment: environment over document over defaults, by the ranges of one model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragdrop.config import DEPLOYMENT_SETTINGS, DOCUMENT_KEY, Settings, bedrock_region
from ragdrop.domain.settings import Tunables
from ragdrop.errors import ConfigurationError
from tests.world import ENVIRONMENT

REQUIRED = {name: value for name, value in ENVIRONMENT.items() if name != "MIN_RELEVANCE"}
NUMBERS = {  # the first and the last value that the model admits, as docs/settings.md has them
    "embedding_dimension": (8, 4_096),
    "embedding_timeout_s": (1, 600),
    "breaker_threshold": (1, 1_000),
    "retry_cap_ms": (1, 60_000),
    "ingest_retry_base_s": (1, 900),
    "max_results": (1, 20),
    "chunk_tokens": (32, 8_192),
}


STATE_BUCKET = (
    "state_bucket: in the settings document is not allowed (only in the environment, by a parameter of the template)"
)


def document(**values: object) -> bytes:
    return json.dumps(values).encode()


def test_settings_that_nobody_sets_have_the_defaults_of_the_model() -> None:
    assert Settings.from_environment(REQUIRED).tunables() == Tunables()


@pytest.mark.parametrize(("name", "ends"), NUMBERS.items())
def test_a_number_at_an_end_of_its_range_is_admitted_and_one_beyond_it_is_not(name: str, ends: tuple[int, int]) -> None:
    for value in ends:
        assert getattr(Settings.from_environment(REQUIRED | {name.upper(): str(value)}), name) == value
    values: tuple[Any, ...] = (ends[0] - 1, ends[1] + 1, "nan", "many", "")
    for value in values:
        if value != "":
            with pytest.raises(ConfigurationError, match=rf"{name.upper()}: .* is not allowed"):
                Settings.from_environment(REQUIRED | {name.upper(): str(value)})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("CHAT_MODELS", "a, b,", ("a", "b")),
        ("CHAT_PRICES", '{"a": [0.15, 1]}', {"a": [0.15, 1]}),
        ("MAX_RESULTS", "auto", None),
        ("KEEP_LAST_GOOD", "1", True),
        ("LINKS_ACROSS_VAULTS", "False", False),
        ("EMBEDDING_BATCH_SIZE", "8.0", 8),
        ("INDEX_URL", "https://search.example", "https://search.example"),
        ("OCR_URL", "textract", "textract"),
        ("JWT_TENANT_CLAIM", "https://claims.example/tenant", "https://claims.example/tenant"),
        ("MIN_RELEVANCE", "", 0.7),
    ],
)
def test_text_of_the_environment_becomes_a_value(name: str, text: str, value: object) -> None:
    assert getattr(Settings.from_environment(REQUIRED | {name: text}), name.lower()) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FUSION", "sum"),
        ("CITATION_POLICY", "hide"),
        ("KEEP_LAST_GOOD", "7"),
        ("INDEX_URL", "s3://bucket"),
        ("EMBEDDING_URL", "ftp://host"),
        ("CHAT_PRICES", '{"a": 1}'),
        ("CHAT_PRICES", "cheap"),
        ("CHAT_MODELS", " ,"),
        ("JWT_JWKS_URL", "http://keys.example"),
        ("LOG_LEVEL", "loud"),
    ],
)
def test_text_that_means_nothing_is_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}: .* is not allowed"):
        Settings.from_environment(REQUIRED | {name: text})


def test_all_problems_of_environment_and_document_are_reported_together_one_a_line() -> None:
    environ = REQUIRED | {"CHAT_URL": "", "RETRY_ATTEMPTS": "0", "JWT_ISSUER": "https://login.example"}

    with pytest.raises(ConfigurationError) as raised:
        Settings.from_environment(environ, document(log_level="loud", breakers=3, state_bucket="mine"))

    assert str(raised.value).splitlines() == [
        "the settings are not usable:",
        f'{DOCUMENT_KEY}: log_level: "loud" is not allowed (DEBUG, INFO, WARNING, ERROR, CRITICAL)',
        f"{DOCUMENT_KEY}: breakers: this name is not allowed (no such setting)",
        f"{DOCUMENT_KEY}: {STATE_BUCKET}",
        'RETRY_ATTEMPTS: "0" is not allowed (a whole number from 1 to 10)',
        "CHAT_URL: is required and not set",
        "JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL must be set together",
    ]


@pytest.mark.parametrize("is_document", [True, False])
def test_a_reader_that_is_to_judge_must_have_an_address(is_document: bool) -> None:
    environ = REQUIRED if is_document else REQUIRED | {"VERIFIER": "reader"}
    body = document(verifier="reader") if is_document else None
    address = {"READER_URL": "http://127.0.0.1:8080/v1"}

    with pytest.raises(ConfigurationError, match=r"VERIFIER: reader needs READER_URL, .* choose vectors"):
        Settings.from_environment(environ, body)

    assert Settings.from_environment(environ | address, body).verifier == "reader"


def test_a_secret_under_a_wrong_name_in_the_document_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="no such setting") as raised:
        Settings.from_environment(REQUIRED, document(openai_key="sk-secret", chat_api_key="sk-secret"))

    assert "sk-secret" not in str(raised.value)


def test_a_document_with_an_empty_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no such setting"):
        Settings.from_environment(REQUIRED, b'{"": {"": 1}}')


def test_the_environment_overrides_the_document_which_overrides_the_defaults() -> None:
    settings = Settings.from_environment(
        REQUIRED | {"FUSION": "rrf"},
        document(fusion="blend:0.4", max_results="auto", boosting={"critical": 0.3}, jwt_role_claim="rank"),
    )

    assert (settings.fusion, settings.max_results, settings.boost_critical) == ("rrf", None, 0.3)
    assert (settings.jwt_role_claim, settings.boost_important) == ("rank", 0.1)


def test_the_document_takes_every_setting_but_those_of_the_stack() -> None:
    own = {name for name, each in DEPLOYMENT_SETTINGS.items() if "document" not in each.places}

    assert {name for name in own if not name.endswith(("_url", "_key", "_bucket", "_table"))} == {
        *("index_password", "embedding_model", "embedding_dimension", "chat_models", "cors_allow_origins"),
        *("jwt_issuer", "jwt_audience", "stage", "release", "tracing", "fan_out_function"),
    }


BEDROCK = {"EMBEDDING_URL": "bedrock", "EMBEDDING_MODEL": "amazon.titan-embed-text-v2:0", "EMBEDDING_DIMENSION": "512"}


@pytest.mark.parametrize("name", ["CHAT_URL", "EMBEDDING_URL", "RERANK_URL"])
@pytest.mark.parametrize(
    ("text", "region"), [("bedrock", ""), ("bedrock:eu-central-1", "eu-central-1"), ("bedrock:us-gov-west-1", None)]
)
def test_a_model_may_be_one_of_bedrock_in_the_functions_region_or_another(
    name: str, text: str, region: str | None
) -> None:
    settings = Settings.from_environment(REQUIRED | BEDROCK | {name: text})

    found = bedrock_region(getattr(settings, name.lower()))
    assert found == (text.partition(":")[2] if region is None else region)


@pytest.mark.parametrize("text", ["bedrock:", "bedrock:Frankfurt", "bedrocks", "bedrock:eu-central-1/v1"])
def test_a_region_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"CHAT_URL: .* is not allowed \(bedrock, bedrock:REGION"):
        Settings.from_environment(REQUIRED | {"CHAT_URL": text})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"EMBEDDING_DIMENSION": "384"}, "EMBEDDING_DIMENSION: 384 is not one of 256, 512, 1024 of amazon.titan"),
        ({"EMBEDDING_MODEL": "cohere.embed-english-v3"}, "EMBEDDING_DIMENSION: 512 is not one of 1024 of cohere"),
        (
            {"EMBEDDING_MODEL": "all-MiniLM-L6-v2"},
            "EMBEDDING_MODEL: 'all-MiniLM-L6-v2' of Bedrock is not one of amazon",
        ),
        (
            {"RERANK_URL": "bedrock", "RERANK_MODEL": "jina"},
            "rerank_model: 'jina' of Bedrock is not one of cohere.rerank",
        ),
    ],
)
def test_a_model_that_bedrock_does_not_have_is_a_problem_of_the_settings(changes: dict[str, str], problem: str) -> None:
    assert Settings.from_environment(REQUIRED | BEDROCK).embedding_dimension == 512
    with pytest.raises(ConfigurationError, match=problem):
        Settings.from_environment(REQUIRED | BEDROCK | changes)
