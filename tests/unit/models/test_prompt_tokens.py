"""The figures of docs/prompts.md are those that the tokenizer of the laptop's embedding model counts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pages.prompts import SITUATIONS, Situation
from ragdrop.domain.tokens import estimate_tokens

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".local/env/models/bin/python"
TOKENIZER = ROOT / ".local/models/all-MiniLM-L6-v2/tokenizer.json"
MOST_ENVELOPE = 0.25  # of a prompt of eight sources
COUNT = """
import json, sys
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.no_truncation()
tokenizer.no_padding()
print(json.dumps([len(tokenizer.encode(text, add_special_tokens=False).ids) for text in json.load(sys.stdin)]))
"""


def counts(texts: list[str]) -> list[int]:
    command = [str(PYTHON), "-c", COUNT, str(TOKENIZER)]
    made = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    found: list[int] = json.loads(made.stdout)
    return found


def figures(situation: Situation) -> tuple[int, int]:
    """Tokens of the prompt, and of its envelope."""
    system, user = (message.content for message in situation.prompt.messages)
    of_system, of_user, *of_texts = counts([system, user, *situation.texts])
    return of_system + of_user, of_user - sum(of_texts)


@pytest.mark.skipif(not (PYTHON.exists() and TOKENIZER.exists()), reason="the models' environment is not there")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.title)
def test_the_page_has_the_tokens_of_each_prompt_and_of_its_envelope(situation: Situation) -> None:
    assert (situation.tokens, situation.envelope) == figures(situation)


def test_the_envelope_of_eight_sources_is_at_most_a_quarter_of_the_prompt() -> None:
    situation = SITUATIONS[0]

    assert sum(len(source.segments) for source in situation.request.sources) == 8
    assert situation.envelope <= MOST_ENVELOPE * situation.tokens


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.title)
def test_the_bound_of_a_prompt_is_at_least_its_tokens(situation: Situation) -> None:
    assert sum(estimate_tokens(message.content) for message in situation.prompt.messages) >= situation.tokens
