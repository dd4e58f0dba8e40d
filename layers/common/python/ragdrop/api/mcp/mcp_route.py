"""`POST /mcp`: the Model Context Protocol over streamable HTTP, stateless, answered as JSON.

Messages are checked before the SDK reads them: it reports a wrong one as a list of failed unions, or takes a request
with an invalid id for a notification.
"""

import json
import math
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from mcp import MCPError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, UNSUPPORTED_PROTOCOL_VERSION, RequestId
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from ragdrop.api.edge import CALLER_IN_SCOPE, Authenticate, authenticated, create_api, deadline_of
from ragdrop.api.mcp.direct_api import DirectApi
from ragdrop.api.mcp.server import Context, McpCaller, build
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError, RagdropError

if TYPE_CHECKING:
    from ragdrop.app import App


MARGIN_S = 2.0  # for the last look at a document's record and the answer


def mcp_router(app: "App", caller: Authenticate) -> APIRouter:
    """The route; tools call what the routes call, on behalf of the caller that *caller* found."""

    def agent(context: Context) -> McpCaller:
        request = cast("Request", context.request)  # what the transport was served with
        direct = DirectApi(app, request, request.scope[CALLER_IN_SCOPE])
        return McpCaller(direct, deadline_of(request).remaining_s() - MARGIN_S, partial(note_error, direct.who))

    def note_error(who: Caller, error: RagdropError) -> None:
        app.query.observe_queries.note_error(who, "mcp", error)

    router = APIRouter(tags=["mcp"])
    server = build(agent)

    @router.post("/mcp", include_in_schema=False)
    def post_mcp(who: Annotated[Caller, Depends(caller)]) -> Response:
        """Serve one message of an agent's client."""
        return _Exchange(server, who, partial(note_error, who))

    return router


class _Exchange(Response):
    """One message of a client and its answer: nothing of it is stored."""

    def __init__(self, server: Any, who: Caller, note_error: Callable[[RagdropError], None]) -> None:
        super().__init__()
        self._note_error = note_error
        self._server = server
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the message, or refuse it under its id."""
        content_type = dict(scope["headers"]).get(b"content-type")
        if not is_json(content_type):
            given = f"is {content_type.decode('latin-1')[:80]!r}" if content_type else "is missing"
            refusal = MCPError(INVALID_REQUEST, f"the Content-Type header {given}: send application/json")
            await self._refused(refusal, None, 415)(scope, receive, send)
            return
        message: dict[str, Any] | None = None
        try:
            body = (await Request(scope, receive).body()).removeprefix(BOM_UTF8)
            message = read_message(body)
            check_message(message)
            headers = usable_headers(scope["headers"], message)
        except MCPError as exc:
            await self._refused(exc, message, 400)(scope, receive, send)
            return
        if isinstance(message.get("id"), float):
            body = json.dumps({**message, "id": sent_id(message)}).encode()

        async def checked() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        scope = {**scope, "headers": headers, CALLER_IN_SCOPE: self._who}
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():  # one a request: a Lambda has an event loop only while it serves
            await manager.handle_request(scope, checked, send)

    def _refused(self, error: MCPError, message: dict[str, Any] | None, status: int) -> JSONResponse:
        """An error of the protocol, under the id of *message* where it has a valid one."""
        self._note_error(InvalidParamsError(error.message))
        shown = error.error.model_dump(exclude_none=True)
        return JSONResponse({"jsonrpc": "2.0", "id": sent_id(message), "error": shown}, status)


def mcp_api(app: "App") -> FastAPI:
    """The one route of agents; it checks the key."""
    route = mcp_router(app, authenticated(app.tenants.directory, "reader"))
    return create_api(
        [route], allow_origins=app.ports.settings.cors_allow_origins, observe=lambda: app.query.observe_queries
    )


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
