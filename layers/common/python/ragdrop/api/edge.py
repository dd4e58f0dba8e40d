"""The HTTP edge: map errors to status and body, keys to callers, and give every request an id."""

from __future__ import annotations

import json
import math
import time
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragdrop import __version__, errors
from ragdrop.api.middleware import (
    AnswerRequest,
    CrossOrigin,
    HeadAsGet,
    HotRoutes,
    RequestIds,
    WaitForWrites,
    allowed_methods,
    is_event,
)
from ragdrop.domain.access import ALLOWED_GROUP, is_group
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Caller, Role
from ragdrop.observability import logger
from ragdrop.tenants.directory import TenantDirectory

if TYPE_CHECKING:
    from ragdrop.operate.observe import ObserveQueries

GATEWAY_LIMIT_S = 29.0  # a REST API answers 504 after this long
STREAM_LIMIT_S = 900.0  # how long it lets a response stream
MARGIN_S = 0.5  # for sending the answer
RETRY_AFTER_S = 5
GZIP_FROM_BYTES, GZIP_LEVEL = 2_000, 4  # a smaller body is not worth it; a higher level takes longer than it saves
ROLE_RANK: dict[Role, int] = {"reader": 0, "delegate": 0, "writer": 1, "admin": 2}
JSON = "application/json"
GROUPS_HEADER = "x-ragdrop-groups"
BROWSERS_SEND = ("origin", "sec-fetch-mode", "sec-fetch-site")  # a page cannot leave them out
MAX_GROUPS_HEADER = 8_000  # characters

STATUS: dict[str, int] = {
    "INVALID_PARAMS": 400,
    "INVALID_DOC_TYPE": 400,
    "UNAUTHENTICATED": 401,
    "PROJECT_NOT_ACTIVATED": 403,
    "FORBIDDEN": 403,
    "DOCUMENT_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "CONFLICT": 409,
    "PRECONDITION_FAILED": 412,
    "DOCUMENT_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "CORRUPT_DOCUMENT": 422,
    "ENCRYPTED_DOCUMENT": 422,
    "UNSAFE_DOCUMENT": 422,
    "RATE_LIMITED": 429,
    "INTERNAL_ERROR": 500,
    "MODEL_NOT_FOUND": 502,
    "CIRCUIT_OPEN": 503,
    "EMBEDDING_SERVICE_ERROR": 503,
    "DATABASE_ERROR": 503,
    "GENERATION_ERROR": 503,
    "TIMEOUT": 504,
}

CALLER_IN_SCOPE = "ragdrop.caller"  # of the ASGI scope: a caller that this process found already; no header sets it
OPENAI_PREFIX = "/v1/"
OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
BEDROCK_PREFIXES = ("/knowledgebases/", "/rerank", "/retrieveAndGenerate")
BEDROCK_ERRORS = {
    400: "ValidationException",
    401: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    405: "ValidationException",
    409: "ConflictException",
    429: "ThrottlingException",
    500: "InternalServerException",
}
SESSION_TOKEN = "x-amz-security-token"  # noqa: S105 - a header: AWS clients that sign their requests send a key in it

_api_key = APIKeyHeader(name="x-api-key", auto_error=False, description="A ragdrop key.")
_bearer = HTTPBearer(auto_error=False, description="A ragdrop key as bearer token.")


