"""Bedrock's knowledge bases: Retrieve, Rerank, RetrieveAndGenerate and its stream, for clients of AWS as they are."""

import re
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError

from ragdrop.api.edge import Authenticate, RequestDeadline, bedrock_error, shown_of_error
from ragdrop.api.metadata_filters import MetadataFilter
from ragdrop.api.routes.ask_routes import AskPart, earlier_turns, understood
from ragdrop.api.routes.search_routes import SearchPart
from ragdrop.api.shapes.answer_shapes import bedrock_citations, bedrock_reference
from ragdrop.api.shapes.fields import ignored_header
from ragdrop.api.shapes.knowledge_base_shapes import (
    EVERYTHING,
    GenerateRequest,
    RerankRequest,
    RetrieveRequest,
    SearchConfiguration,
    knowledge_base_id,
)
from ragdrop.api.shapes.question_shapes import AskRequest
from ragdrop.api.shapes.request_shapes import SearchRequest, query_of
from ragdrop.api.streams import AWS_EVENT_STREAM, EventStream, aws_event, begun, left_to_say, whole_text
from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.receipt_chains import new_receipt_id
from ragdrop.domain.retrieval import FoundChunk, FoundDocument, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError, NotFoundError, RagdropError
from ragdrop.generate.ask import AskEvent
from ragdrop.generate.prompt import CondenseConversation
from ragdrop.generate.store_receipts import StoreReceipts
from ragdrop.query.cache import Searching
from ragdrop.query.understand import MAX_LIMIT, visible_vaults
from ragdrop.resilience.timing import noted_calls
from ragdrop.tenants.directory import TenantDirectory

SESSION_HEADER = "x-amzn-bedrock-knowledge-base-session-id"
_ARN = re.compile(r"arn:aws[a-z-]*:bedrock:[a-z0-9-]*:[0-9]*:knowledge-base/")

Own = TypeVar("Own", bound=BaseModel)
Scores = Callable[[str, Sequence[str], Deadline], list[float]]
"""How relevant each of some texts is to a question."""


class KnowledgeBases:
    """The vaults of a caller as knowledge bases."""

    def __init__(self, directory: TenantDirectory, bucket: str) -> None:
        self._directory = directory
        self.bucket = bucket

    def searched(self, caller: Caller, given: str, search: SearchConfiguration) -> dict[str, Any]:
        """The fields of a request that ask the knowledge base *given* as *search* says.

        *given* is a vault's id, an ARN that ends with it, `EVERYTHING`, or a vault's name.

        Raises:
            NotFoundError: There is no such vault for *caller*.
            InvalidParamsError: The filter does not map onto a search.
        """
        name = _ARN.sub("", given)
        vaults = None if name == EVERYTHING else [self.vault(caller, name, field="knowledgeBaseId")]
        return self.within(caller, vaults, search.filter)

    def within(self, caller: Caller, vaults: list[str] | None, tree: object) -> dict[str, Any]:
        """The fields of a request that ask *vaults*, or all, for what the filter *tree* lets through.

        Raises InvalidParamsError: the filter does not map onto a search.
        """
        fields: dict[str, Any] = {} if vaults is None else {"vaults": vaults}
        if tree is not None:
            root = f"s3://{self.bucket}/{caller.tenant}/"
            fields = dict(MetadataFilter(root, vaults or self.vaults(caller)).within(fields, tree))
        return fields

    def vaults(self, caller: Caller) -> Sequence[str]:
        """The vaults that *caller* may see."""
        tenant = self._directory.tenant(caller.tenant)
        return visible_vaults(tenant.vaults, caller.vaults) if tenant else ()

    def vault(self, caller: Caller, given: str, *, field: str) -> str:
        """The vault of the id or name *given*. Raises NotFoundError, of *field*: *caller* sees no such vault."""
        vaults = self.vaults(caller)
        named = {**{vault: vault for vault in vaults}, **{knowledge_base_id(vault): vault for vault in vaults}}
        if given not in named:
            message = f"{field}: there is no vault {given[:80]!r}: GET /vaults lists the ids of vaults"
            raise NotFoundError(message, field=field, value=given[:80])
        return named[given]


