"""Build the searches that ragdrop sends to OpenSearch, as JSON. Pure."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from ragdrop.domain.chunks import ChunkRange, Filters, Folder, HiddenFolder, Vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import JOINED_TERM, LUCENE_STOP_WORDS, MAX_TERMS, content_of
from ragdrop_opensearch.mapping import SHARDS, attribute_term, document_term, revision_term, term, utf8, vector_json

Clause = dict[str, Any]
PAGE_SIZE = 1_000  # chunks that one search brings; OpenSearch allows at most 10,000
MAX_ORDINAL = 2**31 - 1  # of an OpenSearch integer
EF_SEARCH = 256  # docs/opensearch.md has the table behind it
# One weight a field, 10 to 5 in small numbers: they multiply how often a word stands there before BM25 saturates, and
# below 1 the server takes none.  The plain variants find what stemming and stop words hide, at half the worth.
WEIGHTED = ("text^2", "title^1", "headings^1", "tags.words^1")
PLAIN = ("text.plain", "title.plain", "headings.plain", "tags.plain")
WEIGHTED_PLAIN = ("text.plain^2", "title.plain^1", "headings.plain^1", "tags.plain^1")
PLAIN_BOOST = 0.5
BEST_FIRST = [{"_score": "desc"}, {"document": "asc"}, {"ordinal": "asc"}, {"revision": "asc"}]


def routing_value(key: DocumentKey, routes: int) -> str:
    """The routing value of a document: its tenant and one of the tenant's *routes* parts.

    >>> routing_value(DocumentKey("acme", "team", "a.md"), 1)
    'acme#0'
    """
    return f"{key.tenant}#{int(key.digest[:8], 16) % routes}"


def routing_values(tenant: str, routes: int) -> str:
    """All routing values of a tenant, as OpenSearch takes them.

    >>> routing_values("acme", 2)
    'acme#0,acme#1'
    """
    return ",".join(f"{tenant}#{number}" for number in range(routes))


def filter_clause(
    tenant: str,
    filters: Filters,
    without: frozenset[tuple[DocumentKey, int]] = frozenset(),
    hidden: Sequence[HiddenFolder] = (),
) -> Clause:
    """The chunks of *tenant* that match *filters*, except the revisions in *without* and what lies in *hidden*.

    Groups that files state are not in the mapping: who reads the heads leaves those files out.
    """
    excluded = _clauses(filters.excluded) if filters.excluded is not None else []
    found: Clause = {"bool": {"filter": [{"term": {"tenant": tenant}}, *_clauses(filters)]}}
    if without:
        dropped = sorted(revision_term(key, revision) for key, revision in without if key.tenant == tenant)
        excluded.append({"terms": {"document_revision": dropped}})
    for each in hidden:
        inside = {"filter": [_folder(each.folder)], "must_not": [_folder(folder) for folder in each.but]}
        excluded.append({"bool": {name: clauses for name, clauses in inside.items() if clauses}})
    return found if not excluded else {"bool": {**found["bool"], "must_not": excluded}}


def _clauses(filters: Filters) -> list[Clause]:
    """A clause for each field of *filters*."""
    asked: dict[str, Sequence[str]] = {
        "vault": filters.vaults,
        "doc_type": filters.doc_types,
        "content_type": filters.content_types,
        "category": filters.categories,
        "tags": filters.tags,
        "session_id": filters.session_ids,
        "promotion_level": filters.promotion_levels,
    }
    clauses: list[Clause] = [
        {"terms": {name: [term(value) for value in values]}} for name, values in asked.items() if values
    ]
    if filters.folders:
        clauses.append(_any([_folder(folder) for folder in filters.folders]))
    if filters.date_from is not None or filters.date_to is not None:
        clauses.append({"range": {"date": date_range(filters.date_from, filters.date_to)}})
    clauses += [
        {"terms": {"attributes": [attribute_term(name, value) for value in values]}}
        for name, values in filters.alternatives
    ]
    return clauses


def date_range(first: str | None, last: str | None) -> dict[str, str]:
    """Bounds for ISO 8601 strings, both included; a day as the end includes all times of that day.

    >>> date_range("2026-01-01", "2026-01-31")
    {'gte': '2026-01-01', 'lt': '2026-01-31U'}
    """
    bounds = {} if first is None else {"gte": first}
    if last is not None:
        # "U" follows "T", with which every time of the day continues, and a blank, which some write in its place
        bounds |= {"lt": last + "U"} if len(last) == len("2026-01-31") else {"lte": last}
    return bounds


def vector_search(vector: str, clause: Clause, limit: int, ef_search: int) -> str:
    """A k-NN search by *vector*, a JSON array; the filter is in the graph search, so *limit* matching chunks come back.

    With Lucene's engine `k` is how many candidates the search keeps on its way (what others call ef_search); the best
    *limit* of them are given, equal ones in the order of `Hit.order`.
    """
    knn = {"vector": "", "k": max(limit, ef_search), "filter": clause}
    body = {"query": {"knn": {"vector": knn}}, "size": limit, "track_total_hits": False, "sort": BEST_FIRST}
    return _dumps(body).replace('"vector":""', f'"vector":{vector}', 1)  # it stands before all else


def words_of(text: str) -> list[str]:
    """The words that are searched for: stop words and function words only where there is nothing else.

    What is not a word is dropped here, so that nothing in a question is syntax.  The lists are those of the bucket
    index, so that both ask for the same.

    >>> words_of('What is the "pump" code QX-5521?'), words_of("to be?"), words_of("?!")
    (['pump', 'code', 'QX-5521'], ['to', 'be'], [])
    """
    found = list(dict.fromkeys(JOINED_TERM.findall(unicodedata.normalize("NFC", text))))
    asked = [word for word in found if word.casefold() not in LUCENE_STOP_WORDS]
    not_about = content_of(text)[1]
    return ([word for word in asked if word.casefold() not in not_about] or asked or found)[:MAX_TERMS]


def lexical_search(words: Sequence[str], clause: Clause, limit: int, *, combined: bool = True) -> str:
    """A BM25 search over the weighted fields, any of the words; equal scores come in the order of `Hit.order`.

    A joined word such as QX-5521 counts by its parts and once more where they stand together.

    Args:
        words: What to search for, from `words_of`.
        clause: Which chunks may match.
        limit: Hits asked for.
        combined: Score the fields as one weighted text (BM25F: Robertson, Zaragoza, Taylor, CIKM 2004), as the embedded
            index does.  Servers before 3.2 do not know that query; they get the nearest older one.
    """
    return _dumps(
        {
            "size": limit,
            "track_total_hits": False,
            "query": _lexical_query(words, clause, combined=combined),
            "sort": BEST_FIRST,
        }
    )


def cosines_search(
    words: Sequence[str], clause: Clause, limit: int, vector: str, *, routes: int, combined: bool = True
) -> str:
    """The hits of `lexical_search` by chunk id alone, each scored by its distance to *vector*, a JSON array.

    A chunk without a vector has the score 0; `hits.cosine_of` reads the others.  Each shard scores its
    best *limit*, and *routes* routing values touch at most as many shards.  The ids come from their column: out of
    `_source` this would cost more than both of the other searches.
    """
    nearness = {"script_score": {"query": {"exists": {"field": "vector"}}, "script": _nearness()}}
    body = {
        "rescore": {
            "window_size": limit,
            "query": {"rescore_query": nearness, "query_weight": 0, "rescore_query_weight": 1},
        },
        "size": limit * min(routes, SHARDS),
        "track_total_hits": False,
        "_source": False,
        "stored_fields": "_none_",
        "docvalue_fields": ["chunk_id"],
        "query": _lexical_query(words, clause, combined=combined),
    }
    return _with_vector(body, vector)


def _lexical_query(words: Sequence[str], clause: Clause, *, combined: bool) -> Clause:
    kind = "combined_fields" if combined else "multi_match"
    extra = {} if combined else {"type": "cross_fields"}
    text = " ".join(words)
    found = [
        {kind: {"query": text, "fields": list(WEIGHTED), **extra}},
        {kind: {"query": text, "fields": list(WEIGHTED_PLAIN), "boost": PLAIN_BOOST, **extra}},
    ]
    together = [word for word in words if not word.isalnum()]
    phrases = [{"multi_match": {"query": word, "type": "phrase", "fields": list(PLAIN)}} for word in together]
    return {"bool": {"must": [{"dis_max": {"queries": found}}], "should": phrases, "filter": [clause]}}


def ranges_search(tenant: str, ranges: Sequence[ChunkRange]) -> str:
    """The first page of the chunks in any of *ranges*, by revision, then in their order."""
    clause = tenant_clause(tenant, _any([_range(part) for part in ranges]))
    return _dumps(
        {
            "size": min(sum(part.last - part.first + 1 for part in ranges), PAGE_SIZE),
            "track_total_hits": False,
            "query": clause,
            "sort": [{"document_revision": "asc"}, {"ordinal": "asc"}],
        }
    )


def tenant_clause(tenant: str, *clauses: Clause) -> Clause:
    """The chunks of a tenant that match all *clauses*."""
    return {"bool": {"filter": [{"term": {"tenant": tenant}}, *clauses]}}


def older_clause(key: DocumentKey, before_revision: int, from_revision: int = 0) -> Clause:
    """The chunks of a document's revisions from *from_revision* to below *before_revision*."""
    revisions = {"range": {"revision": {"gte": from_revision, "lt": before_revision}}}
    return tenant_clause(key.tenant, {"term": {"document": document_term(key)}}, revisions)


