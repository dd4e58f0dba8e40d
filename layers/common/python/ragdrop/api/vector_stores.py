"""Vaults as vector stores of the OpenAI protocol: list and search them, and put files into them."""

import datetime
import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Depends, File, Form, Path, Query, Request, Response, UploadFile

from ragdrop.api.edge import Authenticate, RequestDeadline
from ragdrop.api.knowledge_bases import KnowledgeBases, passages_of, retrieved
from ragdrop.api.routes.document_headers import object_metadata
from ragdrop.api.routes.document_routes import media_type_of
from ragdrop.api.routes.search_routes import SearchPart
from ragdrop.api.shapes.answer_shapes import bedrock_reference
from ragdrop.api.shapes.fields import IGNORED_HEADER, ignored_header
from ragdrop.api.shapes.openai_shapes import (
    MAX_FILE_ID,
    AttachRequest,
    StoreSearchRequest,
    bedrock_filter,
    file_id,
    path_of_file,
)
from ragdrop.documents.service import DocumentService, KnownDocument
from ragdrop.domain.documents import Status
from ragdrop.domain.history import STAGE
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import FoundChunk
from ragdrop.domain.tenants import Caller
from ragdrop.operate.stats import ReadVaults, VaultFigures
from ragdrop.query.understand import MAX_LIMIT

FILES_VAULT = "files"  # where a file waits until it is put into a vector store
UPLOADED = "uploaded"  # the stage that it waits in, which nobody promotes: so no question finds it
STATES = {Status.INDEXED: "completed", Status.FAILED: "failed"}
FILTERS = {"completed": Status.INDEXED, "failed": Status.FAILED, "in_progress": Status.PENDING}
UNREAD = ("order", "before")  # parameters of a list, which goes forward by name
FileState = Literal["in_progress", "completed", "failed", "cancelled"]
PageSize = Annotated[int, Query(ge=1, le=100, description="Results of a page.")]
StoreId = Annotated[str, Path(max_length=200, description="A vault's name, or its id as `GET /vaults` lists it.")]


def vector_stores_router(
    search: SearchPart,
    keep: Callable[[], DocumentService],
    vaults: Callable[[], ReadVaults],
    bases: KnowledgeBases,
    reader: Authenticate,
    writer: Authenticate,
) -> APIRouter:
    """The routes over use cases that are made at the first request."""
    router = APIRouter(prefix="/v1", tags=["openai"])

    @router.get("/vector_stores", summary="List vector stores")
    def get_stores(
        who: Annotated[Caller, Depends(reader)],
        request: Request,
        response: Response,
        after: Annotated[str, Query(max_length=63, description="The last id of the page before.")] = "",
        limit: PageSize = 20,
    ) -> dict[str, Any]:
        """The vaults that the key may read, by name."""
        response.headers.update(_unread(request))
        found = vaults()(who, after=after, limit=limit + 1)
        return _page([_store(each) for each in found[:limit]], has_more=len(found) > limit)

    @router.get("/vector_stores/{vector_store_id}", summary="Read a vector store")
    def get_store(vector_store_id: StoreId, who: Annotated[Caller, Depends(reader)]) -> dict[str, Any]:
        """A vault, with its documents by status."""
        [found] = vaults()(who, only=bases.vault(who, vector_store_id, field="vector_store_id"))
        return _store(found)

    @router.get("/vector_stores/{vector_store_id}/files", summary="List the files of a vector store")
    def get_store_files(
        vector_store_id: StoreId,
        who: Annotated[Caller, Depends(reader)],
        request: Request,
        response: Response,
        after: Annotated[str, Query(max_length=MAX_FILE_ID, description="The last id of the page before.")] = "",
        limit: PageSize = 20,
        filter: Annotated[FileState | None, Query(description="Only files of this status.")] = None,  # noqa: A002
    ) -> dict[str, Any]:
        """The documents of a vault that the key may read, by path, without their attributes and sizes."""
        vault = bases.vault(who, vector_store_id, field="vector_store_id")
        response.headers.update(_unread(request))
        if filter == "cancelled":  # nothing is
            return _page([], has_more=False)
        page = keep().page(
            who,
            vault=vault,
            prefix="",
            status=FILTERS[filter] if filter else None,
            cursor=None,
            limit=limit,
            after=f"{vault}/{path_of_file(after)}" if after else "",
        )
        files = [_store_file(vector_store_id, KnownDocument(head, None, head.status), None) for head in page.heads]
        return _page(files, has_more=page.cursor is not None)

    @router.post("/vector_stores/{vector_store_id}/search", summary="Search a vector store")
    def post_store_search(
        vector_store_id: StoreId,
        body: StoreSearchRequest,
        response: Response,
        who: Annotated[Caller, Depends(reader)],
        deadline: RequestDeadline,
    ) -> dict[str, Any]:
        """The passages of a vault that answer a question, as OpenAI's vector stores give them."""
        vault = bases.vault(who, vector_store_id, field="vector_store_id")
        ranking = body.ranking_options
        found = retrieved(
            search(),
            who,
            deadline,
            **bases.within(who, [vault], bedrock_filter(body.filters)),
            query=" ".join(body.query),
            limit=min(MAX_LIMIT, body.max_num_results),
            rerank=ranking.ranker not in {None, "none"},
            min_relevance=ranking.score_threshold or 0,
        )
        response.headers.update(ignored_header(body))
        shown = [_passage(each) for each in passages_of(found.documents)[: body.max_num_results]]
        page = {"object": "vector_store.search_results.page", "search_query": body.query}
        return {**page, "data": shown, "has_more": False, "next_page": None}

    @router.post("/files", summary="Upload a file")
    def post_file(
        response: Response,
        who: Annotated[Caller, Depends(writer)],
        ignored: Annotated[dict[str, str], Depends(_ignored_parts)],
        file: Annotated[UploadFile, File(description="The file.")],
        purpose: Annotated[str, Form(max_length=80, description="As the protocol has it; nothing depends on it.")],
    ) -> dict[str, Any]:
        """A file of up to 4 MB for vector stores; no question finds it before it is put into one."""
        key = DocumentKey.checked(who.tenant, FILES_VAULT, _name_of(file))
        content = file.file.read()
        media_type = media_type_of(file.content_type, key.path)
        keep().put(who, key, content, media_type=media_type, metadata={STAGE: UPLOADED})
        response.headers.update(ignored)
        now_s = int(datetime.datetime.now(datetime.UTC).timestamp())
        kind = {"id": file_id(key.path), "object": "file", "purpose": purpose, "status": "uploaded"}
        return {**kind, "filename": key.path, "bytes": len(content), "created_at": now_s}

    @router.post("/vector_stores/{vector_store_id}/files", summary="Put a file into a vector store")
    def post_store_file(
        vector_store_id: Annotated[str, Path(max_length=63, description="A vault's name, also of a new one.")],
        body: AttachRequest,
        response: Response,
        who: Annotated[Caller, Depends(writer)],
    ) -> dict[str, Any]:
        """Copy a file that was uploaded into a vault; its attributes become the document's, and it is indexed."""
        path = path_of_file(body.file_id)
        given = DocumentKey.checked(who.tenant, FILES_VAULT, path)
        key = DocumentKey.checked(who.tenant, vector_store_id, path)
        stated = object_metadata({}, json.dumps({"attributes": body.attributes}) if body.attributes else None)
        keep().copy(who, given, key, metadata=stated)
        response.headers.update(ignored_header(body))
        return _store_file(vector_store_id, keep().latest(who, key), body.attributes)

    @router.get("/vector_stores/{vector_store_id}/files/{file}", summary="Read a file of a vector store")
    def get_store_file(
        vector_store_id: StoreId,
        file: Annotated[str, Path(max_length=MAX_FILE_ID, description="Its id.")],
        who: Annotated[Caller, Depends(reader)],
    ) -> dict[str, Any]:
        """How far a file is: `in_progress`, `completed` once questions find it, or `failed`."""
        vault = bases.vault(who, vector_store_id, field="vector_store_id")
        key = DocumentKey.checked(who.tenant, vault, path_of_file(file))
        found = keep().latest(who, key)
        return _store_file(vector_store_id, found, dict(found.detail.facts.attributes) if found.detail else None)

    return router


