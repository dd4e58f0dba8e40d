"""Translate OpenSearch errors; messages have types and numbers, never the server's text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import opensearchpy

from ragdrop.errors import ConfigurationError, DatabaseError

BUSY_STATUS = frozenset({429, 502, 503, 504})
# A disk over its watermark or a cluster without a leader: the cluster may recover, so trying again can help.
BLOCKED = "cluster_block_exception"
MISSING_INDEX = "index_not_found_exception"
DIMENSION = re.compile(r"dimension mismatch|invalid dimension", re.IGNORECASE)
UNKNOWN_QUERY = re.compile(r"unknown query \[combined_fields\]")


def is_busy(exc: opensearchpy.OpenSearchException) -> bool:
    """Whether the same call may succeed in a moment; a call that timed out is not tried again, its time is used up."""
    if isinstance(exc, opensearchpy.ConnectionTimeout | opensearchpy.SSLError) or _is_unreadable(exc):
        return False
    if isinstance(exc, opensearchpy.ConnectionError):
        return True
    return isinstance(exc, opensearchpy.TransportError) and exc.status_code in BUSY_STATUS


def is_missing_index(exc: opensearchpy.OpenSearchException) -> bool:
    """Whether the index that was named does not exist."""
    return isinstance(exc, opensearchpy.NotFoundError) and exc.error == MISSING_INDEX


def is_unknown_query(exc: opensearchpy.OpenSearchException) -> bool:
    """Whether the server is too old for the combined lexical query; it refuses the whole request then."""
    if not isinstance(exc, opensearchpy.RequestError) or not isinstance(exc.info, Mapping):
        return False
    return UNKNOWN_QUERY.search(causes(exc.info.get("error", {}))) is not None


def translated(exc: opensearchpy.OpenSearchException, stage: str) -> DatabaseError | ConfigurationError:
    """The ragdrop error for an error of the client library; *stage* says what was being done."""
    if isinstance(exc, opensearchpy.ImproperlyConfigured):
        return ConfigurationError(f"the client of the index is not configured well: {exc}")
    if isinstance(exc, opensearchpy.ConnectionTimeout):
        return _error(f"the index did not answer in time ({stage})", retryable=True)
    if isinstance(exc, opensearchpy.SSLError):
        return _error(f"the index's certificate was not accepted ({stage})", retryable=False)
    if isinstance(exc, opensearchpy.ConnectionError) and not _is_unreadable(exc):
        return _error(f"the index could not be reached ({stage})", retryable=True)
    if isinstance(exc, opensearchpy.TransportError) and isinstance(exc.status_code, int):
        return of_status(exc.status_code, str(exc.error)[:100] if _is_type(exc.error) else "", stage)
    return _unreadable(stage)


@contextmanager
def readable(stage: str) -> Iterator[None]:
    """Read an answer in the block; one of another shape than asked for becomes an error that says so.

    Raises:
        DatabaseError: What the server sent is JSON, and not what OpenSearch sends.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as exc:
        raise _unreadable(stage) from exc


def of_status(status: int, kind: str, stage: str) -> DatabaseError:
    """The error for an HTTP status and the server's error type."""
    shown = f"{status} {kind}".strip()
    if kind == BLOCKED:
        return _error(f"the index takes no writes at the moment ({stage}: {shown})", retryable=True, status=status)
    if status in {401, 403}:
        return _error(f"the index refused the credentials ({stage}: {shown})", retryable=False, status=status)
    busy = status in BUSY_STATUS or status >= 500
    return _error(f"the index refused or failed ({stage}: {shown})", retryable=busy, status=status)


def causes(error: Mapping[str, Any]) -> str:
    """Types and reasons of an error object and what caused it, for matching only: reasons may quote documents."""
    found = []
    node: Any = error
    while isinstance(node, Mapping):
        found.append(f"{node.get('type')}: {node.get('reason')}")
        roots = node.get("root_cause") or ()
        found += [f"{root.get('type')}: {root.get('reason')}" for root in roots]
        node = node.get("caused_by")
    return "\n".join(found)


def _is_unreadable(exc: opensearchpy.OpenSearchException) -> bool:
    """Whether an answer came that is no text: the library calls that a connection error."""
    return isinstance(exc, opensearchpy.ConnectionError) and isinstance(exc.info, UnicodeDecodeError)


def _is_type(error: object) -> bool:
    return isinstance(error, str) and re.fullmatch(r"[a-z_]+", error) is not None


def _unreadable(stage: str) -> DatabaseError:
    return _error(f"the index gave an answer that could not be read ({stage})", retryable=True, reason="unreadable")


def _error(message: str, *, retryable: bool, **details: int | str) -> DatabaseError:
    return DatabaseError(message, service="index", retryable=retryable, **details)
