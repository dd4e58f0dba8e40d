"""`POST /search` and `GET /find`."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi import Query as Parameter

from ragdrop.api.edge import RETRY_AFTER_S, Authenticate, HotRoute, RequestDeadline, aside
from ragdrop.api.shapes.request_shapes import SearchRequest, query_of
from ragdrop.api.shapes.search_shapes import FindResponse, SearchResponse, find_response, search_response
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.query.cache import Searching
from ragdrop.query.find import Find

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


def find_router(find_typed: Callable[[], Find], caller: Authenticate) -> APIRouter:
    """The route over a use case that is made at the first request."""
    router = APIRouter(tags=["search"])

    @router.get("/find", summary="Find documents as you type")
    def get_find(
        request: Request,
        who: Annotated[Caller, Depends(caller)],
        deadline: RequestDeadline,
        q: Annotated[str, Parameter(min_length=1, max_length=200, description="What was typed so far.")],
        vault: Annotated[str | None, Parameter(max_length=63, description="Documents of this vault alone.")] = None,
        limit: Annotated[int, Parameter(ge=1, le=20, description="Documents at most.")] = 8,
    ) -> FindResponse:
        """Documents whose title, path or tags begin so, and passages with these words, codes or "quoted phrases".

        Every word must be there, and the last one may have only begun. No model is asked.
        """
        start = time.perf_counter()
        found = find_typed()(Query(q, vaults=(vault,) if vault else (), limit=limit), who, deadline)
        return find_response(found, request, start)

    return router


def find(
    search: Searching, body: SearchRequest, request: Request, who: Caller, deadline: Deadline
) -> tuple[Retrieval, SearchResponse]:
    """What *search* found, and how it is shown."""
    start = time.perf_counter()
    found = search(query_of(body), who, deadline)
    return found, search_response(found, request, start)
