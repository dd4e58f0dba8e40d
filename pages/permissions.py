"""docs/access.md: what callers get of documents of group `hr`; tests/functions/test_who_reads.py tries it.

Every route of every function, every tool and every method of documents of MCP has a row.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pages.access import FILE, RERANKED, RETRIEVE, STORE, TEAM, asked_of
from pages.wrap import table
from ragdrop.api.shapes.openai_shapes import file_id
from ragdrop.domain.deadlines import rfc3339

CALLERS = ("reader", "writer", "delegate", "reader of `hr`", "writer of `hr`", "delegate for `hr`", "admin")
MAY = CALLERS[3:]
WRITERS = ("writer", "writer of `hr`", "admin")


@dataclass(frozen=True)
class Ruled:
    """One request about what group `hr` may read, and the status that each of CALLERS gets.

    Only MAY ever see a word of it, and with `shows` all of these do.  `{answer}` and `{thread}` in `path` and `body`
    are an answer made of it, and a thread with it.
    """

    route: str
    aim: str
    statuses: tuple[int, ...]
    path: str
    body: Any = None
    shows: bool = False

    @property
    def expected(self) -> dict[str, int]:
        """The status by caller."""
        return dict(zip(CALLERS, self.statuses, strict=True))


def _read(route: str, aim: str, path: str, hidden: int = 200, body: Any = None, *, shows: bool = True) -> Ruled:
    return Ruled(route, aim, tuple(200 if who in MAY else hidden for who in CALLERS), path, body, shows)


def _write(route: str, aim: str, path: str, done: int, hidden: int, body: Any = None) -> Ruled:
    of_writers = {who: done if who in MAY else hidden for who in WRITERS}
    return Ruled(route, aim, tuple(of_writers.get(who, 403) for who in CALLERS), path, body)


def _alike(route: str, status: int = 200, body: Any = None, *, path: str = "", aim: str = "no document") -> Ruled:
    return Ruled(route, aim, (status,) * len(CALLERS), path or route.partition(" ")[2], body)


def _admin(route: str, aim: str, path: str, body: Any = None) -> Ruled:
    return Ruled(route, aim, tuple(200 if who == "admin" else 403 for who in CALLERS), path, body)


def _laptop(route: str, path: str, body: Any = None) -> Ruled:
    return Ruled(route, "on a laptop", tuple(404 if who == "admin" else 403 for who in CALLERS), path, body)


def _owned(route: str, aim: str, path: str, done: int, body: Any) -> Ruled:
    """What only the key that asked may do: in this table the admin's."""
    return Ruled(route, aim, tuple(done if who == "admin" else 404 for who in CALLERS), path, body)


def _mcp(aim: str, method: str, *, shows: bool = False, **params: Any) -> Ruled:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Ruled("POST /mcp", f"`{aim}`", (200,) * len(CALLERS), "/mcp", message, shows)


def _tool(name: str, *, shows: bool = False, **arguments: Any) -> Ruled:
    return _mcp(name, "tools/call", shows=shows, name=name, arguments=arguments)


DOCUMENT = "/documents/{vault}/{path}"
DRAWN = f"{DOCUMENT}/original/pages/{{number}}"
PAY, NEW = "/documents/team/hr/pay.md", "/documents/team/hr/new.md"
STAGE = "/stages/{vault}/{stage}"
FOUND = {"query": "pump", "limit": 20, "min_relevance": 0}
CHAT = {"model": "vault:team", "messages": [{"role": "user", "content": "pump"}]}
PUMP = {**asked_of(TEAM), "input": {"text": "pump"}}
_BACK = {"to": rfc3339(time.time() - 60), "dry_run": True}
_AS_NO_PDF = tuple(400 if who in MAY else 404 for who in CALLERS)
OF_ANSWER = {"answer_id": "{answer}"}
SOURCES = [{"id": "a", "text": "It runs."}]

