"""Checks and lexical expressions that every chunk index shares."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from ragdrop.domain.languages import segmented
from ragdrop.errors import ConfigurationError


def check_dimension(expected: int, given: int) -> None:
    """Return if the two agree.

    Raises:
        ConfigurationError: They do not: the model and the index were not made for each other.

    >>> check_dimension(384, 384)
    """
    if expected != given:
        raise ConfigurationError(
            f"the index holds vectors of {expected} dimensions, one of {given} was given: "
            "EMBEDDING_MODEL and EMBEDDING_DIMENSION must be those the index was built with",
            expected=expected,
            given=given,
        )


def has_direction(vector: Sequence[float]) -> bool:
    """Whether a cosine with *vector* is defined: not all zeros, nothing infinite, no NaN.

    >>> has_direction([0.0, 1.0]), has_direction([0.0, 0.0]), has_direction([float("nan"), 1.0])
    (True, False, False)
    """
    return 0.0 < math.hypot(*vector) < math.inf


MAX_TERMS = 128  # a question of 1,000 characters has fewer; FTS5's own limits are far above

# Letters and digits of any script, joined as in QX-5521, retry_after_s, notes/pump.md or l'eau.
JOINED_TERM = re.compile(r"[^\W_]+(?:[-_./:@+'\u2019][^\W_]+)*")
TERM_PART = re.compile(r"[^\W_]+")

# Lucene's English list.  They weigh next to nothing in BM25 but match nearly every chunk: at 100,000 chunks a query
# with two of them took 144 ms, without 12 ms.
_ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_ENGLISH.split())


def match_expression(text: str) -> str | None:
    """The words of *text*, each quoted, joined by OR; None where there are no words.

    A joined term counts as a phrase and by its parts of two characters and more, so that a code found as written
    ranks above one found in pieces.  English stop words are left out unless there is nothing else.

    References:
        FTS5's string syntax: a double-quoted string is a phrase, whatever stands in it.

    >>> match_expression('What is the "pump" code QX-5521?')
    '"What" OR "pump" OR "code" OR "QX-5521" OR "QX" OR "5521"'
    >>> match_expression("to be or not to be")
    '"to" OR "be" OR "or" OR "not"'
    >>> match_expression("?! *") is None
    True
    """
    terms: dict[str, str] = {}
    for term in JOINED_TERM.findall(segmented(unicodedata.normalize("NFC", text))):
        parts = TERM_PART.findall(term)
        for word in (term, *(part for part in parts if len(parts) > 1 and len(part) > 1)):
            terms.setdefault(word.casefold(), word)
    told = [word for folded, word in terms.items() if folded not in STOP_WORDS] or list(terms.values())
    return " OR ".join(f'"{word}"' for word in told[:MAX_TERMS]) or None
