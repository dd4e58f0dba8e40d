"""Keys that rotate while functions run: of a model service, and in the service of secrets."""

from __future__ import annotations

import httpx
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError
from ragdrop.models.http import OpenAiHttp
from ragdrop.stores.aws.stored_secrets import MAX_AGE_S, PAUSE_S, StoredSecrets

REFERENCE = "ssm:/ragdrop/openai"


class Store:
    """A service of secrets with a clock."""

    def __init__(self) -> None:
        self.value, self.reads, self.now_s = "old", 0, 1_000.0
        self.failure: Exception | None = None
        self.secrets = StoredSecrets(self._fetch, now=lambda: self.now_s)

    def _fetch(self, reference: str) -> str:
        assert reference == REFERENCE
        self.reads += 1
        if self.failure:
            raise self.failure
        return self.value


class Service:
    """A model service that accepts one key."""

    def __init__(self, store: Store, accepted: str) -> None:
        self.accepted, self.seen = accepted, list[str]()
        self._client = httpx.Client(transport=httpx.MockTransport(self._respond))
        self.http = OpenAiHttp(
            "http://models.test",
            api_key=lambda: store.secrets.read(REFERENCE),
            renewed_key=lambda: store.secrets.read(REFERENCE, renew=True),
            timeout_s=5,
            client=self._client,
        )

    def post(self) -> int:
        return self.http.post("/embeddings", {}, Deadline.after(5), stage="embedding").status_code

    def _respond(self, request: httpx.Request) -> httpx.Response:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(key)
        return httpx.Response(200 if key == self.accepted else 401)


def test_a_rotated_key_is_read_again_after_the_service_refused_the_old_one() -> None:
    store = Store()
    service = Service(store, accepted="old")
    service.post()
    store.now_s += PAUSE_S + 1
    store.value = service.accepted = "new"

    assert service.post() == 200
    assert service.seen == ["old", "old", "new"]


def test_a_list_of_models_is_asked_for_again_with_a_rotated_key() -> None:
    store = Store()
    service = Service(store, accepted="old")
    service.post()
    store.now_s += PAUSE_S + 1
    store.value = service.accepted = "new"

    assert service.http.get("/models", Deadline.after(5), stage="embedding").status_code == 200


def test_a_wrong_key_is_tried_once_and_read_at_most_every_ten_seconds() -> None:
    store = Store()
    service = Service(store, accepted="another")

    assert [service.post() for _ in range(3)] == [401, 401, 401]
    assert (len(service.seen), store.reads) == (3, 1)


def test_a_key_is_read_again_when_it_is_five_minutes_old() -> None:
    store = Store()
    store.secrets.read(REFERENCE)
    store.value = "new"

    store.now_s += MAX_AGE_S - 1
    assert store.secrets.read(REFERENCE) == "old"
    store.now_s += 1
    assert store.secrets.read(REFERENCE) == "new"


@pytest.mark.parametrize(
    "failure",
    [
        ClientError({"Error": {"Code": "ThrottlingException"}}, "GetParameter"),
        EndpointConnectionError(endpoint_url="https://ssm"),
    ],
)
def test_the_last_value_is_used_while_the_service_of_secrets_fails(failure: Exception) -> None:
    store = Store()
    store.secrets.read(REFERENCE)
    store.failure = failure
    store.now_s += MAX_AGE_S

    assert [store.secrets.read(REFERENCE) for _ in range(3)] == ["old"] * 3
    assert store.reads == 2


def test_a_secret_that_was_never_read_is_an_error_that_names_the_reference() -> None:
    store = Store()
    store.failure = ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetParameter")

    with pytest.raises(ConfigurationError, match="ssm:/ragdrop/openai"):
        store.secrets.read(REFERENCE)


def test_a_literal_is_its_own_value() -> None:
    assert [Store().secrets.read(each) for each in ("sk-literal", "", None)] == ["sk-literal", None, None]
