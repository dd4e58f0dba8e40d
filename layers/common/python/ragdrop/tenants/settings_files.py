"""Settings files: parse `.ragdrop.json` strictly and report all problems together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragdrop.errors import InvalidSettingsError
from ragdrop.tenants.setting_rules import RULES, Flag

MAX_SETTINGS_BYTES = 64 * 1024
MAX_WORDS = 100
MAX_WORD_CHARACTERS = 100
MAX_PROMPT_CHARACTERS = 20_000
SHOWN_CHARACTERS = 60  # of a wrong value
WORD_LISTS = ("doc_types", "categories")
FLAGS: Mapping[str, Flag] = {"link_mentions": Flag()}
"""What only settings files say: no deployment and no request does."""
PROMPTS = ("system_prompt", "prompt_template")
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "retrieval": {
        "min_relevance_score": "min_relevance",
        "max_results": "max_results",
        "fusion": "fusion",
        "critical_share": "critical_share",
    },
    "link_resolution": {
        "max_depth": "max_link_depth",
        "max_linked_docs": "max_linked_docs",
        "across_vaults": "links_across_vaults",
        "mentions": "link_mentions",
    },
    "boosting": {"critical": "boost_critical", "important": "boost_important"},
    "context": {
        "max_tokens": "max_context_tokens",
        "reserved_answer_tokens": "reserved_answer_tokens",
        "reserved_prompt_tokens": "reserved_prompt_tokens",
    },
    "generation": {
        "citation_policy": "citation_policy",
        "system_prompt": "system_prompt",
        "prompt_template": "prompt_template",
    },
    "chunking": {"tokens": "chunk_tokens", "overlap_tokens": "chunk_overlap_tokens"},
    "ingest": {"keep_last_good": "keep_last_good"},
    "admission": {"questions": "golden_questions", "gate": "golden_gate"},
    "vocabulary": {"doc_types": "doc_types", "categories": "categories"},
}
"""The nested form: the flat name of each setting by its section and its name there."""
WORDS_ALLOWED = f"a list of at most {MAX_WORDS} different words of 1 to {MAX_WORD_CHARACTERS} characters"
GOLDEN = ("golden_questions", "golden_gate")
"""What a vault lets in: its golden questions, and the share of them that must be answered."""
MAX_GOLDEN = 50
MAX_GOLDEN_CHARACTERS = 1_000
GOLDEN_ALLOWED = f"a list of 1 to {MAX_GOLDEN} objects with question and document or text"
GATE_ALLOWED = "a number from 0 to 1"
PROMPT_ALLOWED = f"a template of 1 to {MAX_PROMPT_CHARACTERS:,} characters"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a settings file: where, what stands there, and what may stand there."""

    field: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.field}: {self.value} is not allowed ({self.allowed})"


def read_settings(body: bytes, *, of_tenant: bool) -> dict[str, Any]:
    """The settings that a file holds, by name.

    Args:
        body: The file: one JSON object in UTF-8, of at most 64 KB.
        of_tenant: Whether it is the tenant's own: only there prompts may stand.

    Raises:
        InvalidSettingsError: It cannot be applied; nothing of it is.  `problems` tells all that is wrong.

    >>> read_settings(b'{"min_relevance": 0.5}', of_tenant=False)
    {'min_relevance': 0.5}
    >>> read_settings(b'{"retrieval": {"min_relevance_score": 0.5}}', of_tenant=False)
    {'min_relevance': 0.5}
    >>> read_settings(b'{"min_relevance": 2, "max_docs": 3}', of_tenant=False)
    Traceback (most recent call last):
    ragdrop.errors.InvalidSettingsError: min_relevance: 2 is not allowed (a number from 0 to 1); \
max_docs: 3 is not allowed (no such setting)
    """
    settings: dict[str, Any] = {}
    problems: list[Problem] = []
    for written, name, value in _flat(_object_of(body)):
        problem = _problem(written, name, value, of_tenant=of_tenant)
        if problem is None and name in settings:
            problem = Problem(written, shown(value), f"{name} stands in this file already")
        if problem is not None:
            problems.append(problem)
        settings[name] = value
    if problems:
        raise refusal(problems)
    return settings


def refusal(problems: Iterable[Problem]) -> InvalidSettingsError:
    """The error that tells of *problems*."""
    found = list(problems)
    told = [{"field": each.field, "value": each.value, "allowed": each.allowed} for each in found]
    return InvalidSettingsError("; ".join(map(str, found)), problems=told)


def shown(value: object) -> str:
    """A value as a problem shows it: JSON, cut.

    >>> shown("a" * 100)[-3:], shown(None)
    ('aa…', 'null')
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _object_of(body: bytes) -> dict[str, Any]:
    if len(body) > MAX_SETTINGS_BYTES:
        raise refusal([Problem("body", "more", f"at most {MAX_SETTINGS_BYTES:,} bytes")])
    try:
        given = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as exc:
        raise refusal([Problem("body", "this", f"JSON in UTF-8: {exc}"[:200])]) from exc
    if not isinstance(given, dict):
        raise refusal([Problem("body", shown(given), "a JSON object")])
    return given


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{shown(twice)} stands there twice")
    return dict(pairs)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _flat(given: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each setting as it is written, by its flat name (what has none keeps its own), and its value."""
    for name, value in given.items():
        if name not in SECTIONS or not isinstance(value, dict):
            yield name, name, value
            continue
        for inner, held in value.items():
            written = f"{name}.{inner}"
            yield written, SECTIONS[name].get(inner, written), held


def _problem(written: str, name: str, value: object, *, of_tenant: bool) -> Problem | None:
    if name in PROMPTS and not of_tenant:
        return Problem(written, "in a vault's file", "only in the tenant's own")
    allowed, admits = _rule(name)
    return None if admits(value) else Problem(written[:SHOWN_CHARACTERS], shown(value), allowed)


def _rule(name: str) -> tuple[str, Callable[[object], bool]]:
    rule = RULES.get(name) or FLAGS.get(name)
    if rule is not None:
        return rule.allowed, rule.admits
    if name in WORD_LISTS:
        return WORDS_ALLOWED, _are_words
    if name in PROMPTS:
        return PROMPT_ALLOWED, _is_prompt
    if name == "golden_questions":
        return GOLDEN_ALLOWED, _are_golden
    if name == "golden_gate":
        return GATE_ALLOWED, lambda value: type(value) in {int, float} and 0 <= float(str(value)) <= 1
    if name in SECTIONS:
        return f"an object of {', '.join(SECTIONS[name])}", lambda _value: False
    return "no such setting", lambda _value: False


def _are_golden(value: object) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_GOLDEN:
        return False
    return all(
        isinstance(each, dict)
        and each.keys() <= {"question", "document", "text"}
        and all(isinstance(held, str) and 0 < len(held) <= MAX_GOLDEN_CHARACTERS for held in each.values())
        and "question" in each
        and len(each) > 1
        for each in value
    )


def _are_words(value: object) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_WORDS:
        return False
    words = [word for word in value if isinstance(word, str) and word.strip() == word]
    return len(set(words)) == len(value) and all(0 < len(word) <= MAX_WORD_CHARACTERS for word in words)


def _is_prompt(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= MAX_PROMPT_CHARACTERS