RULED = (
    _read("POST /search", "what it finds", "/search", body=FOUND),
    _read("POST /search", "its candidates", "/search", body={**FOUND, "debug": True, "rank_folders": True}),
    _read("POST /search", "as of now", "/search", body={**FOUND, "as_of": rfc3339(time.time())}, shows=False),
    _read("POST /search", "with a stage", "/search", body={**FOUND, "stage": "spring"}),
    _read("POST /search", "by folder", "/search", body={**FOUND, "folders": ["team/hr"]}),
    _read("GET /find", "names and passages", "/find?q=pump&limit=20"),
    _read("POST /ask", "the answer", "/ask", body={"query": "pump"}),
    _read("GET /answers/{answer_id}", "an answer of it", "/answers/{answer}", 404),
    _read(
        "POST /answers/{answer_id}/feedback",
        "an answer of it",
        "/answers/{answer}/feedback",
        404,
        {"kind": "right"},
        shows=False,
    ),
    _read("GET /feedback", "answers with feedback", "/feedback"),
    _owned("POST /threads", "of an answer of it", "/threads", 201, OF_ANSWER),
    _read("GET /threads", "its own", "/threads", shows=False),
    _read("GET /threads/{thread_id}", "a shared thread", "/threads/{thread}"),
    _read("GET /threads/{thread_id}/markdown", "a shared thread", "/threads/{thread}/markdown"),
    _owned("POST /threads/{thread_id}/answers", "an answer of it", "/threads/{thread}/answers", 200, OF_ANSWER),
    _owned("PATCH /threads/{thread_id}", "the admin's", "/threads/{thread}", 200, {"shared": True}),
    _alike("DELETE /threads/{thread_id}", 404, path="/threads/none", aim="no thread"),
    _admin("GET /receipts", "all receipts", "/receipts"),
    _read("POST /v1/chat/completions", "the answer", "/v1/chat/completions", body=CHAT),
    _alike("POST /v1/verify", body={"answer": "It runs.", "sources": SOURCES}),
    _alike("GET /v1/models"),
    _alike("GET /v1/models/{model}", path="/v1/models/vault:team"),
    _alike("POST /v1/embeddings", body={"input": "pump"}),
    _read("POST /v1/responses", "the answer", "/v1/responses", body={"model": "vault:team", "input": "pump"}),
    _read("GET /v1/vector_stores", "its vaults", "/v1/vector_stores", shows=False),
    _read(f"GET {STORE}", "its counts", "/v1/vector_stores/team", shows=False),
    _read(f"GET {STORE}/files", "the list", "/v1/vector_stores/team/files", shows=False),
    _read(f"POST {STORE}/search", "its passages", "/v1/vector_stores/team/search", body={"query": "pump"}),
    _read(
        f"GET {STORE}/files/{{file}}",
        "one that states groups",
        f"/v1/vector_stores/team/files/{file_id('secret.md')}",
        404,
        shows=False,
    ),
    _write(f"POST {STORE}/files", "a file that is not there", "/v1/vector_stores/team/files", 404, 404, FILE),
    _write("POST /v1/files", "a form without a file", "/v1/files", 400, 400, {}),
    _read(RETRIEVE, "its passages", f"/knowledgebases/{TEAM}/retrieve", body={"retrievalQuery": {"text": "pump"}}),
    _alike("POST /rerank", 404, RERANKED),
    _read("POST /retrieveAndGenerate", "the answer", "/retrieveAndGenerate", body=PUMP),
    _read("POST /retrieveAndGenerateStream", "the answer", "/retrieveAndGenerateStream", body=PUMP, shows=False),
    _read("GET /documents", "the list", "/documents?vault=team"),
    _read("GET /documents", "by its tag", "/documents?tag=Vjqzsalary"),
    _admin("GET /documents", "as others see it", "/documents?as_groups=eng"),
    _read(f"GET {DOCUMENT}", "its record", PAY, 404),
    _read(f"GET {DOCUMENT}", "its text", f"{PAY}?content=1", 404),
    _read(f"GET {DOCUMENT}", "its chunks", f"{PAY}?chunks=1", 404),
    _read(f"GET {DOCUMENT}", "one that states groups", "/documents/team/secret.md", 404),
    _read(f"GET {DOCUMENT}", "one whose sidecar does", "/documents/team/beside.txt?content=1", 404),
    _read(f"GET {DOCUMENT}", "one whose metadata does", "/documents/team/marked.txt?content=1", 404),
    _read(f"GET {DOCUMENT}", "one whose tag does", "/documents/team/tagged.txt?content=1", 404),
    _read(f"GET {DOCUMENT}", "one that links to it", "/documents/team/pump.md", shows=False),
    _read(f"GET {DOCUMENT}/tables", "its tables", f"{PAY}/tables", 404, shows=False),
    _read(f"GET {DOCUMENT}/original", "a link to it", f"{PAY}/original", 404, shows=False),
    Ruled(
        f"GET {DRAWN}", "a page of it", tuple(400 if who in MAY else 404 for who in CALLERS), f"{PAY}/original/pages/1"
    ),
    _read(f"GET {DOCUMENT}/history", "what changed in it", f"{PAY}/history?changes=1", 404),
    _read("GET /changes", "its changes", "/changes?vault=team"),
    _write(f"PUT {DOCUMENT}", "beside it", NEW, 202, 404, "# New"),
    _write(
        f"PUT {DOCUMENT}", "over it", "/documents/team/secret.md", 202, 404, "---\naccess: [hr]\n---\nVjqzsalary pump"
    ),
    _write(f"POST {DOCUMENT}/retry", "it", f"{PAY}/retry", 202, 404),
    _write(f"DELETE {DOCUMENT}", "it", "/documents/team/hr/gone.md", 200, 404),
    _write("POST /uploads", "over it", "/uploads", 201, 404, {"vault": "team", "path": "hr/pay.md"}),
    _write("POST /vaults/{vault}/rollback", "it", "/vaults/team/rollback", 200, 200, _BACK),
    _read("GET /stages", "what waits", "/stages?vault=team"),
    _read(f"GET {STAGE}/check", "a question about it", "/stages/team/spring/check"),
    _write(f"POST {STAGE}/promote", "nothing waits", "/stages/team/x1/promote", 400, 400, {}),
    _write(f"POST {STAGE}/discard", "nothing waits", "/stages/team/x1/discard", 400, 400, {}),
    _read("GET /canaries", "a question about it", "/canaries"),
    _write("POST /canaries/{vault}", "a question about it", "/canaries/team", 200, 200),
    _mcp("resources/list", "resources/list", shows=True),
    _mcp("resources/read", "resources/read", shows=True, uri="ragdrop://team/hr/pay.md"),
    _tool("rag_query", shows=True, query="pump"),
    _tool("rag_context_search", shows=True, query="pump", limit=20),
    _tool("rag_verify", answer="It runs.", sources=SOURCES),
    _tool("rag_context_index", content="# Other\n\nOther.", vault="team", source="other.md"),
    _tool("rag_context_health"),
    _tool("rag_context_stats"),
    _alike("GET /stats", aim="no counts of it"),
    _alike("GET /health", aim="no counts of it"),
    _read("GET /vaults", "its counts", "/vaults", shows=False),
    _read("GET /me", "its type", "/me", shows=False),
    _alike("GET /queue"),
    _admin("POST /queue/redrive", "no document", "/queue/redrive", {}),
    _laptop("GET /models/near", "/models/near"),
    _laptop("POST /models/test", "/models/test", {"url": "http://127.0.0.1:11434/v1", "model": "m"}),
    Ruled("POST /app/links", "no delegate signs in", (201, 201, 403, 201, 201, 403, 201), "/app/links", {}),
    _alike("POST /app/sign-in", 401, {"code": "x"}),
    _alike("GET /"),
    _alike("GET /app"),
    _alike("GET /app/", 307),
    _alike("GET /app/{release}/{name}", path="/app/any/main.js"),
    _alike("GET /openapi.json"),
    _alike("GET /docs"),
)


def part() -> str:
    """The table of the page."""
    rows = [(f"`{row.route}`", row.aim, *map(str, row.statuses), "yes" if row.shows else "") for row in RULED]
    return table([("request", "what of it", *CALLERS, "shown"), *rows])