async def given_secret(
    request: Request,
    key: Annotated[str | None, Depends(_api_key)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> str | None:
    """A dependency: the credential of the request; None where it has none.

    A client of AWS signs with whatever it has: its session token is the key, and its signature is not looked at.  A
    coroutine, as all dependencies that wait for nothing: FastAPI sends a plain function to a thread.
    """
    return key or (bearer.credentials if bearer else None) or request.headers.get(SESSION_TOKEN)


GivenSecret = Annotated[str | None, Depends(given_secret)]


T = TypeVar("T")


async def aside(request: Request, work: Callable[..., T], *given: Any) -> T:
    """The result of *work*, which no other request waits for."""
    return work(*given) if is_event(request.scope) else await run_in_threadpool(work, *given)


Authenticate = Callable[[Request, str | None], Awaitable[Caller]]
"""A dependency that finds the caller of a request, by the secret that it was given."""


def authenticated(directory: TenantDirectory, role: Role) -> Authenticate:
    """A dependency: the caller of the request's key, who must have at least *role*."""

    async def caller(request: Request, secret: GivenSecret) -> Caller:
        found = await aside(request, directory.caller, secret)
        request.state.caller = found  # whom a refusal of the header is logged of
        request.state.caller = speaking_for(found, request.headers)
        return allowed(request.state.caller, role)

    return caller


def maybe_authenticated(directory: TenantDirectory) -> Callable[..., Awaitable[Caller | None]]:
    """A dependency: the caller of the request's key; None without a key, and while keys cannot be looked up."""

    async def caller(request: Request, secret: GivenSecret) -> Caller | None:
        if not secret:
            return None
        try:
            return speaking_for(await aside(request, directory.caller, secret), request.headers)
        except errors.DependencyError:
            return None

    return caller


def speaking_for(caller: Caller, headers: Mapping[str, str]) -> Caller:
    """*caller*, with the groups of the user that a delegate speaks for; a delegate without the header has none.

    A delegate whose key has groups speaks for these alone.

    Raises:
        ForbiddenError: The header is there, and the key is no delegate's, a browser sent it, or the key may not speak
            for such a group.
        InvalidParamsError: The header names no groups.

    >>> speaking_for(Caller("acme", "delegate"), {"x-ragdrop-groups": "hr, board"}).groups
    ('board', 'hr')
    >>> speaking_for(Caller("acme", "delegate", groups=("hr",)), {}).groups
    ()
    """
    given = headers.get(GROUPS_HEADER)
    if given is None:
        return replace(caller, groups=()) if caller.role == "delegate" else caller
    if caller.role != "delegate":
        message = f"{GROUPS_HEADER} is for keys of role delegate, the key has {caller.role}"
        raise errors.ForbiddenError(message, role=caller.role, needed="delegate")
    if any(name in headers for name in BROWSERS_SEND):
        message = f"{GROUPS_HEADER} does not come from a browser: a delegate is a service that knows its users"
        raise errors.ForbiddenError(message, role=caller.role, needed="delegate")
    groups = tuple(sorted({each.strip() for each in given[:MAX_GROUPS_HEADER].split(",") if each.strip()}))
    if len(given) > MAX_GROUPS_HEADER or not all(map(is_group, groups)):
        message = f"{GROUPS_HEADER}: names of groups with commas between"
        raise errors.InvalidParamsError(message, field=GROUPS_HEADER, value=given[:80], allowed=ALLOWED_GROUP)
    if caller.groups and (more := sorted({*groups} - {*caller.groups})):
        message = f"the key may not speak for group {more[0]}"
        raise errors.ForbiddenError(message, role=caller.role, needed="delegate")
    return replace(caller, groups=groups)


def allowed(caller: Caller, role: Role) -> Caller:
    """*caller*, if they have at least *role*. Raises ForbiddenError: they have not."""
    if ROLE_RANK[caller.role] < ROLE_RANK[role]:
        message = f"this needs the role {role}, the key has {caller.role}"
        raise errors.ForbiddenError(message, role=caller.role, needed=role)
    return caller


def deadline_of(request: Request) -> Deadline:
    """When the answer to *request* must have left, by the Lambda context and by the gateway, unless it streams.

    The gateway's time runs from when it took the request: a cold start has used some of it.
    """
    context = request.scope.get("aws.context")
    limit_s = STREAM_LIMIT_S if request.scope.get("ragdrop.streams") else GATEWAY_LIMIT_S - _spent_s(request)
    left_s = limit_s if context is None else min(context.get_remaining_time_in_millis() / 1_000, limit_s)
    return Deadline.after(left_s - MARGIN_S)


async def _deadline(request: Request) -> Deadline:
    return deadline_of(request)


RequestDeadline = Annotated[Deadline, Depends(_deadline)]


def _spent_s(request: Request) -> float:
    """Seconds since the gateway took *request*; 0 where nobody says, or where the event is a recorded one."""
    event = request.scope.get("aws.event") or {}
    taken_ms = event.get("requestContext", {}).get("requestTimeEpoch")
    spent_s = time.time() - taken_ms / 1_000 if isinstance(taken_ms, int | float) else 0.0
    return spent_s if 0 < spent_s < GATEWAY_LIMIT_S else 0.0


def create_api(
    routers: Sequence[APIRouter],
    *,
    allow_origins: Collection[str] = (),
    observe: Callable[[], ObserveQueries] | None = None,
) -> FastAPI:
    """The ASGI application of *routers*: errors in one shape, request ids, HEAD and OPTIONS, no redirects.

    Web pages of *allow_origins* may call it from a browser.  *observe* counts the errors of callers that are known.
    """
    api = FastAPI(
        title="ragdrop",
        version=__version__,
        description="Drop a file in S3; ask questions over HTTP; get answers whose every citation was checked.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # api/openapi.py makes it whole
        redirect_slashes=False,
    )
    api.state.observe = observe
    for router in routers:
        api.include_router(router)
    api.add_exception_handler(errors.RagdropError, _on_ragdrop_error)
    api.add_exception_handler(RequestValidationError, _on_validation_error)
    api.add_exception_handler(HTTPException, _on_http_exception)
    routes = [route for router in routers for route in router.routes if isinstance(route, HotRoute)]
    hot = {(method, route.path): route.answer for route in routes for method in route.methods or ()}
    for middleware, options in _middleware(allow_origins, hot):  # the innermost first
        api.add_middleware(middleware, **options)
    return api


def _middleware(
    allow_origins: Collection[str], hot: Mapping[tuple[str, str], AnswerRequest]
) -> list[tuple[Any, dict[str, Any]]]:
    found: list[tuple[Any, dict[str, Any]]] = [
        (HotRoutes, {"routes": hot}),
        (UnhandledErrorMiddleware, {}),
        (GZipMiddleware, {"minimum_size": GZIP_FROM_BYTES, "compresslevel": GZIP_LEVEL}),
        (HeadAsGet, {}),
    ]
    if allow_origins:
        found.append((CrossOrigin, {"origins": allow_origins}))
    return [*found, (RequestIds, {}), (WaitForWrites, {})]


class HotRoute(APIRoute):
    """A route with a JSON body whose good requests are answered without FastAPI's solving of dependencies.

    Its endpoint takes `body` and `request`, and of `response`, `who` and `deadline` what it needs.
    """

    @cached_property
    def _takes(self) -> tuple[Any, Authenticate, frozenset[str]]:
        """The model of its body, who finds the caller, and the names of its endpoint's parameters."""
        [caller] = [each.call for each in self.dependant.dependencies if each.name == "who"]
        named = signature(self.endpoint).parameters
        return cast("Any", self.body_field).field_info.annotation, cast("Authenticate", caller), frozenset(named)

    async def answer(self, request: Request) -> Response | None:
        """The response to *request*; None where its body has to be refused, or is not plainly JSON."""
        body = self._valid(request.headers.get("content-type", ""), await request.body())
        if body is None:
            return None
        request.scope["route"] = self
        try:
            return await self._answered(body, request)
        except errors.RagdropError as exc:
            return _response(request, exc)

    def _valid(self, content_type: str, body: bytes) -> BaseModel | None:
        if content_type.partition(";")[0] != JSON:
            return None
        try:
            return cast("BaseModel", self._takes[0].model_validate(json.loads(body)))
        except (ValueError, RecursionError):
            return None

    async def _answered(self, body: BaseModel, request: Request) -> Response:
        _, authenticate, names = self._takes
        who = await authenticate(request, await given_secret(request, await _api_key(request), await _bearer(request)))
        response = Response(media_type=JSON)
        given = {"body": body, "request": request, "response": response, "who": who, "deadline": deadline_of(request)}
        call = partial(self.endpoint, **{name: given[name] for name in names})
        found = await (call() if iscoroutinefunction(self.endpoint) else aside(request, call))
        if isinstance(found, Response):
            return found
        response.body = found.model_dump_json(exclude_unset=self.response_model_exclude_unset).encode()
        response.headers["content-length"] = str(len(response.body))
        return response


class UnhandledErrorMiddleware:
    """Turns what nobody foresaw into a plain 500."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as exc:  # of whatever kind: it is logged, and the caller gets an answer
            log_unhandled(exc)
            if started:
                raise
            request_id = scope["state"]["request_id"]
            body = error_body("INTERNAL_ERROR", UNHANDLED, {}, request_id, scope["path"])
            await JSONResponse(body, 500, error_headers("INTERNAL_ERROR", scope["path"]))(scope, receive, send)


OF_UNION = {"str", "int", "float", "bool"}  # which of a field's kinds pydantic tried: nothing that callers sent
UNPARSED = "There was an error parsing the body"  # of FastAPI, whatever it was
UNHANDLED = "something went wrong inside ragdrop"


def log_unhandled(exc: Exception) -> None:
    """Log where an unhandled error came from; never its message, which may hold a document's text."""
    frames = traceback.format_tb(exc.__traceback__)[-6:]
    logger.error("a request failed unexpectedly", extra={"error": type(exc).__name__, "frames": frames})


def error_body(code: str, message: str, details: dict[str, Any], request_id: str, path: str = "") -> dict[str, Any]:
    """The body of every error: on `/v1` with OpenAI's `type` and `param`, on Bedrock's routes with its `message`."""
    error: dict[str, Any] = {"code": code, "message": message, "details": details, "request_id": request_id}
    if path.startswith(OPENAI_PREFIX):
        kind = OPENAI_TYPES.get(STATUS[code], "invalid_request_error" if STATUS[code] < 500 else "server_error")
        error |= {"type": kind, "param": details.get("field")}
    return {"error": error, "message": message} if path.startswith(BEDROCK_PREFIXES) else {"error": error}


def bedrock_error(code: str) -> str:
    """What Bedrock calls an error.

    >>> bedrock_error("RATE_LIMITED"), bedrock_error("GENERATION_ERROR")
    ('ThrottlingException', 'DependencyFailedException')
    """
    return BEDROCK_ERRORS.get(STATUS[code], "DependencyFailedException")


def error_headers(code: str, path: str) -> dict[str, str]:
    """The headers by which clients of AWS know an error, on Bedrock's routes."""
    return {"x-amzn-errortype": bedrock_error(code)} if path.startswith(BEDROCK_PREFIXES) else {}


def body_of_error(exc: errors.RagdropError, request: Request) -> dict[str, Any]:
    """The body of *exc*, as a response or as an event."""
    message, details = shown_of_error(exc)
    return error_body(exc.code, message, details, request.state.request_id, request.scope["path"])


def shown_of_error(exc: errors.RagdropError) -> tuple[str, dict[str, Any]]:
    """Message and details of *exc* as callers see them: when to try again, and nothing of the deployment's settings."""
    details = {name: _as_utf8(value) if isinstance(value, str) else value for name, value in exc.details.items()}
    if STATUS[exc.code] in {429, 503}:
        details.setdefault("retry_after_s", RETRY_AFTER_S)
    message = "the deployment is not set up right" if isinstance(exc, errors.ConfigurationError) else exc.message
    return _as_utf8(message), details


def operation_of(request: Request) -> str:
    """The first segment of the request's route, by which its errors are counted."""
    route = request.scope.get("route")
    return str(getattr(route, "path", "/unknown").split("/")[1])


def _response(request: Request, exc: errors.RagdropError) -> JSONResponse:
    status = STATUS[exc.code]
    body = body_of_error(exc, request)
    details = body["error"]["details"]
    headers = error_headers(exc.code, request.scope["path"])
    if "retry_after_s" in details:
        headers["retry-after"] = str(details["retry_after_s"])
    if status == STATUS["UNAUTHENTICATED"]:
        headers["www-authenticate"] = "Bearer"
    if status == STATUS["METHOD_NOT_ALLOWED"]:
        headers["allow"] = ", ".join(details["allowed"])
    caller = getattr(request.state, "caller", None)
    if caller is not None and request.app.state.observe is not None:
        request.app.state.observe().note_error(caller, operation_of(request), exc)
    level = logger.info if isinstance(exc, errors.CallerError) else logger.warning
    extra = {"request_id": request.state.request_id, "code": exc.code, "status": status}
    who = {} if caller is None else {"tenant": caller.tenant, "credential": caller.credential}
    level("a request was refused", extra=extra | who)
    return JSONResponse(body, status, headers)


async def _on_ragdrop_error(request: Request, exc: Exception) -> JSONResponse:
    assert isinstance(exc, errors.RagdropError)  # noqa: S101 - the handler is registered for these alone
    return _response(request, exc)


async def _on_validation_error(request: Request, exc: Exception) -> JSONResponse:
    assert isinstance(exc, RequestValidationError)  # noqa: S101 - as above
    first = exc.errors()[0]
    of_json = first["type"] == "json_invalid"  # then a number says where in the body
    place = [str(part) for part in first["loc"][1:] if part not in OF_UNION and not (of_json and isinstance(part, int))]
    field = "body" if of_json or not place else ".".join(place)
    said = first["msg"].removeprefix("Value error, ")
    reason = "is not valid JSON" if of_json else said[:1].lower() + said[1:]
    details: dict[str, Any] = {
        "field": field,
        "value": _shown(first.get("input")),
        "allowed": first.get("ctx", {}) or None,
    }
    kind = request.headers.get("content-type", "")
    if first["loc"] == ("body",) and "json" not in kind.lower() and first["type"] != "missing":
        field, reason = "content-type", f"is {kind[:80]!r}: send {JSON}"
        details = {"field": field, "value": kind[:80], "allowed": JSON}
    if first["type"] == "extra_forbidden":
        allowed = _fields_of(request, first["loc"])
        reason = "is not a field of this request" + errors.did_you_mean(place[-1] if place else "", allowed)
        details["allowed"] = allowed or None
    return _response(
        request, errors.InvalidParamsError(f"{field}: {reason}", **json.loads(json.dumps(details, default=str)))
    )


def _fields_of(request: Request, place: Sequence[int | str]) -> list[str]:
    """The names of the fields that the body of *request* may have beside the one at *place*."""
    field = getattr(request.scope.get("route"), "body_field", None)
    kind = field.field_info.annotation if field is not None else None
    for part in place[1:-1]:
        if isinstance(part, str) and isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[part].annotation if part in kind.model_fields else None
        kind = next((each for each in get_args(kind) if each is not type(None)), kind)
    return sorted(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


async def _on_http_exception(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)  # noqa: S101 - as above
    path = request.url.path[:200]
    if exc.status_code == STATUS["METHOD_NOT_ALLOWED"]:
        allowed = allowed_methods(request.app.routes, request.scope)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"allow": ", ".join(allowed)})
        message = f"{request.method} is not allowed on {path}"
        return _response(request, errors.MethodNotAllowedError(message, allowed=allowed))
    if exc.status_code == STATUS["NOT_FOUND"]:
        return _response(request, errors.NotFoundError(f"there is nothing at {path}"))
    message = "body: is not valid JSON in UTF-8" if exc.detail == UNPARSED else str(exc.detail)
    return _response(request, errors.InvalidParamsError(message, field="body", value=None, allowed=None))


def _shown(value: object) -> object:
    """A value as it may stand in an error: short."""
    if isinstance(value, str):
        return _as_utf8(value[:200])
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no word for it, though Python's reader takes it
    return value if isinstance(value, int | float | None) else None


def _as_utf8(text: str) -> str:
    return text.encode(errors="replace").decode()  # half of a surrogate pair cannot leave as UTF-8
