"""Prompts from Jinja files, rendered in a sandbox where an undefined name is an error."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import resources

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ragdrop.domain.answers import Segment
from ragdrop.ports import Message

MARK_DIGITS = 12


class JinjaPrompter:
    """A Prompter over the templates in `ragdrop/prompts`.

    Sources stand between tags that carry a mark: digits of a hash over the very texts, so that no text can hold the
    tag that would close it.
    """

    def __init__(self) -> None:
        folder = resources.files("ragdrop") / "prompts"
        sources = {name: (folder / f"{name}.j2").read_text("utf-8") for name in ("system", "question")}
        environment = ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
            autoescape=False,
        )
        self.version = hashlib.sha256("\0".join(sources.values()).encode()).hexdigest()[:16]
        self.system = sources["system"].strip()
        self._question = environment.from_string(sources["question"])

    def render(self, question: str, segments: Sequence[Segment]) -> list[Message]:
        """The system message and the user message that holds sources and question."""
        texts = [question, *(segment.hit.chunk.text for segment in segments)]
        user = self._question.render(mark=_mark(texts), segments=segments, question=question)
        return [Message("system", self.system), Message("user", user)]


def _mark(texts: Sequence[str]) -> str:
    """Digits that stand in none of *texts*."""
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    while any(digest[:MARK_DIGITS] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:MARK_DIGITS]
