"""docs/access.md: what each credential gets on every route; tests/functions/test_who_may.py tries each cell."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pages.wrap import table
from ragdrop.api.shapes.knowledge_base_shapes import knowledge_base_id
from ragdrop.api.shapes.openai_shapes import file_id
from ragdrop.domain.deadlines import rfc3339

REFUSED = {"no key": 401, "unknown": 401, "expired": 401, "revoked": 401, "disabled": 403}
KEYS = ("reader", "writer", "admin", "writer of `team`", "admin of `side`")
CREDENTIALS = (*REFUSED, *KEYS)


@dataclass(frozen=True)
class Row:
    """One request, and the status that each of KEYS gets; whatever is in REFUSED gets its status on every route.

    `route` is the app's own spelling; `{answer}` and `{thread}` in `path` and `body` are ids of whoever `aim` names.
    """

    route: str
    aim: str
    statuses: tuple[int, int, int, int, int]
    path: str
    body: Any = None
    open: bool = False
    keyless: bool = False

    @property
    def expected(self) -> dict[str, int]:
        """The status by credential."""
        refused = dict.fromkeys(REFUSED, self.statuses[0]) if self.open else REFUSED
        refused = refused | {"no key": self.statuses[0]} if self.keyless else refused
        return refused | dict(zip(KEYS, self.statuses, strict=True))


PLAN = "/documents/{vault}/{path}"
DRAWN = f"{PLAN}/original/pages/{{number}}"
STAGE = "/stages/{vault}/{stage}"
SAID = "POST /answers/{answer_id}/feedback"
THREAD, SHARED = "/threads/{thread_id}", "a colleague's, shared"
OWN, ANOTHERS = "own, vault `team`", "another tenant's"
RETRIEVE = "POST /knowledgebases/{knowledge_base}/retrieve"
TEAM, THEIRS = map(knowledge_base_id, ("team", "theirs"))
FOR_PLAN = {"retrievalQuery": {"text": "plan"}}
RERANKED = {
    "queries": [{"type": "TEXT", "textQuery": {"text": "plan"}}],
    "sources": [{"type": "INLINE", "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": "A plan."}}}],
    "rerankingConfiguration": {"type": "BEDROCK_RERANKING_MODEL", "bedrockRerankingConfiguration": {}},
}
STORE, PLAN_ID = "/v1/vector_stores/{vector_store_id}", file_id("keep/plan.md")
FILE = {"file_id": file_id("none.md")}
TURNS = [{"role": "user", "content": "plan"}]


def asked_of(id_: str) -> dict[str, Any]:
    """A question to the knowledge base *id_*."""
    base = {"type": "KNOWLEDGE_BASE", "knowledgeBaseConfiguration": {"knowledgeBaseId": id_}}
    return {"input": {"text": "plan"}, "retrieveAndGenerateConfiguration": base}


def _tool(vault: str) -> dict[str, Any]:
    """A call of a tool: what the key may not is the tool's error, in a reply of status 200."""
    asked = {"name": "rag_context_search", "arguments": {"query": "plan", "vaults": [vault]}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}


_BACK = {"to": rfc3339(time.time() - 60), "dry_run": True}


def _opened(route: str, aim: str = "anybody") -> Row:
    return Row(route, aim, (200,) * 5, route.partition(" ")[2], open=True)


