"""Prompts from Jinja files, rendered in a sandbox where an undefined name is an error."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ragdrop.domain.answers import Segment
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports import Message

MARK_DIGITS = 12
MAX_RENDERED_CHARACTERS = 200_000
_FACTS = Facts("A title", "version", "2026-01-01T00:00:00Z", date="2026-01-01")
_CHUNK = Chunk(0, 0, 7, "A text.", ("A heading",), page=1)
SAMPLE = (
    Segment(1, Hit(DocumentKey("tenant", "vault", "a.md"), 1, _CHUNK, _FACTS)),
    Segment(2, Hit(DocumentKey("tenant", "vault", "b.md"), 1, Chunk(0, 0, 7, "A text."), replace(_FACTS, date=None))),
)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Where `*` and `**`, by which a short template makes a text of any length, are refused."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: object, operator: str, left: object, right: object) -> object:  # noqa: ARG002
        """Refuse."""
        raise jinja2.exceptions.SecurityError(f"{operator} is not allowed in a template")


class JinjaPrompter:
    """A Prompter over the templates in `ragdrop/prompts`.

    Sources stand between tags that carry a mark: digits of a hash over the very texts, so that no text can hold the
    tag that would close it.
    """

    def __init__(self) -> None:
        folder = resources.files("ragdrop") / "prompts"
        sources = {name: (folder / f"{name}.j2").read_text("utf-8") for name in ("system", "question")}
        environment = _Sandbox(
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
            autoescape=False,
        )
        environment.globals.clear()  # no range: what a template loops over is what it is given
        self._environment = environment
        self.version = hashlib.sha256("\0".join(sources.values()).encode()).hexdigest()[:16]
        self.system = sources["system"].strip()
        self._question = environment.from_string(sources["question"])

    def render(self, question: str, segments: Sequence[Segment]) -> list[Message]:
        """The system message and the user message that holds sources and question."""
        texts = [question, *(segment.hit.chunk.text for segment in segments)]
        user = self._question.render(mark=_mark(texts), segments=segments, question=question)
        return [Message("system", self.system), Message("user", user)]

    def problem(self, template: str) -> str | None:
        """Why *template* does not render, tried on made-up sources; None where it does."""
        try:
            made = self._environment.from_string(template)
            size = 0
            for piece in made.generate(mark="0" * MARK_DIGITS, segments=SAMPLE, question="What is this?"):
                size += len(piece)
                if size > MAX_RENDERED_CHARACTERS:
                    return f"at most {MAX_RENDERED_CHARACTERS:,} characters for two short sources"
        except jinja2.TemplateSyntaxError as exc:
            return f"line {exc.lineno}: {exc.message}"[:200]
        except (
            jinja2.TemplateError,
            TypeError,
            ValueError,
            ArithmeticError,
            LookupError,
            AttributeError,
            RecursionError,
        ) as exc:
            return f"it does not render: {exc}"[:200]
        return None


def _mark(texts: Sequence[str]) -> str:
    """Digits that stand in none of *texts*."""
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    while any(digest[:MARK_DIGITS] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:MARK_DIGITS]
