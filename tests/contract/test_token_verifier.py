"""Tokens against an issuer on the loopback: what is believed, and what is not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from ragdrop.domain.tenants import Caller
from ragdrop.errors import IssuerError, UnauthenticatedError
from ragdrop.ports.registry import TokenRules
from ragdrop.stores.aws.token_verifier import JwtVerifier

AUDIENCE = "ragdrop"
RSA_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
WEAK_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=1_024)  # noqa: S505 - to be refused
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
MAKERS: dict[str, Callable[..., dict[str, Any]]] = {
    "RS256": jwt.algorithms.RSAAlgorithm.to_jwk,
    "ES256": jwt.algorithms.ECAlgorithm.to_jwk,
    "EdDSA": jwt.algorithms.OKPAlgorithm.to_jwk,
}


def public(key: Any, key_id: str, algorithm: str, **more: str) -> dict[str, Any]:
    """The JWK of a key's public half."""
    return {**MAKERS[algorithm](key.public_key(), as_dict=True), "kid": key_id, "alg": algorithm, **more}


class Issuer:
    """An identity provider: `keys` is its JWKS, `reads` counts how often that was read."""

    def __init__(self) -> None:
        self.keys: Any = {
            "keys": [
                public(RSA_KEY, "rsa", "RS256", use="sig"),
                public(EC_KEY, "ec", "ES256"),
                public(ED_KEY, "ed", "EdDSA"),
                public(WEAK_KEY, "weak", "RS256"),
                public(OTHER_KEY, "for-encryption", "RS256", use="enc"),
                {"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0", "alg": "HS256"},
            ]
        }
        self.status = 200
        self.reads = 0
        self.url = ""

    def token(self, key: Any = RSA_KEY, key_id: str | None = "rsa", algorithm: str = "RS256", **claims: Any) -> str:
        """A token that is right but for *claims*; a claim of None is left out."""
        now_s = int(time.time())
        told = {"iss": self.url, "aud": AUDIENCE, "exp": now_s + 300, "iat": now_s, "sub": "u1", "tenant": "acme"}
        told = {name: value for name, value in (told | claims).items() if value is not None}
        return jwt.encode(told, key, algorithm=algorithm, headers={"kid": key_id} if key_id else {})


@pytest.fixture(scope="module")
def server() -> Iterator[Issuer]:
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            issuer.reads += 1
            body = json.dumps(issuer.keys).encode()
            self.send_response(issuer.status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    issuer.url = f"http://127.0.0.1:{listening.server_port}"
    yield issuer
    listening.shutdown()
    thread.join()
    listening.server_close()


class Verifying:
    """A verifier of an issuer, and the clock that its keys age by."""

    def __init__(self, issuer: Issuer, http: httpx.Client) -> None:
        self.now_s = 0.0
        rules = TokenRules(issuer.url, AUDIENCE, f"{issuer.url}/jwks.json")
        self.verifier = JwtVerifier(rules, clock=lambda: self.now_s, http=http)
        self.caller = self.verifier.caller

    def refused(self, token: str) -> bool:
        with pytest.raises(UnauthenticatedError) as caught:
            self.caller(token)
        return caught.value.message == "the token is not valid here"


@pytest.fixture
def issuer(server: Issuer) -> Iterator[Issuer]:
    kept = server.keys
    server.reads, server.status = 0, 200
    yield server
    server.keys = kept


@pytest.fixture
def verifying(issuer: Issuer) -> Iterator[Verifying]:
    with httpx.Client(trust_env=False) as http:
        yield Verifying(issuer, http)


@pytest.mark.parametrize(("key", "key_id", "algorithm"), [(RSA_KEY, "rsa", "RS256"), (EC_KEY, "ec", "ES256")])
def test_a_token_of_the_issuer_speaks_for_its_tenant(
    issuer: Issuer, verifying: Verifying, key: Any, key_id: str, algorithm: str
) -> None:
    caller = verifying.caller(issuer.token(key, key_id, algorithm))

    assert caller == Caller("acme", "reader", ())
    assert caller.credential.startswith("jwt-")


def test_an_ed25519_token_is_believed(issuer: Issuer, verifying: Verifying) -> None:
    assert verifying.caller(issuer.token(ED_KEY, "ed", "EdDSA")).tenant == "acme"


def test_role_and_vaults_come_from_their_claims(issuer: Issuer, verifying: Verifying) -> None:
    token = issuer.token(role="writer", vaults=["team", "ops"])

    assert verifying.caller(token) == Caller("acme", "writer", ("team", "ops"))


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another-service"},
        {"aud": None},
        {"exp": None},
        {"iss": None},
        {"exp": 1_000_000_000},
        {"nbf": 4_000_000_000},
        {"tenant": None},
        {"tenant": "Not A Name"},
        {"tenant": ["acme"]},
        {"role": "owner"},
        {"role": ["admin"]},
        {"vaults": []},
        {"vaults": ""},
        {"vaults": ["../other"]},
        {"vaults": 7},
        {"vaults": {"team": True}},
    ],
    ids=str,
)
def test_a_token_whose_claims_are_wrong_is_refused(
    issuer: Issuer, verifying: Verifying, claims: dict[str, Any]
) -> None:
    assert verifying.refused(issuer.token(**claims))