def retrieve_router(
    search: SearchPart, scores: Callable[[], Scores], bases: KnowledgeBases, caller: Authenticate
) -> APIRouter:
    """`Retrieve` and `Rerank`; *search* and *scores* are called at the first request."""
    router = APIRouter(tags=["bedrock"])

    @router.post("/knowledgebases/{knowledge_base:path}/retrieve", summary="Retrieve passages, as Bedrock does")
    def post_retrieve(
        body: RetrieveRequest,
        who: Annotated[Caller, Depends(caller)],
        deadline: RequestDeadline,
        knowledge_base: Annotated[str, Path(description="A vault's id, as `GET /vaults` lists it, or its ARN.")],
    ) -> JSONResponse:
        """The passages that answer a question, in the shapes of Bedrock's `Retrieve`."""
        asked = body.retrieval_configuration.search
        first, results = int(body.next_token or 0), asked.results
        limit = min(MAX_LIMIT, first + results)
        fields = bases.searched(who, knowledge_base, asked)
        found = retrieved(
            search(), who, deadline, **fields, query=body.retrieval_query.text, limit=limit, rerank=asked.rerank
        )
        passages = passages_of(found.documents)
        shown: dict[str, Any] = {
            "retrievalResults": [_result(each, bases.bucket) for each in passages[first : first + results]]
        }
        if len(passages) > first + results or found.total_matches > limit < MAX_LIMIT:
            shown["nextToken"] = str(first + results)
        return JSONResponse(shown, headers=ignored_header(body))

    @router.post("/rerank", summary="Order texts, as Bedrock does")
    def post_rerank(
        body: RerankRequest, request: Request, who: Annotated[Caller, Depends(caller)], deadline: RequestDeadline
    ) -> JSONResponse:
        """Order texts by how relevant they are to a question, in the shapes of Bedrock's `Rerank`."""
        texts = [each.inline_document_source.read for each in body.sources]
        with noted_calls() as calls:
            found = scores()(body.queries[0].text_query.text, texts, deadline)
        if calls and request.app.state.observe is not None:
            request.app.state.observe().note_calls(who, calls)
        order = sorted(range(len(texts)), key=lambda place: -found[place])
        most = body.reranking_configuration.bedrock_reranking_configuration.number_of_results or len(texts)
        results = [{"index": place, "relevanceScore": found[place]} for place in order[:most]]
        return JSONResponse({"results": results}, headers=ignored_header(body))

    return router


