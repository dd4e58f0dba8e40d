"""Documents as resources: `ragdrop://{vault}/{path}`, listed page by page and read as parsed text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from mcp_types import (
    GetPromptResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from ragdrop.api.mcp.backend import Backend
from ragdrop.errors import InvalidParamsError

SCHEME = "ragdrop"
TEMPLATE = f"{SCHEME}://{{vault}}/{{path}}"  # who fills it in by RFC 6570 writes %2F for a slash: both are read
PAGE_SIZE = 100
MAX_CHARACTERS = 400_000  # escaped as JSON at most 12 bytes each: under the 6 MB of a Lambda response


def uri_of(vault: str, path: str) -> str:
    """The URI of a document.

    >>> uri_of("team", "notes/a b.md")
    'ragdrop://team/notes/a%20b.md'
    """
    return f"{SCHEME}://{vault}/{quote(path)}"


def place_of(uri: str) -> tuple[str, str]:
    """Vault and path of a document's URI.

    Raises:
        InvalidParamsError: It is no such URI.

    >>> place_of("ragdrop://team/notes/a%20b.md")
    ('team', 'notes/a b.md')
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        parts = urlsplit("")
    vault, path = parts.netloc, unquote(parts.path.removeprefix("/"))
    if parts.scheme != SCHEME or not vault or not path or parts.query or parts.fragment:
        message = f"uri: {uri[:200]!r} names no document; they are called {SCHEME}://VAULT/PATH"
        raise InvalidParamsError(message, field="uri", value=uri[:200], allowed=TEMPLATE)
    return vault, path


def list_resources(client: Backend, cursor: str | None) -> ListResourcesResult:
    """One page of the documents that answer, by vault and path.

    Raises:
        RagdropError: The API refused or failed.
    """
    page = next(client.documents(page_size=PAGE_SIZE, cursor=cursor))
    live = [document for document in page["documents"] if document["live_revision"] is not None]
    return ListResourcesResult(resources=[_resource(each) for each in live], next_cursor=page["cursor"])


def templates() -> ListResourceTemplatesResult:
    """How documents are called."""
    template = ResourceTemplate(
        name="document",
        title="A document",
        uri_template=TEMPLATE,
        description="The parsed text of a document, by its vault and its path there.",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


def read_resource(client: Backend, uri: str) -> ReadResourceResult:
    """The parsed text of a document, of a very long one the first 400,000 characters.

    Raises:
        RagdropError: There is no such document, or the API refused or failed.
    """
    vault, path = place_of(uri)
    text = client.get_document(vault, path, span=(0, MAX_CHARACTERS))["text"]
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=_media_type(path), text=text)])


def _resource(document: Mapping[str, Any]) -> Resource:
    said = [document["doc_type"], document["promotion_level"] if document["promotion_level"] != "standard" else None]
    return Resource(
        uri=uri_of(document["vault"], document["path"]),
        name=f"{document['vault']}/{document['path']}",
        title=document["title"],
        description=", ".join(part for part in said if part) or None,
        mime_type=_media_type(document["path"]),
    )


def _media_type(path: str) -> str:
    return "text/markdown" if path.lower().endswith((".md", ".markdown")) else "text/plain"


NAME = "cited_answer"
PROMPT = Prompt(
    name=NAME,
    title="Answer from the documents, with citations",
    description="Look the question up in the documents and answer it with a source for each statement.",
    arguments=[
        PromptArgument(name="question", description="What is to be answered.", required=True),
        PromptArgument(name="vaults", description="Only these vaults, with commas between them.", required=False),
    ],
)


def prompt(name: str, arguments: dict[str, str]) -> GetPromptResult:
    """The prompt with its question.

    Raises:
        InvalidParamsError: There is no such prompt, or it was given no question.
    """
    if name != NAME:
        raise InvalidParamsError(f"name: there is no prompt {name[:80]!r}", field="name", allowed=[NAME])
    question = arguments.get("question", "").strip()
    if not question:
        raise InvalidParamsError("question: is missing", field="question", value=None, allowed=None)
    vaults = [vault.strip() for vault in arguments.get("vaults", "").split(",") if vault.strip()]
    where = f" with vaults {vaults}" if vaults else ""
    text = f"""Answer this question from the documents that ragdrop keeps:

{question}

Call rag_query{where} first. If its answer abstains or leaves something open, call rag_context_search{where} with other
words, and read whole documents as resources where a passage is not enough.

Rules: say only what the documents say. Put [n] after each statement and list under the answer which document each
number stands for, by vault and path. Where documents disagree, say so and name both. Where they do not answer the
question, say that they do not."""
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=PROMPT.description, messages=[message])
