"""Rows to tensors: tokens, where the passage's characters lie, and batches of about the same number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from models.reader.data import Row, Unit
from ragdrop.models.onnx_reader import CLS, MAX_PAIR_TOKENS, MAX_QUERY_TOKENS, SEP

Ints = Any  # arrays of numpy, which the project's environment does not have


@dataclass(frozen=True, slots=True)
class Encoded:
    """A row as numbers: tokens of `[CLS] query [SEP] passage [SEP]`, where the passage begins, the span's tokens."""

    tokens: list[int]
    passage_at: int
    span: tuple[int, int] | None
    row: Row


class Encoder:
    """Turns texts to tokens, each once."""

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._known: dict[str, tuple[list[int], list[tuple[int, int]]]] = {}

    def tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The tokens of *text* and the characters of each, without special tokens."""
        if text not in self._known:
            encoding = self._tokenizer.encode(text, add_special_tokens=False)
            self._known[text] = encoding.ids[:512], encoding.offsets[:512]
        return self._known[text]

    def __call__(self, row: Row) -> Encoded:
        query = self.tokens(row.query)[0][:MAX_QUERY_TOKENS]
        room = MAX_PAIR_TOKENS - 3 - len(query)
        passage, offsets = self.tokens(row.passage)
        passage, offsets = passage[:room], offsets[:room]
        at = len(query) + 2
        span = None
        if row.span:
            inside = [
                number for number, (start, end) in enumerate(offsets) if start < row.span[1] and end > row.span[0]
            ]
            if inside and offsets[-1][1] >= row.span[1]:
                span = at + inside[0], at + inside[-1]
        return Encoded([CLS, *query, SEP, *passage, SEP], at, span, row)


def batches(
    units: Sequence[list[Encoded]], tokens: int, rng: Random, *, window: int = 4_000
) -> Iterator[list[list[Encoded]]]:
    """Units in random order, those of about one length together, at most *tokens* tokens a batch with padding."""
    order = list(units)
    rng.shuffle(order)
    for at in range(0, len(order), window):
        near = sorted(order[at : at + window], key=_length)
        filled: list[list[list[Encoded]]] = [[]]
        rows = 0
        for unit in near:
            if filled[-1] and (rows + len(unit)) * _length(unit) > tokens:
                filled.append([])
                rows = 0
            filled[-1].append(unit)
            rows += len(unit)
        rng.shuffle(filled)
        yield from filled


def _length(unit: Sequence[Encoded]) -> int:
    return max(len(each.tokens) for each in unit)


def arrays(rows: Sequence[Encoded]) -> tuple[Ints, Ints, Ints]:
    """Tokens, types and mask, each len(rows) x the longest."""
    length = max(len(each.tokens) for each in rows)
    tokens, types, mask = (np.zeros((len(rows), length), np.int64) for _ in range(3))
    for number, each in enumerate(rows):
        tokens[number, : len(each.tokens)] = each.tokens
        types[number, each.passage_at : len(each.tokens)] = 1
        mask[number, : len(each.tokens)] = 1
    return tokens, types, mask


def encode_units(units: Sequence[Unit], encoder: Encoder) -> list[list[Encoded]]:
    return [[encoder(row) for row in unit] for unit in units]
