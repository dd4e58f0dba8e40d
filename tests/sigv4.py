"""Signature Version 4 as AWS specifies it, with hmac and hashlib alone: what servers of tests check requests with.

The steps follow "Create a signed AWS API request" (docs.aws.amazon.com, IAM user guide).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote


def signature(method: str, target: str, headers: Mapping[str, str], body: bytes, *, secret: str) -> str:
    """What the signature of a request must be, by the access key's *secret*; names of headers are in lower case."""
    parts = signed_parts(headers)
    _, day, region, service, end = parts["Credential"].split("/")
    path, _, query = target.partition("?")
    pairs = sorted((quote(n, safe="-_.~"), quote(v, safe="-_.~")) for n, v in parse_qsl(query, keep_blank_values=True))
    signed = parts["SignedHeaders"].split(";")
    canonical = "\n".join(
        [
            method,
            quote(path, safe="/-_.~"),  # a second time: the path of any service but S3 is encoded twice
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{' '.join(headers[name].split())}" for name in signed),
            "",
            parts["SignedHeaders"],
            hashlib.sha256(body).hexdigest(),
        ]
    )
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    scope = f"{day}/{region}/{service}/{end}"
    text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{hashed}"
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def signed_parts(headers: Mapping[str, str]) -> dict[str, str]:
    """Credential, SignedHeaders and Signature of a request's authorization; empty where it is not signed."""
    given = headers.get("authorization", "").partition(" ")[2]
    return dict(part.split("=", 1) for part in given.split(", ") if "=" in part)
