"""DirectApi: the functions that the routes call, for the MCP tools of one request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from fastapi import Request
from pydantic import BaseModel, ValidationError

from ragdrop.api.edge import UNHANDLED, allowed, deadline_of, log_unhandled, shown_of_error
from ragdrop.api.mcp.backend import Reply, invalid
from ragdrop.api.routes.ask_routes import answer, verified_answer
from ragdrop.api.routes.document_headers import object_metadata
from ragdrop.api.routes.document_routes import ListParameters, ReadParameters, list_of, text_of
from ragdrop.api.routes.operation_routes import health_of
from ragdrop.api.routes.search_routes import find
from ragdrop.api.shapes.answer_shapes import VerifyRequest
from ragdrop.api.shapes.document_shapes import accepted, record_shape
from ragdrop.api.shapes.operation_shapes import stats_shape
from ragdrop.api.shapes.question_shapes import AskRequest
from ragdrop.api.shapes.request_shapes import SearchRequest
from ragdrop.client.routes import given
from ragdrop.domain.documents import Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import RagdropError
from ragdrop.operate.stats import TimeRange

if TYPE_CHECKING:
    from ragdrop.app import App


@contextmanager
def _as_shown() -> Iterator[None]:
    """Let what fails be what the API shows of it."""
    try:
        yield
    except ValidationError as exc:
        raise invalid(exc) from exc
    except RagdropError as exc:
        exc.message, exc.details = shown_of_error(exc)
        raise
    except Exception as exc:  # of whatever kind: it is logged, and the agent gets an answer
        log_unhandled(exc)
        raise RagdropError(UNHANDLED) from exc


def _reply(shown: BaseModel) -> Reply:
    return shown.model_dump(mode="json", exclude_unset=True)


@dataclass(frozen=True)
class DirectApi:
    """What tools request of the API, for the caller of one request."""

    app: App
    request: Request
    who: Caller

    def ask(self, query: str, **fields: object) -> Reply:
        with _as_shown():
            body = AskRequest.model_validate(given(query=query, **fields))
            return _reply(answer(self.app.generate.ask, body, self.request, self.who, deadline_of(self.request)))

    def search(self, query: str, **fields: object) -> Reply:
        with _as_shown():
            body = SearchRequest.model_validate(given(query=query, **fields))
            return _reply(find(self.app.query.search, body, self.request, self.who, deadline_of(self.request))[1])

    def verify(self, answer: str, sources: Sequence[Mapping[str, str]], *, question: str | None = None) -> Reply:
        with _as_shown():
            body = VerifyRequest.model_validate({"answer": answer, "sources": list(sources), "question": question})
            return _reply(verified_answer(self.app.generate.verify, body, self.request, deadline_of(self.request)))

    def put_document(
        self, vault: str, path: str, body: bytes, *, media_type: str, facts: Mapping[str, Any] | None = None
    ) -> Reply:
        with _as_shown():
            who = allowed(self.who, "writer")
            key = DocumentKey.checked(who.tenant, vault, path)
            metadata = object_metadata({}, json.dumps(facts, ensure_ascii=False) if facts else None)
            service = self.app.documents.document_service
            stored = service.put(who, key, body, media_type=media_type, metadata=metadata)
            return _reply(accepted(self.request, key, stored.version_id, Status.PENDING))

    def status(self, status_url: str) -> Reply:
        with _as_shown():
            parts = urlsplit(status_url)
            vault, _, path = unquote(parts.path).partition("/documents/")[2].partition("/")
            version = parse_qs(parts.query).get("version", [None])[0]
            key = DocumentKey.checked(self.who.tenant, vault, path)
            return _reply(
                record_shape(self.app.documents.document_service.record(self.who, key, version_id=version), self._id)
            )

    def documents(self, *, page_size: int, cursor: str | None) -> Iterator[Reply]:
        yield self._page(page_size, cursor)

    def _page(self, page_size: int, cursor: str | None) -> Reply:
        with _as_shown():
            asked = ListParameters(limit=page_size, cursor=cursor)
            return _reply(list_of(self.app.documents.document_service, self.who, asked, {}, self._id))

    def get_document(self, vault: str, path: str, *, span: tuple[int, int]) -> Reply:
        with _as_shown():
            key = DocumentKey.checked(self.who.tenant, vault, path)
            asked = ReadParameters(span=f"{span[0]}-{span[1]}")
            return _reply(text_of(self.app.documents.document_service, self.who, key, asked, self._id))

    def health(self) -> Reply:
        with _as_shown():
            operate = self.app.operate
            return _reply(
                health_of(operate.check_health, operate.golden_runs, self.app.tenants.directory, self._id, self.who)
            )

    def stats(self, time_range: str) -> Reply:
        with _as_shown():
            known = cast("TimeRange", time_range)  # checked with the tool's arguments
            return _reply(stats_shape(self.app.operate.read_stats(self.who, known), self._id, known))

    @property
    def _id(self) -> str:
        return str(self.request.state.request_id)