def revisions_search(tenant: str, after: str | None, limit: int) -> dict[str, Any]:
    """One page of a tenant's revisions, as an aggregation: one page in memory, however many chunks there are.

    >>> revisions_search("acme", "x-1", 10)["aggregations"]["revisions"]["composite"]["after"]
    {'revision': 'x-1'}
    """
    source = {"revision": {"terms": {"field": "document_revision"}}}
    paged: dict[str, Any] = {"size": limit, "sources": [source]} | ({"after": {"revision": after}} if after else {})
    one = {"top_hits": {"size": 1, "_source": ["tenant", "vault", "path", "revision", "facts.indexed_at"]}}
    aggregations = {"revisions": {"composite": paged, "aggregations": {"chunk": one}}}
    return {"size": 0, "track_total_hits": False, "query": tenant_clause(tenant), "aggregations": aggregations}


def nearest_search(tenant: str, revisions: Sequence[str], vector: Vector) -> str:
    """One hit a revision, by an exact comparison with every one of its vectors.

    Not the k-NN search: it brings the nearest chunks, and one long document may have them all.
    """
    clause = tenant_clause(tenant, {"terms": {"document_revision": list(revisions)}}, {"exists": {"field": "vector"}})
    body = {
        "query": {"script_score": {"query": clause, "script": _nearness()}},
        "collapse": {"field": "document_revision"},
        "size": len(revisions),
        "track_total_hits": False,
        "sort": BEST_FIRST,
    }
    return _with_vector(body, vector_json(vector))


