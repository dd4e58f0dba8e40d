"""JSON Web Tokens: checked against the keys that the issuer publishes.

A separate module, as only functions that serve HTTP carry the library.
"""

import time
from collections.abc import Callable
from threading import Lock

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ragdrop.domain.tenants import Caller
from ragdrop.errors import IssuerError, UnauthenticatedError
from ragdrop.ports.registry import ALGORITHMS, CLOCK_SKEW_S, MAX_TOKEN_CHARACTERS, REFUSED, TokenRules, caller_of

JWKS_MAX_AGE_S = 3_600.0  # of the keys: one that the issuer took back is believed no longer than that
MIN_AGE_S = 60.0  # an unknown key id asks for them again no more often: made-up tokens must not load the issuer
MAX_STALE_S = 86_400.0  # while the issuer does not answer
TIMEOUT_S = 2.0
MAX_BYTES = 1_000_000
MIN_RSA_BITS = 2_048  # NIST SP 800-131A


class JwtVerifier:
    """A TokenVerifier.  One per execution environment.

    Args:
        rules: What tokens must say.
        clock: Seconds on a monotonic clock, for the age of the keys.
        http: A client, for tests; by default one is made at the first token.
    """

    def __init__(
        self, rules: TokenRules, *, clock: Callable[[], float] = time.monotonic, http: httpx.Client | None = None
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._http = http
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at_s: float | None = None
        self._tried_at_s: float | None = None
        self._lock = Lock()

    def caller(self, token: str) -> Caller:
        """Who a token speaks for; signature, issuer, audience and times are checked before any claim is read."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise UnauthenticatedError(REFUSED)
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(header.get("kid"), header.get("alg"))
            claims = jwt.decode(
                token,
                key=key,
                algorithms=[key.algorithm_name],  # the key's own, never what the token says
                issuer=self._rules.issuer,
                audience=self._rules.audience,
                leeway=CLOCK_SKEW_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError) as exc:
            raise UnauthenticatedError(REFUSED) from exc
        return caller_of(claims, self._rules)

    def _key(self, key_id: object, algorithm: object) -> jwt.PyJWK:
        with self._lock:
            age_s = self._age_s(self._read_at_s)
            unknown = not isinstance(key_id, str) or key_id not in self._keys
            due = age_s >= JWKS_MAX_AGE_S or (unknown and age_s >= MIN_AGE_S)
            if due and self._age_s(self._tried_at_s) >= MIN_AGE_S:
                self._tried_at_s = self._clock()
                try:
                    self._read()
                except IssuerError:
                    if age_s >= MAX_STALE_S:
                        self._tried_at_s = None  # nothing is known: the next request tries again
                        raise
            found = self._keys.get(key_id) if isinstance(key_id, str) else None
        if found is None or algorithm != found.algorithm_name:
            raise UnauthenticatedError(REFUSED)
        return found

    def _age_s(self, at_s: float | None) -> float:
        return float("inf") if at_s is None else self._clock() - at_s

    def _read(self) -> None:
        """Read the issuer's keys; those that are too weak, of another use or of another algorithm are left out."""
        if self._http is None:
            self._http = httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False)
        try:
            answer = self._http.get(self._rules.jwks_url)
            answer.raise_for_status()
            if len(answer.content) > MAX_BYTES:
                raise ValueError("the answer is too large")
            keys = jwt.PyJWKSet.from_dict(answer.json()).keys
        except (httpx.HTTPError, jwt.PyJWTError, ValueError, AttributeError, TypeError) as exc:
            message = f"the token issuer's keys could not be read ({type(exc).__name__})"
            raise IssuerError(message, service="issuer") from exc
        self._keys = {key.key_id: key for key in keys if key.key_id and _may_sign(key)}
        self._read_at_s = self._clock()


def _may_sign(key: jwt.PyJWK) -> bool:
    if key.algorithm_name not in ALGORITHMS or key.public_key_use not in {None, "sig"}:
        return False
    return not isinstance(key.key, RSAPublicKey) or key.key.key_size >= MIN_RSA_BITS
