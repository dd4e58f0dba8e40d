"""An error as the command line shows it: one line with its code, then what to do next, and the exit code."""

from __future__ import annotations

from typing import Any

import httpx

from ragdrop.client.replies import API_SERVICE
from ragdrop.errors import (
    ConfigurationError,
    DependencyError,
    ForbiddenError,
    ProjectNotActivatedError,
    RagdropError,
    UnauthenticatedError,
)

FAILED, USAGE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130

NEXT_STEPS = {
    "UNAUTHENTICATED": "check RAGDROP_API_KEY, or make a key: ragdrop key create TENANT --role reader",
    "PROJECT_NOT_ACTIVATED": "ask your operator to enable the tenant",
    "FORBIDDEN": "use a key with that right: ragdrop key create TENANT --role writer",
    "INVALID_PARAMS": "mend the field named above; ragdrop COMMAND --help shows an example",
    "DOCUMENT_NOT_FOUND": "ragdrop ls shows what is there",
    "DOCUMENT_TOO_LARGE": "split the file: a document has at most 50 MB",
    "NOT_FOUND": "is this the address of a ragdrop API? check RAGDROP_API_URL or .local/stack.json",
    "CONFLICT": "something is in the way, named above; ragdrop COMMAND --help shows the options that accept or end it",
    "RATE_LIMITED": "wait and run it again",
    "CIRCUIT_OPEN": "wait and run it again",
    "MODEL_NOT_FOUND": "install the model named above, or set another one",
    "API_UNREACHABLE": "see that it runs, and that RAGDROP_API_URL or .local/stack.json names the right one",
    "CONFIGURATION": "mend what the line above names; `make up` starts a local stack",
}
DEPENDENCY_STEP = "run it again in a moment; if it stays, look at the service named above"
INTERNAL_STEP = "tell your operator the request id; the cause is in the function's log"


def code_of(error: RagdropError) -> str:
    """The code to show: the API's, or one of this side's own where no API answered.

    >>> code_of(DependencyError("no connection", service="api"))
    'API_UNREACHABLE'
    """
    if isinstance(error, ConfigurationError):
        return "CONFIGURATION"
    if type(error) is DependencyError:
        return "API_UNREACHABLE" if error.service == API_SERVICE else error.code
    return str(error.details.get("code", error.code))


def exit_code(error: RagdropError) -> int:
    """1 the request failed, 2 the settings are wrong, 3 a service could not be reached.

    >>> exit_code(DependencyError("no connection", service="api"))
    3
    """
    if isinstance(error, ConfigurationError):
        return USAGE
    return UNREACHABLE if isinstance(error, DependencyError) else FAILED


def describe(error: RagdropError) -> list[str]:
    """The lines for standard error.

    >>> describe(ConfigurationError("INDEX_URL is missing"))[0]
    'error CONFIGURATION: INDEX_URL is missing'
    """
    code = code_of(error)
    request_id = error.details.get("request_id")
    told = f" (request {request_id})" if request_id and exit_code(error) != USAGE else ""
    step = NEXT_STEPS.get(code) or (DEPENDENCY_STEP if isinstance(error, DependencyError) else INTERNAL_STEP)
    wait_s = error.details.get("retry_after_s")
    return [f"error {code}: {error.message}{told}", f"next: {step}" + (f" (after {wait_s} s)" if wait_s else "")]


def stops_all(error: RagdropError) -> bool:
    """Whether the next request would meet the same error: no API, or a key that may not.

    >>> stops_all(UnauthenticatedError("no such key")), stops_all(RagdropError("failed"))
    (True, False)
    """
    if isinstance(error, UnauthenticatedError | ForbiddenError | ProjectNotActivatedError):
        return True
    return type(error) is DependencyError and error.service == API_SERVICE and "status" not in error.details


def own_body(error: RagdropError) -> dict[str, Any]:
    """What stands under `error` where no API wrote a body, in the API's shape.

    >>> own_body(ConfigurationError("INDEX_URL is missing"))["code"]
    'CONFIGURATION'
    """
    details = {name: value for name, value in error.details.items() if isinstance(value, str | int | float | bool)}
    return {"code": code_of(error), "message": error.message, "details": details, "request_id": None}


def body_of(error: RagdropError) -> bytes | None:
    """The API's error body as received; None where no API answered."""
    cause = error.__cause__
    return cause.response.content if isinstance(cause, httpx.HTTPStatusError) else None