_EXTENDED = re.compile(r"filename\*=\s*utf-?8'[^']*'([^;\s]+)", re.I)  # of RFC 8187, which .NET calls utf8


def _name_of(file: UploadFile) -> str:
    """The name of a file in a form: .NET's own form escapes what is not ASCII in another parameter."""
    extended = _EXTENDED.search(file.headers.get("content-disposition", ""))
    return unquote(extended[1]) if extended else file.filename or ""


def _unread(request: Request) -> dict[str, str]:
    """The header that names parameters of a list that are not read."""
    names = [name for name in UNREAD if name in request.query_params]
    return {IGNORED_HEADER: ", ".join(names)} if names else {}


def _page(data: Sequence[dict[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """A page of a list, by whose last id the client asks for the next one."""
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more}


def _store(found: VaultFigures) -> dict[str, Any]:
    """A vault, whose name is its id; nothing says when it began, and its bytes are not counted."""
    counts = dict.fromkeys((*FILTERS, "cancelled"), 0)
    for status, number in found.documents.items():
        counts[STATES.get(Status(status), "in_progress")] += number
    changed = found.last_change and int(datetime.datetime.fromisoformat(found.last_change).timestamp())
    return {
        "id": found.name,
        "object": "vector_store",
        "name": found.name,
        "created_at": 0,
        "last_active_at": changed,
        "status": "in_progress" if counts["in_progress"] else "completed",
        "usage_bytes": 0,
        "file_counts": {**counts, "total": sum(counts.values())},
        "metadata": {},
    }


async def _ignored_parts(request: Request) -> dict[str, str]:
    """The header that names parts of a form that are not read."""
    names = dict.fromkeys(name.partition("[")[0] for name in await request.form() if name not in {"file", "purpose"})
    return {IGNORED_HEADER: ", ".join(name for name in names if name.isidentifier())} if names else {}


def _passage(found: FoundChunk) -> dict[str, Any]:
    """A result; its attributes have the names by which a search is filtered."""
    hit = found.hit
    stated = bedrock_reference(hit, "", "", hit.chunk.start, hit.chunk.end)["metadata"]
    return {
        "file_id": file_id(hit.key.path),
        "filename": hit.key.path,
        "score": found.score or 0.0,
        "attributes": {
            name: value
            for name, value in stated.items()
            if isinstance(value, str | int | float) and not name.startswith("x-amz-")
        },
        "content": [{"type": "text", "text": hit.chunk.in_context}],
    }


def _store_file(store: str, found: KnownDocument, attributes: dict[str, Any] | None) -> dict[str, Any]:
    error = found.head.error if found.status is Status.FAILED else None
    at = found.head.created_at
    return {
        "id": file_id(found.head.key.path),
        "object": "vector_store.file",
        "vector_store_id": store,
        "status": STATES.get(found.status, "in_progress"),
        "created_at": int(datetime.datetime.fromisoformat(at).timestamp()) if at else 0,
        "usage_bytes": (found.detail.size_bytes if found.detail else None) or 0,
        "last_error": None if error is None else {"code": "invalid_file", "message": f"{error.code}: {error.message}"},
        "attributes": attributes or {},
        "chunking_strategy": None,
    }
