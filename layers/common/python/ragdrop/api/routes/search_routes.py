"""`POST /search`."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from ragdrop.api.edge import RETRY_AFTER_S, Authenticate, HotRoute, RequestDeadline, aside
from ragdrop.api.shapes.request_shapes import SearchRequest, query_of
from ragdrop.api.shapes.search_shapes import SearchResponse, search_response
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.query.cache import Searching

SearchPart = Callable[[], Searching]


def search_router(search: SearchPart, caller: Authenticate) -> APIRouter:
    """The route over *search*; *search* is called at the first request, so that declaring the route costs nothing."""
    router = APIRouter(tags=["search"], route_class=HotRoute)

    @router.post("/search", response_model_exclude_unset=True, summary="Find documents")
    async def post_search(
        body: SearchRequest,
        request: Request,
        response: Response,
        who: Annotated[Caller, Depends(caller)],
        deadline: RequestDeadline,
    ) -> SearchResponse:
        """Find the documents that answer a question, best first."""
        found, shown = await aside(request, find, search(), body, request, who, deadline)
        if found.cause is not None:
            response.headers["retry-after"] = str(found.cause.details.get("retry_after_s", RETRY_AFTER_S))
        return shown

    return router


def find(
    search: Searching, body: SearchRequest, request: Request, who: Caller, deadline: Deadline
) -> tuple[Retrieval, SearchResponse]:
    """What *search* found, and how it is shown."""
    start = time.perf_counter()
    found = search(query_of(body), who, deadline)
    return found, search_response(found, request, start)
