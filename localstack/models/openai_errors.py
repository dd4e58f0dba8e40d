"""Errors in the body that OpenAI's clients expect."""

from __future__ import annotations

from typing import Any


class ProtocolError(Exception):
    """A request that the OpenAI protocol refuses; carries the HTTP status and the body to answer with."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param

    @property
    def body(self) -> dict[str, Any]:
        """The answer's JSON.

        >>> ProtocolError(400, "input is empty", param="input").body["error"]["type"]
        'invalid_request_error'
        """
        return {
            "error": {
                "message": str(self),
                "type": "invalid_request_error",
                "param": self.param,
                "code": self.code,
            }
        }


def model_not_found(asked: object, served: str) -> ProtocolError:
    """The 404 for a model that this server does not have; *served* is the one it has."""
    return ProtocolError(
        404,
        f"The model {asked!r} does not exist here; this server has {served!r}.",
        code="model_not_found",
        param="model",
    )
