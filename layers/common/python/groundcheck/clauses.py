"""Clauses: the words of sentences in order, as the rules on relations read them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from groundcheck.sentences import STOP_WORDS, stem

Kind = Literal["cause", "order", "comparison", "roles", "condition", "attribution", "modality", "quantifier"]
Verdict = Literal["contradicted", "unsupported", "open"]
"""What a finding makes of a sentence; `open`: the rules do not see whether it is so."""

CLAUSE_ENDS = frozenset(",;:.()")
JOINS = frozenset("and or but so because since before after until while when if unless than".split())  # noqa: SIM905
LINKS = JOINS | {"that", "which", "who"}

_TOKEN = re.compile(r"\w+(?:['’.\-]\w+)*|[,;:.()]")
_NOT = re.compile(r"n['’]t\b")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the relation of a sentence, and how sure that is."""

    kind: Kind
    verdict: Verdict


def folded(text: str) -> str:
    """*text* in small letters, with "not" for "n't"."""
    return _NOT.sub(" not", text.casefold())


@lru_cache(maxsize=4_096)
def plain_sentences(text: str) -> tuple[str, ...]:
    """The sentences of *text* in small letters, without the full stop."""
    pieces = re.split(r"(?<=[.!?;])\s+", " ".join(folded(text).split()))
    return tuple(piece.rstrip(".!?; ") for piece in pieces if piece.strip())


@lru_cache(maxsize=4_096)
def tokens(text: str) -> list[str]:
    """The words of *text* and the marks that end clauses."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=4_096)
def content(text: str) -> frozenset[str]:
    """The stems of the words of *text* that carry meaning."""
    return frozenset(sequence(text))


@lru_cache(maxsize=4_096)
def sequence(text: str) -> tuple[str, ...]:
    """The same in order, each as often as it stands.

    >>> sequence("The dog chases the cats.")
    ('dog', 'chas', 'cat')
    """
    return tuple(stem(token) for token in tokens(folded(text)) if token not in CLAUSE_ENDS and token not in STOP_WORDS)


_PASSIVE = re.compile(
    r"^(.*?)\b(?:is|are|was|were|be|been|being) (?:\w+ly )?(\w{2,}(?:ed|en|[nt])) ?(.*?)"
    r"\bby (.+?)(?= (?:in|on|at|from|to|for|with|during|of) |$)(.*)$"
)


def active(text: str) -> str:
    """*text* with whoever acts first in each passive clause that names them.

    >>> active("The pump was built in March by Kelly.")
    'kelly built the pump in march'
    """
    clauses = (piece for sentence in plain_sentences(text) for piece in re.split(r"(?<=[,;:])", sentence))
    return " ".join(_PASSIVE.sub(r"\4 \2 \1\3\5", piece.strip()) for piece in clauses).strip()


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of *one* that is in *other*."""
    return len(one & other) / len(one) if one else 0.0