def generate_router(
    ask: AskPart,
    condense: Callable[[], CondenseConversation],
    receipts: Callable[[], StoreReceipts],
    bases: KnowledgeBases,
    caller: Authenticate,
) -> APIRouter:
    """`RetrieveAndGenerate`, whole and streamed."""
    router = APIRouter(tags=["bedrock"])

    def question_of(body: GenerateRequest, who: Caller, deadline: Deadline) -> Question:
        asked = body.retrieve_and_generate_configuration.knowledge_base_configuration
        search, session = asked.retrieval_configuration.search, body.session_id
        request_body = valid(
            AskRequest,
            **bases.searched(who, asked.knowledge_base_id, search),
            query=body.input.text,
            limit=min(MAX_LIMIT, search.results) if search.number_of_results else None,
            **({"include_critical": False, "follow_links": False} if search.filter is not None else {}),
            session=session,
            history=earlier_turns(receipts(), who, session, deadline, field="sessionId") if session else [],
        )
        return replace(
            understood(request_body, condense, deadline), answer_id=new_receipt_id(time.time(), None, uuid.uuid4().hex)
        )

    @router.post("/retrieveAndGenerate", summary="Answer a question, as Bedrock does")
    def post_generate(
        body: GenerateRequest, who: Annotated[Caller, Depends(caller)], deadline: RequestDeadline
    ) -> JSONResponse:
        """An answer with checked citations, in the shapes of Bedrock's `RetrieveAndGenerate`.

        `sessionId` is the id of the answer's receipt: a question that gives it back follows this one up.
        """
        question = question_of(body, who, deadline)
        answer = ask()(question, who, deadline)
        shown = {
            "sessionId": question.answer_id,
            "output": {"text": whole_text(answer)},
            "citations": bedrock_citations(answer),
        }
        return JSONResponse(shown, headers=ignored_header(body))

    @router.post(
        "/retrieveAndGenerateStream",
        summary="Answer a question by events, as Bedrock does",
        response_model=None,
        responses={200: {"content": {AWS_EVENT_STREAM: {}}, "description": "Events `output`, then `citation`."}},
    )
    def post_generate_stream(
        body: GenerateRequest, who: Annotated[Caller, Depends(caller)], deadline: RequestDeadline
    ) -> EventStream:
        """The same as AWS's event stream: text as it comes, then the citations of the whole answer."""
        question = question_of(body, who, deadline)
        stream = begun(ask().stream(question, who, deadline))
        headers = {SESSION_HEADER: str(question.answer_id), **ignored_header(body)}
        return EventStream(_events(stream), media_type=AWS_EVENT_STREAM, waiting=_output(""), headers=headers)

    return router


def retrieved(search: Searching, who: Caller, deadline: Deadline, **fields: Any) -> Retrieval:
    """What a search for passages alone finds: no critical and no linked documents, no threshold unless given.

    Raises InvalidParamsError: *fields*, those of a search request, are over a limit of it.
    """
    alone = {"min_relevance": 0, "include_critical": False, "follow_links": False, "expand": "neighbours"}
    found = search(query_of(valid(SearchRequest, **{**alone, **fields})), who, deadline)
    if found.cause is not None:
        raise found.cause
    return found


def valid(kind: type[Own], **fields: Any) -> Own:
    """A request of ragdrop's own, with its limits. Raises InvalidParamsError: it is over one of them."""
    try:
        return kind(**fields)
    except ValidationError as exc:
        first = exc.errors()[0]
        field = ".".join(map(str, first["loc"])) or "body"
        message = f"{field}: {first['msg'][:1].lower()}{first['msg'][1:]}"
        raise InvalidParamsError(message, field=field, value=None, allowed=None) from exc


def passages_of(documents: list[FoundDocument]) -> list[FoundChunk]:
    """The best passage of each document in the order of the documents, then the others by their scores.

    So the first passages are the same, whatever number is asked for.
    """
    best = [document.chunks[0] for document in documents if document.chunks]
    others = [chunk for document in documents for chunk in document.chunks[1:]]
    return [*best, *sorted(others, key=lambda chunk: -(chunk.score or 0.0))]


def _result(passage: FoundChunk, bucket: str) -> dict[str, Any]:
    chunk = passage.hit.chunk
    shown = bedrock_reference(passage.hit, bucket, chunk.in_context, chunk.start, chunk.end)
    return shown if passage.score is None else {**shown, "score": passage.score}


def _events(stream: Iterator[AskEvent]) -> Generator[bytes, None, None]:
    """The events of *stream*; an error that comes on the way is the last of them."""
    said = ""
    try:
        for event in stream:
            if isinstance(event, str):
                said += event
                yield _output(event)
            elif isinstance(event, Answer):
                if rest := left_to_say(event, said):
                    yield _output(rest)
                for citation in bedrock_citations(event):
                    yield aws_event("event", "citation", {"citation": citation, **citation})
    except RagdropError as exc:
        name = bedrock_error(exc.code)
        message, _ = shown_of_error(exc)
        yield aws_event("exception", name[:1].lower() + name[1:], {"message": message})


def _output(text: str) -> bytes:
    return aws_event("event", "output", {"text": text})
