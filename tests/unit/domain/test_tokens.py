"""The bound of tokens is never under what tokenizers of chat models count; their counts were taken once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragdrop.domain.tokens import estimate_tokens

# `tokens` is the highest count of cl100k, o200k, Claude 2, DeepSeek V3, Mistral 7B and Mistral Nemo.
COUNTED = json.loads(Path(__file__).with_name("token_counts.json").read_text("utf-8"))


@pytest.mark.parametrize("name", COUNTED)
def test_the_estimate_is_never_under_the_true_count_and_at_most_twice_as_high(name: str) -> None:
    text, counted = COUNTED[name].values()

    assert counted <= estimate_tokens(text) <= 2 * counted


def test_a_chinese_prompt_is_not_estimated_at_a_quarter_of_its_characters() -> None:
    text, counted = COUNTED["zh"].values()

    assert estimate_tokens(500 * text) >= 500 * counted
