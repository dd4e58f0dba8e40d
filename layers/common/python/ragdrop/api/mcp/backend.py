"""What MCP tools and resources need of the API, over HTTP or in process, and its errors as agents see them."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from mcp import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ValidationError

from ragdrop.domain.deadlines import REQUEST_ID
from ragdrop.errors import CallerError, InvalidParamsError, RagdropError

Reply = Mapping[str, Any]


class Backend(Protocol):
    """The part of the client that agents use.  Every method raises RagdropError."""

    def ask(self, query: str, **fields: object) -> Reply:
        """Answer a question."""
        ...

    def search(self, query: str, **fields: object) -> Reply:
        """Find documents."""
        ...

    def verify(self, answer: str, sources: Sequence[Mapping[str, str]], *, question: str | None = None) -> Reply:
        """Check an answer against texts, and whether it answers a question."""
        ...

    def put_document(
        self, vault: str, path: str, body: bytes, *, media_type: str, facts: Mapping[str, Any] | None = None
    ) -> Reply:
        """Store a document."""
        ...

    def status(self, status_url: str) -> Reply:
        """Read the record that a stored document's `status_url` names."""
        ...

    def documents(self, *, page_size: int, cursor: str | None) -> Iterator[Reply]:
        """List documents page by page."""
        ...

    def get_document(self, vault: str, path: str, *, span: tuple[int, int]) -> Reply:
        """Read a document's parsed text between two code points."""
        ...

    def health(self) -> Reply:
        """Read how the service is."""
        ...

    def stats(self, time_range: str) -> Reply:
        """Read figures of a time range."""
        ...


SERVER_ERROR = -32000  # JSON-RPC leaves -32000 to -32099 to servers


def error_fields(error: RagdropError) -> dict[str, Any]:
    """An error in the API's shape: `code`, `message`, `details` and `request_id`.

    The id is the API's, else that of the request being served; over standard input it is a new one.

    >>> error_fields(InvalidParamsError("limit: too large", field="limit"))["code"]
    'INVALID_PARAMS'
    """
    details = {name: value for name, value in error.details.items() if name not in {"status", "request_id", "code"}}
    return {
        "code": str(error.details.get("code", error.code)),
        "message": error.message,
        "details": details,
        "request_id": error.details.get("request_id") or REQUEST_ID.get() or str(uuid.uuid4()),
    }


def tool_error(error: RagdropError) -> CallToolResult:
    """The result of a tool that failed."""
    fields = error_fields(error)
    text = f"{fields['code']}: {fields['message']}"
    wait_s = fields["details"].get("retry_after_s")
    if wait_s:
        text += f" (try again in {wait_s} s)"
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=content, structured_content={"error": fields}, is_error=True)


def protocol_error(error: RagdropError) -> MCPError:
    """The protocol's own error, which carries the API's: for what is no tool."""
    code = INVALID_PARAMS if isinstance(error, CallerError) else SERVER_ERROR
    return MCPError(code, f"{error_fields(error)['code']}: {error.message}", data={"error": error_fields(error)})


def invalid(error: ValidationError) -> InvalidParamsError:
    """The first thing that is wrong with a tool's arguments, in the API's form."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "arguments"
    value = first.get("input")
    shown = value[:200] if isinstance(value, str) else value if isinstance(value, int | float) else None
    allowed = {name: limit for name, limit in (first.get("ctx") or {}).items() if isinstance(limit, int | float | str)}
    return InvalidParamsError(f"{field}: {first['msg']}", field=field, value=shown, allowed=allowed or None)


def wrong_params(error: ValidationError) -> str:
    """The first parameter of a method that is wrong, and how, in the protocol's own names."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"] if part != "params")
    reason = "is missing" if first["type"] == "missing" else first["msg"][:1].lower() + first["msg"][1:]
    return f"params.{name} {reason}" if name else f"params {reason}"
