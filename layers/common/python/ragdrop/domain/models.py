"""Embedding spaces, and the context windows of known models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    """One call of a chat model; token counts are None where the endpoint did not report them."""

    model: str
    prompt_tokens: int | None
    completion_tokens: int | None


def spent(calls: Sequence[ModelCall], prices: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Tokens and cost of all *calls*, by the names that answers and reports use.

    Tokens are 0 without a call, None if an endpoint did not report them.  The cost is None without a call, or if one
    has no price.

    Args:
        calls: Of one question.
        prices: By model, of a million tokens read and written.

    >>> spent([ModelCall("m", 1_000, 20), ModelCall("m", 500, 0)], {"m": (2.0, 10.0)})
    {'prompt_tokens': 1500, 'completion_tokens': 20, 'cost': 0.0032}
    >>> spent([], {})
    {'prompt_tokens': 0, 'completion_tokens': 0, 'cost': None}
    """
    if any(None in (call.prompt_tokens, call.completion_tokens) for call in calls):
        return {"prompt_tokens": None, "completion_tokens": None, "cost": None}
    pairs = [(call.prompt_tokens or 0, call.completion_tokens or 0) for call in calls]
    cost = None
    if calls and all(call.model in prices for call in calls):
        priced = zip(calls, pairs, strict=True)
        millionths = sum(
            used * each for call, pair in priced for used, each in zip(pair, prices[call.model], strict=True)
        )
        cost = round(millionths / 1_000_000, 6)
    read, written = (sum(pair[side] for pair in pairs) for side in (0, 1))
    return {"prompt_tokens": read, "completion_tokens": written, "cost": cost}
