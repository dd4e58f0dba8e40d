"""Chunks by semantic-text-splitter: headings, paragraphs, sentences are boundaries; sizes in the model's own tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from ragdrop.domain.chunks import Chunk
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.token_estimates import estimate_passage_tokens


class SemanticSplitter:
    """A Splitter.

    Args:
        tokenizer: Gives the model's `tokenizer.json`, or None where it is not known; then tokens are estimated.  Called
            once, at first use.
    """

    def __init__(self, tokenizer: Callable[[], bytes | None]) -> None:
        self._tokenizer = cache(tokenizer)
        self._splitter = lru_cache(maxsize=16)(self._build)

    def split(self, document: ParsedDocument, *, max_tokens: int, overlap_tokens: int) -> list[Chunk]:
        """Chunks in order; each text is exactly the parsed text's slice."""
        splitter = self._splitter(document.syntax, max_tokens, overlap_tokens)
        pieces = splitter.chunk_indices(document.text[document.body_start :])
        chunks: list[Chunk] = []
        for offset, text in pieces:
            start = document.body_start + offset
            if text.strip():
                chunks.append(Chunk(len(chunks), start, start + len(text), text, document.heading_path(start)))
        return chunks

    def _build(self, syntax: str, max_tokens: int, overlap_tokens: int) -> Any:
        kind = MarkdownSplitter if syntax == "markdown" else TextSplitter
        tokenizer = self._tokenizer()
        if tokenizer is None:
            return kind.from_callback(estimate_passage_tokens, max_tokens, overlap_tokens)
        return kind.from_huggingface_tokenizer_str(_unlimited(tokenizer), max_tokens, overlap_tokens)


def _unlimited(tokenizer: bytes) -> str:
    """The tokenizer without the truncation and padding of its file: they would hide a text's true length."""
    loaded = json.loads(tokenizer)
    loaded.update(truncation=None, padding=None)
    return json.dumps(loaded)