ROWS = (
    Row("POST /search", OWN, (200, 200, 200, 200, 400), "/search", {"query": "plan", "vaults": ["team"]}),
    Row("POST /search", ANOTHERS, (400,) * 5, "/search", {"query": "plan", "vaults": ["theirs"]}),
    Row("POST /search", "every vault it may see", (200,) * 5, "/search", {"query": "plan", "min_relevance": 0}),
    Row("GET /find", OWN, (200, 200, 200, 200, 400), "/find?q=plan&vault=team"),
    Row("GET /find", ANOTHERS, (400,) * 5, "/find?q=plan&vault=theirs"),
    Row("POST /ask", OWN, (200, 200, 200, 200, 400), "/ask", {"query": "plan", "vaults": ["team"]}),
    Row("POST /ask", ANOTHERS, (400,) * 5, "/ask", {"query": "plan", "vaults": ["theirs"]}),
    Row(
        "POST /ask", "own, `system_prompt`", (403, 403, 200, 403, 200), "/ask", {"query": "plan", "system_prompt": "x"}
    ),
    Row(
        "POST /ask",
        "own, `prompt_template`",
        (403, 403, 200, 403, 200),
        "/ask",
        {"query": "plan", "prompt_template": "{{ question }}"},
    ),
    Row("GET /answers/{answer_id}", OWN, (200, 200, 200, 200, 404), "/answers/{answer}"),
    Row("GET /answers/{answer_id}", ANOTHERS, (404,) * 5, "/answers/{answer}"),
    Row(SAID, OWN, (200, 200, 200, 200, 404), "/answers/{answer}/feedback", {"kind": "right"}),
    Row(SAID, ANOTHERS, (404,) * 5, "/answers/{answer}/feedback", {"kind": "right"}),
    Row("GET /feedback", "of answers that it may read", (200,) * 5, "/feedback"),
    Row("POST /threads", "of an answer of the admin", (404, 404, 201, 404, 404), "/threads", {"answer_id": "{answer}"}),
    Row("POST /threads", ANOTHERS, (404,) * 5, "/threads", {"answer_id": "{answer}"}),
    Row("GET /threads", "its own", (200,) * 5, "/threads"),
    Row(f"GET {THREAD}", SHARED, (200,) * 5, "/threads/{thread}"),
    Row(f"GET {THREAD}", ANOTHERS, (404,) * 5, "/threads/{thread}"),
    Row(f"GET {THREAD}/markdown", SHARED, (200,) * 5, "/threads/{thread}/markdown"),
    Row(f"GET {THREAD}/markdown", ANOTHERS, (404,) * 5, "/threads/{thread}/markdown"),
    Row(f"POST {THREAD}/answers", SHARED, (404,) * 5, "/threads/{thread}/answers", {"answer_id": "{answer}"}),
    Row(f"POST {THREAD}/answers", ANOTHERS, (404,) * 5, "/threads/{thread}/answers", {"answer_id": "{answer}"}),
    Row(f"PATCH {THREAD}", SHARED, (404,) * 5, "/threads/{thread}", {"name": "plan"}),
    Row(f"PATCH {THREAD}", ANOTHERS, (404,) * 5, "/threads/{thread}", {"name": "plan"}),
    Row(f"DELETE {THREAD}", SHARED, (404,) * 5, "/threads/{thread}"),
    Row(f"DELETE {THREAD}", ANOTHERS, (404,) * 5, "/threads/{thread}"),
    Row("GET /receipts", "of the tenant", (403, 403, 200, 403, 403), "/receipts"),
    Row(
        "POST /v1/chat/completions",
        OWN,
        (200, 200, 200, 200, 404),
        "/v1/chat/completions",
        {"model": "vault:team", "messages": TURNS},
    ),
    Row(
        "POST /v1/chat/completions",
        ANOTHERS,
        (404,) * 5,
        "/v1/chat/completions",
        {"model": "vault:theirs", "messages": TURNS},
    ),
    Row(
        "POST /v1/verify",
        "the given texts",
        (200,) * 5,
        "/v1/verify",
        {"answer": "It runs.", "sources": [{"id": "a", "text": "It runs."}]},
    ),
    Row("GET /v1/models", "every vault it may see", (200,) * 5, "/v1/models"),
    Row("GET /v1/models/{model}", OWN, (200, 200, 200, 200, 404), "/v1/models/vault:team"),
    Row("GET /v1/models/{model}", ANOTHERS, (404,) * 5, "/v1/models/vault:theirs"),
    Row("POST /v1/embeddings", "the given texts", (200,) * 5, "/v1/embeddings", {"input": "plan"}),
    Row(
        "POST /v1/responses", OWN, (200, 200, 200, 200, 404), "/v1/responses", {"model": "vault:team", "input": "plan"}
    ),
    Row("POST /v1/responses", ANOTHERS, (404,) * 5, "/v1/responses", {"model": "vault:theirs", "input": "plan"}),
    Row("GET /v1/vector_stores", "every vault it may see", (200,) * 5, "/v1/vector_stores"),
    Row(f"GET {STORE}", OWN, (200, 200, 200, 200, 404), "/v1/vector_stores/team"),
    Row(f"GET {STORE}", ANOTHERS, (404,) * 5, f"/v1/vector_stores/{THEIRS}"),
    Row(f"GET {STORE}/files", OWN, (200, 200, 200, 200, 404), "/v1/vector_stores/team/files"),
    Row(f"GET {STORE}/files", ANOTHERS, (404,) * 5, f"/v1/vector_stores/{THEIRS}/files"),
    Row(f"POST {STORE}/search", OWN, (200, 200, 200, 200, 404), "/v1/vector_stores/team/search", {"query": "plan"}),
    Row(f"POST {STORE}/search", ANOTHERS, (404,) * 5, f"/v1/vector_stores/{THEIRS}/search", {"query": "plan"}),
    Row(
        f"POST {STORE}/files",
        "a file that is not there",
        (403, 404, 404, 404, 404),
        "/v1/vector_stores/team/files",
        FILE,
    ),
    Row(f"POST {STORE}/files", "into another's", (403, 404, 404, 404, 404), "/v1/vector_stores/theirs/files", FILE),
    Row(f"GET {STORE}/files/{{file}}", OWN, (200, 200, 200, 200, 404), f"/v1/vector_stores/team/files/{PLAN_ID}"),
    Row(f"GET {STORE}/files/{{file}}", ANOTHERS, (404,) * 5, f"/v1/vector_stores/theirs/files/{file_id('plan.md')}"),
    Row("POST /v1/files", "a form without a file", (403, 400, 400, 400, 400), "/v1/files", {}),
    Row(RETRIEVE, OWN, (200, 200, 200, 200, 404), f"/knowledgebases/{TEAM}/retrieve", FOR_PLAN),
    Row(RETRIEVE, ANOTHERS, (404,) * 5, f"/knowledgebases/{THEIRS}/retrieve", FOR_PLAN),
    Row("POST /rerank", "no model that reranks", (404,) * 5, "/rerank", RERANKED),
    *(
        Row(f"POST {path}", aim, statuses, path, asked_of(id_))
        for path in ("/retrieveAndGenerate", "/retrieveAndGenerateStream")
        for aim, statuses, id_ in ((OWN, (200, 200, 200, 200, 404), TEAM), (ANOTHERS, (404,) * 5, THEIRS))
    ),
    Row("GET /documents", "every vault it may see", (200,) * 5, "/documents"),
    Row("GET /documents", ANOTHERS, (200,) * 5, "/documents?vault=theirs"),
    Row(f"GET {PLAN}", OWN, (200, 200, 200, 200, 404), "/documents/team/keep/plan.md"),
    Row(f"GET {PLAN}", "own, its text", (200, 200, 200, 200, 404), "/documents/team/keep/plan.md?content=1"),
    Row(f"GET {PLAN}", ANOTHERS, (404, 404, 404, 404, 404), "/documents/theirs/plan.md"),
    Row(f"GET {PLAN}", "another tenant's, its text", (404,) * 5, "/documents/theirs/plan.md?content=1"),
    Row(f"GET {PLAN}/tables", OWN, (200, 200, 200, 200, 404), "/documents/team/keep/plan.md/tables"),
    Row(f"GET {PLAN}/tables", ANOTHERS, (404,) * 5, "/documents/theirs/plan.md/tables"),
    Row(f"GET {PLAN}/original", OWN, (200, 200, 200, 200, 404), "/documents/team/keep/plan.md/original"),
    Row(f"GET {PLAN}/original", ANOTHERS, (404,) * 5, "/documents/theirs/plan.md/original"),
    Row(f"GET {DRAWN}", "own, no PDF", (400, 400, 400, 400, 404), "/documents/team/keep/plan.md/original/pages/1"),
    Row(f"GET {DRAWN}", ANOTHERS, (404,) * 5, "/documents/theirs/plan.md/original/pages/1"),
    Row(f"GET {PLAN}/history", OWN, (200, 200, 200, 200, 404), "/documents/team/keep/plan.md/history?changes=1"),
    Row(f"GET {PLAN}/history", ANOTHERS, (404,) * 5, "/documents/theirs/plan.md/history?changes=1"),
    Row("GET /changes", OWN, (200, 200, 200, 200, 400), "/changes?vault=team"),
    Row("GET /changes", ANOTHERS, (200, 200, 200, 400, 400), "/changes?vault=theirs"),
    Row(f"PUT {PLAN}", OWN, (403, 202, 202, 202, 404), "/documents/team/new.md", "# New"),
    Row(f"PUT {PLAN}", "own, called as another's", (403, 202, 202, 404, 404), "/documents/theirs/plan.md", "x"),
    Row(f"POST {PLAN}/retry", OWN, (403, 202, 202, 202, 404), "/documents/team/gone.md/retry"),
    Row(f"POST {PLAN}/retry", ANOTHERS, (403, 404, 404, 404, 404), "/documents/theirs/plan.md/retry"),
    Row(f"DELETE {PLAN}", OWN, (403, 200, 200, 200, 404), "/documents/team/gone.md"),
    Row(f"DELETE {PLAN}", ANOTHERS, (403, 404, 404, 404, 404), "/documents/theirs/plan.md"),
    Row(f"DELETE {PLAN}", "own, for good (`purge`)", (403, 403, 200, 403, 404), "/documents/team/gone.md?purge=1"),
    Row(f"DELETE {PLAN}", "another tenant's, for good", (403, 403, 404, 403, 404), "/documents/theirs/plan.md?purge=1"),
    Row("POST /uploads", OWN, (403, 201, 201, 201, 404), "/uploads", {"vault": "team", "path": "new.md"}),
    Row(
        "POST /uploads",
        "own, called as another's",
        (403, 201, 201, 404, 404),
        "/uploads",
        {"vault": "theirs", "path": "plan.md"},
    ),
    Row("POST /vaults/{vault}/rollback", OWN, (403, 200, 200, 200, 400), "/vaults/team/rollback", _BACK),
    Row("POST /vaults/{vault}/rollback", ANOTHERS, (403, 200, 200, 400, 400), "/vaults/theirs/rollback", _BACK),
    Row("GET /stages", OWN, (200, 200, 200, 200, 400), "/stages?vault=team"),
    Row("GET /stages", ANOTHERS, (200, 200, 200, 400, 400), "/stages?vault=theirs"),
    Row(f"GET {STAGE}/check", OWN, (200, 200, 200, 200, 400), "/stages/team/none/check"),
    Row(f"GET {STAGE}/check", ANOTHERS, (200, 200, 200, 400, 400), "/stages/theirs/none/check"),
    Row(f"POST {STAGE}/promote", "own, nothing waits", (403, 400, 400, 400, 400), "/stages/team/x1/promote", {}),
    Row(f"POST {STAGE}/promote", ANOTHERS, (403, 400, 400, 400, 400), "/stages/theirs/x1/promote", {}),
    Row(f"POST {STAGE}/discard", "own, nothing waits", (403, 400, 400, 400, 400), "/stages/team/x1/discard", {}),
    Row(f"POST {STAGE}/discard", ANOTHERS, (403, 400, 400, 400, 400), "/stages/theirs/x1/discard", {}),
    Row("GET /canaries", "every vault it may see", (200,) * 5, "/canaries"),
    Row("POST /canaries/{vault}", OWN, (403, 200, 200, 200, 400), "/canaries/team"),
    Row("POST /canaries/{vault}", ANOTHERS, (403, 200, 200, 400, 400), "/canaries/theirs"),
    Row("POST /mcp", "own, `rag_context_search`", (200,) * 5, "/mcp", _tool("team")),
    Row("POST /mcp", "another tenant's, `rag_context_search`", (200,) * 5, "/mcp", _tool("theirs")),
    Row("GET /stats", "counts of the tenant", (200,) * 5, "/stats"),
    Row("GET /health", "how the service is", (200,) * 5, "/health", keyless=True),
    Row("GET /me", "what it opens itself", (200,) * 5, "/me"),
    Row("GET /queue", "how much waits for ingest", (200,) * 5, "/queue"),
    Row("POST /queue/redrive", "dead letters of all tenants", (403, 403, 200, 403, 200), "/queue/redrive", {}),
    Row("GET /models/near", "on a laptop alone", (403, 403, 404, 403, 404), "/models/near"),
    Row(
        "POST /models/test",
        "on a laptop alone",
        (403, 403, 404, 403, 404),
        "/models/test",
        {"url": "http://127.0.0.1:11434/v1", "model": "m"},
    ),
    Row("POST /app/links", "a link that signs itself in", (201,) * 5, "/app/links", {}),
    Row("POST /app/sign-in", "a link that was never made", (401,) * 5, "/app/sign-in", {"code": "x"}, open=True),
    Row("GET /vaults", "every vault it may see", (200,) * 5, "/vaults"),
    _opened("GET /", "where the web page is"),
    _opened("GET /app", "the web page"),
    Row("GET /app/", "the web page, with a slash", (307,) * 5, "/app/", open=True),
    Row("GET /app/{release}/{name}", "a file of the web page", (200,) * 5, "/app/any/main.js", open=True),
    _opened("GET /openapi.json"),
    _opened("GET /docs"),
)


def part() -> str:
    """The table of the page."""
    return table([("request", "whose", *CREDENTIALS), *(_cells(row) for row in ROWS)])


def _cells(row: Row) -> tuple[str, ...]:
    return (f"`{row.route}`", row.aim, *(str(status) for status in row.expected.values()))
