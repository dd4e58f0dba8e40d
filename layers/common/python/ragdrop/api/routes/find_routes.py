"""`GET /find`: what it replies, and the route, which a search does not wait for."""

import time
from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi import Query as Parameter
from pydantic import Field

from ragdrop.api.edge import Authenticate, RequestDeadline
from ragdrop.api.shapes.fields import (
    HeadingPath,
    Keyed,
    LatencyMs,
    Page,
    PlaceInDocument,
    Replied,
    Title,
    VersionId,
    placed,
)
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.query.find import Find, FoundTyped


class FoundShape(Keyed):
    """A document that was found as somebody types, and the passage that has the words."""

    version_id: VersionId
    title: Title
    tags: list[str] = Field(description="Words to find it by.")
    found_in: Literal["title", "path", "tag", "text"] = Field(description="What has the words.")
    heading_path: HeadingPath
    page: Page
    place: PlaceInDocument
    text: str | None = Field(description="An excerpt of the passage, as the parsed document has it; null without one.")
    text_start: int | None = Field(description="The first code point of `text` in the parsed text.")
    text_end: int | None = Field(description="The code point after the last one of `text`.")
    start: int | None = Field(description="The first code point of what was typed, where it stands in `text`.")
    end: int | None = Field(description="The code point after the last one of it.")


class FindResponse(Replied):
    """What was found as somebody types."""

    results: list[FoundShape] = Field(description="Documents by name first, then those whose text has the words.")
    latency_ms: LatencyMs


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
        return FindResponse(
            request_id=request.state.request_id,
            results=[_found_shape(each) for each in found],
            latency_ms=round((time.perf_counter() - start) * 1_000, 1),
        )

    return router


def _found_shape(found: FoundTyped) -> FoundShape:
    excerpt, facts = found.excerpt, found.hit.facts
    begin, end = (excerpt.marked if excerpt is not None else None) or (None, None)
    chunk = None if excerpt is None else excerpt.hit.chunk
    return FoundShape(
        **placed(found.key),
        key=found.key.s3_key,
        version_id=facts.version_id,
        title=facts.title,
        tags=list(facts.tags),
        found_in=found.found_in,
        heading_path=list(chunk.heading_path) if chunk else [],
        page=chunk.page if chunk else None,
        place=chunk.place if chunk else None,
        text=excerpt.text if excerpt else None,
        text_start=excerpt.start if excerpt else None,
        text_end=excerpt.end if excerpt else None,
        start=begin,
        end=end,
    )
