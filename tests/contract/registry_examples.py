"""Documents, claims and tenants for the registry's suites, and short ways to tell a document's life."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from ragdrop.domain.documents import Detail, Facts, Failure, Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant
from ragdrop.ports.registry import Claim, Registry

NOW_S = 1_760_000_000.25
FAILURE = Failure("CORRUPT_DOCUMENT", "no text could be read", 1, "2026-01-02T03:04:05Z")


def claim_of(
    version_id: str = "v1", *, now_s: float = NOW_S, message_id: str = "m1", sequencer: str | None = None
) -> Claim:
    return Claim(version_id, "side-1", message_id, now_s + 360.5, sequencer, now_s)


def detail_of(key: DocumentKey, revision: int, *, title: str = "Pumps", chunk_count: int = 3) -> Detail:
    facts = Facts(
        title=title,
        version_id="v1",
        indexed_at="2026-01-02T03:04:05Z",
        summary="How pumps fail",
        doc_type="problem",
        promotion_level="critical",
        date="2026-01-01",
        tags=("pump", "größe"),
        attributes={"game": "chess", "empty": ""},
        char_count=1_234,
    )
    return Detail(
        key,
        revision,
        facts,
        chunk_count,
        "ab" * 32,
        99,
        "etag",
        "text/markdown",
        "stated",
        ("b.md", "[[c]]"),
        ("late",),
    )


def tenant_of(name: str) -> Tenant:
    space = EmbeddingSpace("model", 384, "query: ", "passage: ")
    index = ActiveIndex("ragdrop-v1-model-384-1", space, ChunkingPlan(240, 24), 2)
    return Tenant(name, index, created_at="2026-01-02T03:04:05Z")


def new_tenant_name() -> str:
    """A name that no other test uses: suites share the table of a running stack."""
    return f"t{uuid4().hex[:16]}"


def claimed(registry: Registry, key: DocumentKey, claim: Claim | None = None) -> Head:
    """The head after the next claim."""
    head = registry.claim(key, registry.head(key), claim or claim_of())
    assert head is not None
    return head


def indexed(registry: Registry, key: DocumentKey, *, title: str = "Pumps") -> Head:
    """The head after a claim and its activation."""
    head = claimed(registry, key)
    assert registry.activate(detail_of(key, head.revision, title=title), NOW_S) is not None
    return now(registry, key)


def now(registry: Registry, key: DocumentKey) -> Head:
    """The head, which is there."""
    head = registry.head(key)
    assert head is not None
    return head


def tombstoned(registry: Registry, key: DocumentKey) -> Head:
    """The head after a tombstone."""
    head = registry.tombstone(key, now(registry, key), None, NOW_S)
    assert head is not None
    return head


def later(claim: Claim, seconds: float) -> Claim:
    """The same claim, made later."""
    return replace(claim, now_s=claim.now_s + seconds, lease_until_s=claim.lease_until_s + seconds)
