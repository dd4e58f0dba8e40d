"""How many documents a question deserves, where nobody said it: 3 to 8, 5 in the middle."""

from __future__ import annotations

import re

from ragdrop.domain.queries import FAST_LIMIT, Query

MIN_AUTO_LIMIT = 3
DEFAULT_LIMIT = 5
MAX_AUTO_LIMIT = 8
MAX_LIMIT = 20
LONG_QUESTION_WORDS = 20

# What asks for breadth rather than for one place.
_BROAD = re.compile(
    r"\b(overview|everything|all|every|list|summar(?:y|ise|ize)|compare|comparison|difference|differences|history|"
    r"alternatives|options|explain)\b",
    re.IGNORECASE,
)
_DETAIL = {"brief": -2, "normal": 0, "detailed": 2}


def document_limit(query: Query, setting: int | None = None) -> int:
    """Documents to give: as asked for, else 3 in mode `fast`, else *setting* (MAX_RESULTS), else by the question.

    >>> document_limit(Query("pump", limit=12)), document_limit(Query("pump", mode="fast"))
    (12, 3)
    >>> document_limit(Query("pump"), 7)
    7
    """
    if query.limit is not None:
        return query.limit
    if query.fast:
        return FAST_LIMIT
    return auto_limit(query) if setting is None else min(setting, MAX_LIMIT)


def auto_limit(query: Query) -> int:
    """3 to 8 documents: more for breadth and detail, fewer for narrow filters.

    >>> auto_limit(Query("What is the pump's code?"))
    5
    >>> auto_limit(Query("Give me an overview of everything on pumps", detail="detailed"))
    8
    >>> auto_limit(Query("pump code", detail="brief", tags=("pump",)))
    3
    """
    limit = DEFAULT_LIMIT + _DETAIL[query.detail] + _breadth(query.text) - _narrowness(query)
    return max(MIN_AUTO_LIMIT, min(MAX_AUTO_LIMIT, limit))


def _breadth(text: str) -> int:
    several = text.count("?") > 1
    long = len(text.split()) >= LONG_QUESTION_WORDS
    return 2 * bool(_BROAD.search(text)) + int(several) + int(long)


def _narrowness(query: Query) -> int:
    """One for each kind of filter that leaves few documents, at most two; a vault or a doc_type leaves many."""
    narrow = (query.folders, query.tags, query.session_ids, query.categories, query.attributes)
    dated = query.date_from is not None and query.date_to is not None
    return min(2, sum(map(bool, narrow)) + int(dated))
