"""Near passages that do not answer: what our own search (the trunk as a bi-encoder) finds for each question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import torch
from torch import Tensor
from torch.nn import functional

from models.reader.batches import Encoder
from models.reader.data import Row
from models.reader.network import DEVICE, FAST, Network
from ragdrop.models.onnx_reader import CLS, SEP

RANKS = (2, 24)
"""Ranks that are taken: the first are too often right as well, the last too easy."""
MINED = 4
TOKENS_A_BATCH = 8_192


def embed(texts: Sequence[str], encoder: Encoder, trunk: Network) -> Tensor:
    """Vectors of length 1, len(texts) x WIDTH, as all-MiniLM-L6-v2 makes them: the mean of the tokens."""
    order = sorted(range(len(texts)), key=lambda number: len(encoder.tokens(texts[number])[0]))
    found = torch.zeros(len(texts), trunk.words.embedding_dim)
    at = 0
    while at < len(order):
        longest = 2 + min(254, len(encoder.tokens(texts[order[min(at + 255, len(order) - 1)]])[0]))
        some = order[at : at + max(1, min(256, TOKENS_A_BATCH // longest))]
        rows = [[CLS, *encoder.tokens(texts[number])[0][:254], SEP] for number in some]
        length = max(map(len, rows))
        tokens = torch.tensor([row + [0] * (length - len(row)) for row in rows], device=DEVICE)
        mask = (tokens != 0).long()
        with torch.inference_mode():
            hidden = trunk.hidden(tokens, torch.zeros_like(tokens), mask).float()
        means = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        found[some] = functional.normalize(means).cpu()
        at += len(some)
    return found


def mine(rows: Iterable[Row], encoder: Encoder, trunk_weights: Path) -> dict[str, list[str]]:
    """By query that has a relevant passage: up to MINED near passages of the same set without the answer's words."""
    rng = Random("mined")  # a separate one: a run that finds them stored has the same batches
    trunk = Network()
    trunk.load_trunk(trunk_weights)
    trunk = trunk.to(DEVICE, FAST)
    sets: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        sets[row.source].append(row)
    mined: dict[str, list[str]] = {}
    for together in sets.values():
        own: dict[str, set[str]] = defaultdict(set)
        answers: dict[str, str] = {}
        for row in together:
            if row.relevant:
                own[row.query].add(row.passage)
                if row.span:
                    answers[row.query] = row.passage[row.span[0] : row.span[1]].lower()
        if not own:
            continue
        passages = sorted({row.passage for row in together})
        queries = sorted(own)
        of_passages, of_queries = embed(passages, encoder, trunk), embed(queries, encoder, trunk)
        for at in range(0, len(queries), 512):
            best = (of_queries[at : at + 512] @ of_passages.T).topk(min(RANKS[1], len(passages))).indices
            for query, numbers in zip(queries[at : at + 512], best.tolist(), strict=True):
                near = [passages[number] for number in numbers if passages[number] not in own[query]][RANKS[0] :]
                answer = answers.get(query)
                near = [text for text in near if not answer or answer not in text.lower()]
                mined[query] = rng.sample(near, min(MINED, len(near)))
    return mined
