"""The API of each function: which routes it serves, over which parts of the application.

Routes are imported where a function needs them: declaring one builds the models of its requests and replies, and no
start should wait for those of routes that it does not serve.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

from ragdrop.api.edge import authenticated, create_api, maybe_authenticated
from ragdrop.domain.tenants import RIGHTS

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI

    from ragdrop.api.knowledge_bases import Scores
    from ragdrop.app import App


def search_first_api(app: App) -> OnDemand:
    """The API of the query function: a start for a search waits for the models of no other route."""
    from ragdrop.api.routes.search_routes import search_router

    search = search_router(lambda: app.query.search, authenticated(app.tenants.directory, "reader"))
    return OnDemand(api_of(app, [search]), ["/search"], lambda: query_api(app))


def ask_first_api(app: App) -> OnDemand:
    """The API of the generate function, the routes that ask a chat model: as `search_first_api` for a question."""
    from ragdrop.api.routes.ask_routes import ask_router

    reader = authenticated(app.tenants.directory, "reader")
    ask = ask_router(lambda: app.generate.ask, lambda: app.generate.condense_conversation, reader)
    return OnDemand(api_of(app, [ask]), ["/ask"], lambda: api_of(app, _generating(app)))


def _generating(app: App) -> list[APIRouter]:
    from ragdrop.api.knowledge_bases import KnowledgeBases, generate_router
    from ragdrop.api.openai import chat_router, embeddings_router
    from ragdrop.api.openai_responses import responses_router
    from ragdrop.api.routes.ask_routes import ask_router, verify_router

    directory = app.tenants.directory
    reader = authenticated(directory, "reader")
    bases = KnowledgeBases(directory, app.ports.settings.document_bucket)
    condense, receipts = (lambda: app.generate.condense_conversation), (lambda: app.generate.store_receipts)
    return [
        ask_router(lambda: app.generate.ask, condense, reader),
        chat_router(lambda: app.generate.converse, condense, directory, reader),
        responses_router(lambda: app.generate.converse, condense, receipts, bases, directory, reader),
        embeddings_router(lambda: app.ports.guarded_embedder, directory, reader),
        verify_router(lambda: app.generate.verify, reader),
        generate_router(lambda: app.generate.ask, condense, receipts, bases, reader),
    ]


def query_api(app: App) -> FastAPI:
    """Every route of the API: /ask, /v1 and Bedrock's answers are declared for its document; generate serves them."""
    from ragdrop.api.knowledge_bases import KnowledgeBases, retrieve_router
    from ragdrop.api.openapi import documented
    from ragdrop.api.routes.document_routes import documents_router
    from ragdrop.api.routes.find_routes import find_router
    from ragdrop.api.routes.history_routes import history_router, rollback_router, stages_router
    from ragdrop.api.routes.operation_routes import (
        golden_questions_router,
        health_router,
        models_router,
        queue_router,
        stats_router,
        vaults_router,
    )
    from ragdrop.api.routes.page_routes import page_router, session_router
    from ragdrop.api.routes.receipt_routes import receipts_router
    from ragdrop.api.routes.search_routes import search_router
    from ragdrop.api.routes.thread_routes import threads_router
    from ragdrop.api.vector_stores import vector_stores_router
    from ragdrop.client.routes import is_loopback

    directory = app.tenants.directory
    reader, writer, admin = (authenticated(directory, role) for role in RIGHTS)
    bases = KnowledgeBases(directory, app.ports.settings.document_bucket)

    def upload_url() -> str:
        return app.ports.documents.upload_form("-", media_type="-", metadata={}, max_bytes=1, expires_s=1).url

    return documented(
        api_of(
            app,
            [
                search_router(lambda: app.query.search, reader),
                find_router(lambda: app.query.find, reader),
                *_generating(app),
                history_router(lambda: app.past.record, lambda: app.documents.document_service, reader),
                documents_router(
                    lambda: app.documents.document_service,
                    lambda: app.documents.originals,
                    lambda: app.documents.retry_documents,
                    lambda: app.documents.purge_documents,
                    lambda: app.documents.write_once,
                    lambda: app.past.record,
                    reader,
                    writer,
                ),
                stats_router(lambda: app.operate.read_stats, lambda: app.operate.read_costs, reader),
                vaults_router(lambda: app.operate.read_vaults, reader),
                health_router(
                    lambda: app.operate.check_health,
                    lambda: app.operate.golden_runs,
                    directory,
                    maybe_authenticated(directory),
                ),
                queue_router(lambda: app.ports.queue, reader, admin),
                receipts_router(lambda: app.generate.store_receipts, reader, admin),
                threads_router(lambda: app.generate.threads, reader),
                vector_stores_router(
                    lambda: app.query.search,
                    lambda: app.documents.document_service,
                    lambda: app.operate.read_vaults,
                    bases,
                    reader,
                    writer,
                ),
                retrieve_router(lambda: app.query.search, lambda: _scores(app), bases, reader),
                stages_router(lambda: app.past.stages, reader, writer),
                golden_questions_router(lambda: app.operate.golden_runs, reader, writer),
                rollback_router(lambda: app.past.roll_back, writer),
                session_router(directory, lambda: app.tenants.sign_in_codes, reader, app.ports.settings.chat_models),
                page_router(upload_url),
                models_router(lambda: app.operate.tried_models, lambda: is_loopback(upload_url()), admin),
            ],
        )
    )


