"""Sign-in codes: pass a credential to a browser by a code that works once, for a minute.

`ragdrop open` puts the code into the address that it opens.  An address stays in histories and logs, where a used code
opens nothing.  The store has the credential only encrypted by the code, which it does not have.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable

from ragdrop.errors import InvalidParamsError, UnauthenticatedError
from ragdrop.ports.shared_state import StoredReplies

LIFETIME_S = 60.0
MAX_SECRET_BYTES = 8_000  # a token of an identity provider; a ragdrop key has 46
_OWNER = "*"  # no tenant's name: until the code is redeemed nobody is known


class SignInCodes:
    """Creates and redeems codes; *store* has the encrypted credentials and the used codes."""

    def __init__(self, store: StoredReplies, *, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def make(self, secret: str) -> tuple[str, float]:
        """Create a code for *secret*; return it and its expiry in seconds since 1970.

        Raises:
            InvalidParamsError: The credential is too long.
            DatabaseError: The store did not answer.
        """
        if len(secret.encode()) > MAX_SECRET_BYTES:
            message = f"a credential of more than {MAX_SECRET_BYTES} bytes cannot be handed to a browser"
            raise InvalidParamsError(message, field="x-api-key", value=None, allowed=MAX_SECRET_BYTES)
        code = secrets.token_urlsafe(32)
        name, now_s = _name("held", code), self._clock()
        self._store.begin(_OWNER, name, name, now_s=now_s, lease_s=LIFETIME_S, keep_s=LIFETIME_S)
        self._store.finish(_OWNER, name, {"sealed": base64.b64encode(one_time_pad(secret.encode(), code)).decode()})
        return code, now_s + LIFETIME_S

    def redeem(self, code: str) -> str:
        """The credential of *code*.

        Raises:
            UnauthenticatedError: The code is unknown, expired or used; the message does not say which.
            DatabaseError: The store did not answer.
        """
        used, sealed, now_s = _name("used", code), _name("held", code), self._clock()
        found = self._store.find(_OWNER, sealed, now_s=now_s)  # a guess writes nothing: strangers may guess
        if found is None or found.body is None or not self._is_first(used, now_s):
            raise UnauthenticatedError("the sign-in link is unknown, expired or used: open the page by `ragdrop open`")
        self._store.forget(_OWNER, sealed)
        return one_time_pad(base64.b64decode(found.body["sealed"]), code).decode()

    def _is_first(self, used: str, now_s: float) -> bool:
        return self._store.begin(_OWNER, used, used, now_s=now_s, lease_s=LIFETIME_S, keep_s=2 * LIFETIME_S) is None


def one_time_pad(data: bytes, code: str) -> bytes:
    """*data* encrypted, or decrypted, by a random code that encrypts nothing else.

    >>> one_time_pad(one_time_pad(b"rd_secret", "code"), "code")
    b'rd_secret'
    """
    pad = hashlib.shake_256(b"pad:" + code.encode()).digest(len(data))
    return bytes(left ^ right for left, right in zip(data, pad, strict=True))


def _name(kind: str, code: str) -> str:
    return f"{kind}:{hashlib.sha256(code.encode(errors='replace')).hexdigest()}"
