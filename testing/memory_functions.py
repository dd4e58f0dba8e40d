"""A fake of Lambda: it runs the handlers of functions in this process."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError


class MemoryFunctions:
    """A client of Lambda that has one function, *handler*, by the name *function*.

    Answers cross as JSON, as they do on AWS.  `calls` counts invocations; `fail` makes the next ones fail.
    """

    def __init__(self, handler: Callable[[Any], Any], *, function: str = "ragdrop-models:live") -> None:
        self._handler = handler
        self._function = function
        self._failures: list[Exception | dict[str, str]] = []
        self.calls = 0
        self.gate = threading.Event()
        self.gate.set()

    def fail(self, failure: Exception | dict[str, str], *, times: int = 1) -> None:
        """Let the next invocations end with an error of the SDK, or with the payload of a function that failed."""
        self._failures += [failure] * times

    def refuse(self, code: str, status: int, *, times: int = 1) -> None:
        """Let Lambda refuse the next invocations."""
        answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
        self.fail(ClientError(answer, "Invoke"), times=times)

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - as boto3 names them
        self.calls += 1
        if FunctionName != self._function:
            self.refuse("ResourceNotFoundException", 404)
        self.gate.wait(10)
        failure = self._failures.pop(0) if self._failures else None
        if isinstance(failure, Exception):
            raise failure
        failed = {} if failure is None else {"FunctionError": "Unhandled"}
        answer = self._handler(json.loads(Payload)) if failure is None else failure
        return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(answer).encode()), **failed}