def first_chunks_search(tenant: str, revisions: Sequence[str]) -> str:
    """The first chunk of every revision."""
    clause = tenant_clause(tenant, {"terms": {"document_revision": list(revisions)}}, {"term": {"ordinal": 0}})
    return _dumps({"query": clause, "size": len(revisions), "track_total_hits": False})


def multi_search(searches: Sequence[tuple[str, str]]) -> bytes:
    """The body of one `_msearch`: pairs of routing values and search, a line each.

    Half an answer (a shard that did not answer) is refused: whoever asks cannot tell what is missing from it.
    """
    lines = []
    for routing, search in searches:
        lines += [_dumps({"routing": routing, "allow_partial_search_results": False}), search]
    return utf8("\n".join(lines) + "\n")


def _nearness() -> dict[str, Any]:
    """The script that scores by distance, without its vector."""
    parameters = {"field": "vector", "query_value": "", "space_type": "l2"}
    return {"source": "knn_score", "lang": "knn", "params": parameters}


def _with_vector(body: Mapping[str, Any], vector: str) -> str:
    # the place stands before the words of the question, so that nothing in these can be taken for it
    return _dumps(body).replace('"query_value":""', f'"query_value":{vector}', 1)


def _range(part: ChunkRange) -> Clause:
    ordinals = {"gte": part.first, "lte": min(part.last, MAX_ORDINAL)}
    revision = revision_term(part.key, part.revision)
    return {"bool": {"filter": [{"term": {"document_revision": revision}}, {"range": {"ordinal": ordinals}}]}}


def _folder(folder: Folder) -> Clause:
    clauses: list[Clause] = [{"term": {"folders": term(folder.path)}}] if folder.path else []
    if folder.vault is not None:
        clauses.append({"term": {"vault": folder.vault}})
    return {"bool": {"filter": clauses or [{"match_all": {}}]}}


def _any(clauses: list[Clause]) -> Clause:
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _dumps(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
