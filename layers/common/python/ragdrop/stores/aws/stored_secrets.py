"""Secrets by reference, from Secrets Manager or the parameter store: read again while functions run, as keys rotate."""

import logging
import re
import time
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from ragdrop.errors import ConfigurationError
from ragdrop.stores.aws.clients import client

logger = logging.getLogger(__name__)

MAX_AGE_S = 300
PAUSE_S = 10  # after a read, successful or not: a service that refuses a key does not make each request read it again
_PARAMETER = "ssm:"
_SECRET_ARN = re.compile(r"arn:aws[\w-]*:secretsmanager:")


def fetch_secret(reference: str) -> str:
    """The value of `ssm:NAME` or of a Secrets Manager ARN, from its service.

    Raises ClientError or BotoCoreError, as the SDK does.
    """
    if reference.startswith(_PARAMETER):
        name = reference.removeprefix(_PARAMETER)
        return str(client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
    return str(client("secretsmanager").get_secret_value(SecretId=reference)["SecretString"])


class StoredSecrets:
    """The secrets of one execution environment, each cached for five minutes. Thread-safe.

    Args:
        fetch: Reads one reference from its service.
        now: A clock in seconds, for tests.
    """

    def __init__(
        self, fetch: Callable[[str], str] = fetch_secret, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch, self._now = fetch, now
        self._read: dict[str, tuple[str, float, float]] = {}  # value, when it was read, when it ends

    def read(self, reference: str | None, *, renew: bool = False) -> str | None:
        """The secret that *reference* names, or *reference* itself if it is none.

        Args:
            reference: A Secrets Manager ARN, `ssm:NAME`, or a literal.
            renew: Read it again, because a service refused the cached value.

        Returns:
            The last value that could be read, if the service of secrets fails now.

        Raises:
            ConfigurationError: It was never read; names the reference, never the secret.
        """
        if not reference or not (reference.startswith(_PARAMETER) or _SECRET_ARN.match(reference)):
            return reference or None
        now_s = self._now()
        value, read_s, until_s = self._read.get(reference, (None, 0.0, 0.0))
        if value is not None and (now_s < read_s + PAUSE_S or (now_s < until_s and not renew)):
            return value
        try:
            fetched, age_s = self._fetch(reference), MAX_AGE_S
        except (ClientError, BotoCoreError, KeyError) as exc:  # KeyError: a secret of bytes
            if value is None:
                message = f"the secret {reference!r} cannot be read: check its name and the function's policy"
                raise ConfigurationError(message) from exc
            logger.warning("could not read a secret again; its last value is used", extra={"reference": reference})
            fetched, age_s = value, PAUSE_S
        self._read[reference] = (fetched, now_s, now_s + age_s)
        return fetched


STORED = StoredSecrets()
