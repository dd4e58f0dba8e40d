"""Routes and headers of the client's requests."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from ragdrop.errors import ConfigurationError, InvalidParamsError


def document_route(vault: str, path: str) -> str:
    """The route of a document, each segment percent-encoded.

    Raises:
        InvalidParamsError: A segment is empty, `.` or `..`, which a URL cannot carry, or is not valid Unicode.

    >>> document_route("team", "notes/50% off?.md")
    '/documents/team/notes/50%25%20off%3F.md'
    """
    segments = [vault, *path.split("/")]
    if any(segment in {"", ".", ".."} for segment in segments):
        raise InvalidParamsError(f"{path!r} in vault {vault!r} is no path of a document", field="path", value=path)
    try:
        return "/documents/" + "/".join(quote(segment, safe="") for segment in segments)
    except UnicodeEncodeError as exc:
        raise InvalidParamsError(f"{path!r} is not valid Unicode", field="path", value=ascii(path)) from exc


def metadata_headers(metadata: Mapping[str, str]) -> dict[str, str]:
    """S3 object metadata as request headers.

    Raises:
        InvalidParamsError: A name has other characters than letters, digits, `-` and `_`, or a value is not one line
            of printable ASCII: what else a document says of itself goes into its front matter.

    >>> metadata_headers({"doc_type": "runbook"})
    {'x-amz-meta-doc_type': 'runbook'}
    """
    for name, value in metadata.items():
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", name) or not re.fullmatch(r"[ -~]*", value):
            raise InvalidParamsError(
                f"metadata {name!r} cannot be sent as a header: ASCII on one line only", field="metadata", value=name
            )
    return {f"x-amz-meta-{name.lower()}": value for name, value in metadata.items()}


def route_of(status_url: str) -> str:
    """The part of a status URL that belongs to the API: route and query, without host and stage.

    Raises:
        InvalidParamsError: It names no document.

    >>> route_of("https://example.com/prod/documents/team/a%20b.md?version=v1")
    '/documents/team/a%20b.md?version=v1'
    """
    before, found, after = status_url.partition("/documents/")
    if not found or not after:
        raise InvalidParamsError(f"{status_url!r} is no status URL", field="status_url", value=before)
    return found + after


def checked_url(api_url: str) -> str:
    """*api_url* without a closing slash.

    Raises:
        ConfigurationError: It is no absolute http or https URL.

    >>> checked_url("https://example.com/prod/")
    'https://example.com/prod'
    """
    try:
        parts = urlsplit(api_url)
        sound = parts.scheme in {"http", "https"} and bool(httpx.URL(api_url).host)
    except (ValueError, httpx.InvalidURL):
        sound = False
    if not sound:
        raise ConfigurationError(f"the API's address {api_url!r} is no http or https URL")
    return api_url.rstrip("/")


def checked_key(api_key: str) -> str:
    """*api_key*, if a header can carry it; the message of the error never shows it.

    Raises:
        ConfigurationError: It is empty, or has spaces, line ends or other characters that no key has.

    >>> checked_key("rd_example")
    'rd_example'
    """
    if not api_key or any(not "!" <= character <= "~" for character in api_key):
        raise ConfigurationError("the API key is empty or has characters that no key has (a space, a line end?)")
    return api_key


def is_loopback(url: str) -> bool:
    """Whether *url* names this machine.

    >>> is_loopback("http://127.0.0.1:4566/x"), is_loopback("https://example.com")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def given(**fields: object) -> dict[str, Any]:
    """The fields that have a value: None means "not given", which differs from null for the API.

    >>> given(query="pump", limit=None)
    {'query': 'pump'}
    """
    return {name: value for name, value in fields.items() if value is not None}
