"""The id of the request that is being served, for whoever tells of it: log lines, and calls to models."""

from __future__ import annotations

from contextvars import ContextVar

REQUEST_ID: ContextVar[str | None] = ContextVar("ragdrop_request_id", default=None)
"""Set by the HTTP edge for the time of one request; None outside of one."""
