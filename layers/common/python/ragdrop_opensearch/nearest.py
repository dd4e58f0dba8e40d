"""Find the nearest chunk of each given revision, exactly, in one `_msearch`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ragdrop.domain.chunks import Filters, Hit, Vector, best_first
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop_opensearch.mapping import Documents, hit_of, revision_term, vector_json
from ragdrop_opensearch.queries import BEST_FIRST, filter_clause, routing_values

Found = list[list[dict[str, Any]]]


def nearest_of(
    search: Callable[[Sequence[tuple[str, str]]], Found],
    index: IndexRef,
    wanted: Vector | None,
    revisions: Sequence[tuple[DocumentKey, int]],
) -> list[Hit]:
    """Of each revision its nearest chunk, else its first; *search* sends pairs of routing value and search."""
    asked = sorted({revision_term(key, revision) for key, revision in revisions if key.tenant == index.tenant})
    if not asked:
        return []
    routing = routing_values(index.tenant, index.routes)
    searches = [(routing, first_chunks_search(index.tenant, asked))]
    if wanted is not None and any(wanted):
        searches.append((routing, nearest_search(index.tenant, asked, wanted)))
    answers = search(searches)
    known: Documents = {}
    hits = {found["_source"]["document_revision"]: hit_of(found["_source"], 0.0, known) for found in answers[0]}
    for found in answers[1] if len(answers) > 1 else []:
        near = hit_of(found["_source"], cosine_of(found["_score"]), known)
        first = hits.get(found["_source"]["document_revision"], near)
        hits[found["_source"]["document_revision"]] = replace(near, links=first.links)
    return best_first(hits.values())


def cosine_of(score: float) -> float:
    """The cosine of two vectors of length 1 whose squared distance d2 got the script's score 1 / (1 + d2).

    By distance, because the script's score of a cosine is not the same in OpenSearch 2 and 3.

    >>> cosine_of(1.0), cosine_of(1 / 3)
    (1.0, 0.0)
    """
    return max(-1.0, 1.0 - (1.0 / score - 1.0) / 2.0)


def nearest_search(tenant: str, revisions: Sequence[str], wanted: Vector) -> str:
    """One hit a revision, by an exact comparison with every one of its vectors.

    Not the k-NN search: it brings the nearest chunks, and one long document may have them all.
    """
    clause = _clause(tenant, revisions)
    clause["bool"]["filter"].append({"exists": {"field": "vector"}})
    parameters = {"field": "vector", "query_value": "", "space_type": "l2"}
    script = {"source": "knn_score", "lang": "knn", "params": parameters}
    body = {
        "query": {"script_score": {"query": clause, "script": script}},
        "collapse": {"field": "document_revision"},
        "size": len(revisions),
        "track_total_hits": False,
        "sort": BEST_FIRST,
    }
    return _dumps(body).replace('"query_value":""', f'"query_value":{vector_json(wanted)}', 1)


def first_chunks_search(tenant: str, revisions: Sequence[str]) -> str:
    """The first chunk of every revision."""
    clause = _clause(tenant, revisions)
    clause["bool"]["filter"].append({"term": {"ordinal": 0}})
    return _dumps({"query": clause, "size": len(revisions), "track_total_hits": False})


def _clause(tenant: str, revisions: Sequence[str]) -> dict[str, Any]:
    clause = filter_clause(tenant, Filters())
    clause["bool"]["filter"].append({"terms": {"document_revision": list(revisions)}})
    return clause


def _dumps(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
