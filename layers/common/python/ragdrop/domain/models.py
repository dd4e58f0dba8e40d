"""Embedding spaces, and the context windows of known models."""

from __future__ import annotations

from dataclasses import dataclass

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


DEFAULT_CHAT_WINDOW_TOKENS = 1_000_000  # an unknown model is not held back: MAX_CONTEXT_TOKENS says what it gets

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
