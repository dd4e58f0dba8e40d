"""Authenticate to OpenSearch: a signature for AWS domains, or user and password."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from ragdrop.errors import ConfigurationError, DatabaseError

AWS_DOMAIN = re.compile(r"\.(?P<region>[a-z0-9-]+)\.es\.amazonaws\.com(?:\.cn)?$")
SERVERLESS = re.compile(r"\.aoss\.amazonaws\.com(?:\.cn)?$")
Sign = Callable[[str, str, bytes | None], dict[str, str]]


class Credentials(Protocol):
    """Credentials as botocore gives them: the frozen copy is a consistent set, renewed where it was about to expire."""

    def get_frozen_credentials(self) -> object:
        """Access key, secret key and token that belong together."""


def region_of(host: str) -> str | None:
    """The region of an AWS domain; None for any other host.

    Raises:
        ConfigurationError: The host is OpenSearch Serverless, which refuses custom ids and refresh.

    >>> region_of("search-acme-abc.eu-west-1.es.amazonaws.com"), region_of("localhost")
    ('eu-west-1', None)
    """
    if SERVERLESS.search(host):
        raise ConfigurationError(
            f"INDEX_URL: {host} is OpenSearch Serverless, which has neither custom ids nor refresh; use a domain"
        )
    match = AWS_DOMAIN.search(host)
    return match["region"] if match else None


def signer(region: str, credentials: Credentials | None = None) -> Sign:
    """A function that gives the headers of a signed request (Signature Version 4, service `es`).

    The hash of the body is sent as `X-Amz-Content-SHA256` and is part of what is signed.

    Args:
        region: The domain's region.
        credentials: None takes those that botocore finds (a function's role); they renew themselves.
    """
    from botocore.auth import SigV4Auth  # imported here: only AWS domains need it
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import BotoCoreError
    from botocore.session import get_session

    found = credentials or get_session().get_credentials()
    if found is None:
        raise ConfigurationError("INDEX_URL is an AWS domain, and there are no AWS credentials to sign requests with")

    def sign(method: str, url: str, body: bytes | None) -> dict[str, str]:
        request = AWSRequest(method=method, url=url, data=body or b"")
        try:
            scheme = SigV4Auth(found.get_frozen_credentials(), "es", region)
            request.headers["X-Amz-Content-SHA256"] = scheme.payload(request)
            scheme.add_auth(request)
        except BotoCoreError as exc:
            raise DatabaseError("there were no AWS credentials to ask the index with", service="index") from exc
        return dict(request.headers.items())

    return sign
