"""What is known of embedding models: how many tokens each can read."""

from __future__ import annotations

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
