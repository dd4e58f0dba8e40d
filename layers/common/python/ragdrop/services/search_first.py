"""What the query function serves: /search from its start, every other route from the first call of one on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from ragdrop.http import authenticated, create_api
from ragdrop.routes.search import search_router
from ragdrop.services.on_demand import OnDemand

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def search_first_api(app: App) -> OnDemand:
    """The API of services/query.py; a start for a search waits for the models of no other route."""

    def whole() -> ASGIApp:
        from ragdrop.services.query import query_api

        return query_api(app)

    search = search_router(lambda: app.search, authenticated(app.directory, "reader"))
    return OnDemand(create_api([search], allow_origins=app.settings.cors_allow_origins), ["/search"], whole)
