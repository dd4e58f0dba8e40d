"""User metadata of S3 objects: headers carry ASCII only, other text travels as RFC 2047 encoded words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from email.errors import HeaderParseError
from email.header import decode_header


def encoded(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata as it may stand in headers; names in lower case, as S3 gives them back.

    >>> encoded({"Title": "Überlauf"})
    {'title': '=?utf-8?b?w5xiZXJsYXVm?='}
    """
    return {name.lower(): value if _is_plain(value) else _word(value) for name, value in metadata.items()}


def decoded(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata as S3 gave it back, in words; what cannot be decoded stays as it is.

    >>> decoded({"title": "=?UTF-8?Q?=C3=9Cberlauf?="})
    {'title': 'Überlauf'}
    """
    return {name.lower(): _text(value) for name, value in metadata.items()}


def _is_plain(value: str) -> bool:
    # S3 trims values, and would take what looks like an encoded word for one
    return value.isascii() and value.isprintable() and value == value.strip() and "=?" not in value


def _word(value: str) -> str:
    return f"=?utf-8?b?{b64encode(value.encode()).decode()}?="


def _text(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        parts = decode_header(value)
        return "".join(part.decode(charset or "ascii") if isinstance(part, bytes) else part for part, charset in parts)
    except (HeaderParseError, LookupError, ValueError):
        return value
