"""Check a message of an agent's client before the SDK reads it: errors in plain words, under the sender's own id.

The SDK reports such messages as a list of failed unions, or takes a request with an invalid id for a notification.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, UNSUPPORTED_PROTOCOL_VERSION, RequestId
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

VERSION_HEADER = b"mcp-protocol-version"
JSON = b"application/json"
Headers = list[tuple[bytes, bytes]]


def usable_headers(headers: Headers, message: Mapping[str, Any]) -> Headers:
    """The headers that the SDK reads.

    `initialize` negotiates the version of its body, so its header does not count.  No `Accept` accepts everything.

    Raises:
        MCPError: The header of any other message names a version that is not supported.

    >>> usable_headers([(b"mcp-protocol-version", b"2099-01-01")], {"method": "initialize"})
    [(b'accept', b'application/json'), (b'content-type', b'application/json')]
    """
    given = dict(headers)
    version = given.get(VERSION_HEADER, b"").decode("latin-1").strip()
    if message.get("method") == "initialize":
        version = ""
    elif version and version not in KNOWN_PROTOCOL_VERSIONS:
        supported = list(KNOWN_PROTOCOL_VERSIONS)
        raise MCPError(
            UNSUPPORTED_PROTOCOL_VERSION,
            f"MCP-Protocol-Version is {version[:40]!r}; supported are {', '.join(supported)}",
            data={"supported": supported, "requested": version[:40]},
        )
    dropped = {b"content-type"} if version else {b"content-type", VERSION_HEADER}
    found = [each for each in headers if each[0] not in dropped]
    if b"accept" not in given:
        found.append((b"accept", JSON))
    return [*found, (b"content-type", JSON)]


def is_json(content_type: bytes | None) -> bool:
    """Whether a Content-Type header names JSON.

    >>> is_json(b"Application/JSON; charset=utf-8"), is_json(b"text/plain"), is_json(None)
    (True, False, False)
    """
    return (content_type or b"").split(b";")[0].strip().lower() == JSON


def read_message(body: bytes) -> dict[str, Any]:
    """The message in *body*.

    Raises:
        MCPError: It is no JSON, or no JSON object, such as a batch.

    >>> read_message(b'{"jsonrpc": "2.0"}')
    {'jsonrpc': '2.0'}
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as exc:
        where = f" at character {exc.pos}" if isinstance(exc, json.JSONDecodeError) else ""
        raise MCPError(PARSE_ERROR, f"the body is not valid JSON{where}") from exc
    if isinstance(message, list):
        raise MCPError(INVALID_REQUEST, "batches are not supported: send each message in its own POST")
    if not isinstance(message, dict):
        raise MCPError(INVALID_REQUEST, "a message must be a JSON object")
    return message


def check_message(message: Mapping[str, Any]) -> None:
    """Check the fields that JSON-RPC and the protocol require.

    Raises:
        MCPError: One is missing or has another type.

    >>> check_message({"jsonrpc": "2.0", "id": 0, "method": "ping"})
    >>> check_message({"jsonrpc": "2.0", "id": None, "method": "ping"})
    Traceback (most recent call last):
    mcp.shared.exceptions.MCPError: id is null: a request needs a string or an integer, a notification has no id
    """
    if message.get("jsonrpc") != "2.0":
        raise MCPError(INVALID_REQUEST, 'jsonrpc must be "2.0"')
    if "id" in message and sent_id(message) is None and "error" not in message:
        shown = json.dumps(message["id"])[:40]
        expected = "a request needs a string or an integer, a notification has no id"
        raise MCPError(INVALID_REQUEST, f"id is {shown}: {expected}")
    if "method" not in message:
        if "result" not in message and "error" not in message:
            raise MCPError(INVALID_REQUEST, "method is missing")
    elif not isinstance(message["method"], str):
        raise MCPError(INVALID_REQUEST, "method must be a string")
    if not isinstance(message.get("params", {}), dict | None):
        raise MCPError(INVALID_PARAMS, "params must be an object")


def sent_id(message: object) -> RequestId | None:
    """The id of a message, a whole number as an integer; None where it has none that is valid.

    >>> [sent_id({"id": value}) for value in ("a", -1, 2.0, 1.5, True, None)]
    ['a', -1, 2, None, None, None]
    """
    value = message.get("id") if isinstance(message, dict) else None
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