def test_a_clock_may_be_off_by_a_minute_and_no_more(issuer: Issuer, verifying: Verifying) -> None:
    now_s = int(time.time())

    assert verifying.caller(issuer.token(exp=now_s - 30)).tenant == "acme"
    assert verifying.refused(issuer.token(exp=now_s - 90))


def test_a_token_of_a_weak_key_is_refused(issuer: Issuer, verifying: Verifying) -> None:
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        token = issuer.token(WEAK_KEY, "weak")

    assert verifying.refused(token)


@pytest.mark.parametrize(("key", "key_id"), [(OTHER_KEY, "rsa"), (OTHER_KEY, "nobody"), (RSA_KEY, None)])
def test_a_token_of_another_or_of_an_unnamed_key_is_refused(
    issuer: Issuer, verifying: Verifying, key: Any, key_id: str | None
) -> None:
    assert verifying.refused(issuer.token(key, key_id))


def test_a_key_for_encryption_signs_nothing(issuer: Issuer, verifying: Verifying) -> None:
    assert verifying.refused(issuer.token(OTHER_KEY, "for-encryption"))


def part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def claims_of(token: str) -> str:
    return token.split(".")[1]


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", ""])
def test_a_token_without_a_signature_is_refused(issuer: Issuer, verifying: Verifying, algorithm: str) -> None:
    claims = claims_of(issuer.token())

    assert verifying.refused(f"{part({'alg': algorithm, 'kid': 'rsa'})}.{claims}.")


@pytest.mark.parametrize("key_id", ["rsa", "shared"])
def test_the_public_key_is_no_shared_secret(issuer: Issuer, verifying: Verifying, key_id: str) -> None:
    pem = RSA_KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for secret in (pem, b"secret-secret-secret-secret"):
        signed = f"{part({'alg': 'HS256', 'kid': key_id})}.{claims_of(issuer.token())}"
        signature = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
        assert verifying.refused(f"{signed}.{part(signature)}")


def test_another_algorithm_than_the_keys_own_is_refused(issuer: Issuer, verifying: Verifying) -> None:
    assert verifying.refused(issuer.token(RSA_KEY, "rsa", "PS256"))


@pytest.mark.parametrize("token", ["..", "a.b.c", "e30.e30.", "e30.e30.e30", "ü.ü.ü", "." * 9_000, "x" * 9_000 + ".."])
def test_what_is_no_token_is_refused(verifying: Verifying, token: str) -> None:
    assert verifying.refused(token)


def test_a_changed_claim_breaks_the_signature(issuer: Issuer, verifying: Verifying) -> None:
    header, _, signature = issuer.token().split(".")
    other = claims_of(issuer.token(tenant="other", role="admin"))

    assert verifying.refused(f"{header}.{other}.{signature}")


def test_keys_are_read_once_and_then_stored_for_an_hour(issuer: Issuer, verifying: Verifying) -> None:
    for _ in range(5):
        verifying.caller(issuer.token())
    assert issuer.reads == 1

    verifying.now_s += 3_601
    verifying.caller(issuer.token())

    assert issuer.reads == 2


def test_made_up_key_ids_ask_the_issuer_at_most_once_a_minute(issuer: Issuer, verifying: Verifying) -> None:
    for number in range(50):
        assert verifying.refused(issuer.token(OTHER_KEY, f"made-up-{number}"))
        verifying.now_s += 1

    assert issuer.reads == 1


def test_a_new_key_of_the_issuer_is_found_and_one_taken_back_is_not_believed(
    issuer: Issuer, verifying: Verifying
) -> None:
    verifying.caller(issuer.token())
    issuer.keys = {"keys": [public(OTHER_KEY, "new", "RS256")]}
    verifying.now_s += 61

    assert verifying.caller(issuer.token(OTHER_KEY, "new")).tenant == "acme"
    assert verifying.refused(issuer.token(RSA_KEY, "rsa"))


def test_while_the_issuer_is_down_known_keys_are_believed_for_a_day(issuer: Issuer, verifying: Verifying) -> None:
    verifying.caller(issuer.token())
    issuer.status = 503

    verifying.now_s += 7_200
    assert verifying.caller(issuer.token()).tenant == "acme"

    verifying.now_s += 90_000
    with pytest.raises(IssuerError, match="could not be read"):
        verifying.caller(issuer.token())


@pytest.mark.parametrize("keys", [{"keys": []}, {"keys": "x"}, [], {}, "x", {"keys": [{"kty": "RSA"}]}], ids=str)
def test_an_issuer_that_gives_no_keys_is_a_separate_failure_and_no_token_is_believed(
    issuer: Issuer, verifying: Verifying, keys: Any
) -> None:
    issuer.keys = keys

    with pytest.raises((IssuerError, UnauthenticatedError)):
        verifying.caller(issuer.token())


def test_an_issuer_that_was_down_at_first_is_asked_again(issuer: Issuer, verifying: Verifying) -> None:
    issuer.status = 500
    with pytest.raises(IssuerError):
        verifying.caller(issuer.token())

    issuer.status = 200

    assert verifying.caller(issuer.token()).tenant == "acme"