def _scores(app: App) -> Scores:
    """How texts are reranked: by the deployment's reranker, else by its reader."""
    from ragdrop.query.candidates import noted_scores

    reranker = app.ports.guarded_reranker
    return app.ports.read_question.scores if reranker is None else partial(noted_scores, reranker)


def api_of(app: App, routers: Sequence[APIRouter]) -> FastAPI:
    """The ASGI application of *routers* over *app*."""
    origins = app.ports.settings.cors_allow_origins
    return create_api(routers, allow_origins=origins, observe=lambda: app.query.observe_queries)


class OnDemand:
    """Gives requests to *paths* to *first* and all others to what *make_rest* makes when one comes.

    Declaring a route builds the models of its requests and responses: a function that starts for one kind of
    question should not wait for those of all others.
    """

    def __init__(self, first: ASGIApp, paths: Collection[str], make_rest: Callable[[], ASGIApp]) -> None:
        self._first, self._paths, self._make_rest = first, frozenset(paths), make_rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = decoded_once(scope)
        app = self._first if scope.get("path") in self._paths else self.rest
        await app(scope, receive, send)

    @cached_property
    def rest(self) -> ASGIApp:
        """The other half."""
        return self._make_rest()


def decoded_once(scope: Scope) -> Scope:
    """*scope* with a path that was decoded once, so that `a%20b.md` and `a b.md` stay two names.

    A REST API of AWS hands the path of an event over as it was sent, and Mangum decodes it.  The payload of HTTP APIs,
    which states its `version`, holds it decoded; so do the events of the local emulator, which have that field too.

    >>> event = {"version": "1.0", "path": "/documents/team/a%20b.md"}
    >>> decoded_once({"path": "/documents/team/a b.md", "aws.event": event})["path"]
    '/documents/team/a%20b.md'
    >>> decoded_once({"path": "/documents/team/a b.md", "aws.event": {"path": "/documents/team/a%20b.md"}})["path"]
    '/documents/team/a b.md'
    """
    event = scope.get("aws.event") or {}
    return {**scope, "path": event["path"]} if event.get("version") == "1.0" else scope


CONTEXT_HEADER = b"x-amzn-lambda-context"


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """What `deadline_of` reads of a Lambda context; `deadline_ms` counts from 1970."""

    deadline_ms: float
    clock: Callable[[], float] = time.time

    def get_remaining_time_in_millis(self) -> float:
        """Milliseconds until Lambda ends the function."""
        return self.deadline_ms - self.clock() * 1_000


class BehindWebAdapter:
    """Reads the adapter's header into the scope.

    Only what the adapter starts is wrapped in it: elsewhere the header would be the caller's own word.  Of several such
    headers the earliest deadline counts, as a caller may add one.
    """

    def __init__(self, app: ASGIApp, *, clock: Callable[[], float] = time.time) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            found = [_deadline_ms(value) for name, value in scope["headers"] if name == CONTEXT_HEADER]
            known = [deadline_ms for deadline_ms in found if deadline_ms is not None]
            if known:
                context = AdapterContext(min(known), self._clock)
                event = {"requestContext": _gateways_words(scope["headers"]), "path": scope.get("path", "")}
                scope = {**scope, "aws.context": context, "aws.event": event, "ragdrop.streams": True}
        await self._app(scope, receive, send)


def _gateways_words(headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """What the gateway says of a request, as the adapter hands it on: links name its stage."""
    try:
        found = json.loads(dict(headers).get(b"x-amzn-request-context", b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _deadline_ms(value: bytes) -> float | None:
    try:
        return float(json.loads(value)["deadline"])
    except (ValueError, KeyError, TypeError):
        return None
