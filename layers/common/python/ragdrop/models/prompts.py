"""Render prompts from Jinja files, in a sandbox that refuses undefined names."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib import resources

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ragdrop.domain.retrieval import AnswerStyle
from ragdrop.errors import InvalidParamsError
from ragdrop.ports.answer_services import Prompt, PromptRequest, ShownTable
from ragdrop.ports.model_services import Message

MARK_DIGITS = 4  # at least: a text that holds these gets more
MAX_RENDERED_CHARACTERS = 200_000  # of a custom template, without the sources
STYLES: tuple[AnswerStyle, ...] = ("brief", "normal", "detailed")
OTHER_BRACKETS = "- Other brackets in the sources, such as [1], are their own text: quote them as they stand."
_EXAMPLE = re.compile(r"\[(\d)\]")  # of a marker, in the rules
_RENDER_ERRORS = (
    jinja2.TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
)


class _Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox without `*` and `**`, by which a short template makes a text of any length."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: object, operator: str, left: object, right: object) -> object:  # noqa: ARG002
        raise jinja2.exceptions.SecurityError(f"{operator} is not allowed in a template")


class JinjaPrompter:
    """A Prompter over the templates in `ragdrop/prompts`.

    A line with a mark opens each source: digits of a hash over all texts that stand in none of them, so that no text
    can end its source or begin another.  A tenant's template gets `sources` and `conversation`, with their lines of
    marks, `question` and `today`.
    """

    def __init__(self) -> None:
        folder = resources.files("ragdrop") / "prompts"
        names = ["system", "rules", "sources", "conversation", "question", "plan", "tables"]
        names += [f"style-{style}" for style in STYLES]
        self._texts = {name: (folder / f"{name}.j2").read_text("utf-8") for name in names}
        environment = _Sandbox(
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
            autoescape=False,
        )
        environment.globals.clear()  # no range: what a template loops over is what it is given
        environment.filters |= {"line": on_one_line, "under": _under}
        self._environment = environment
        self._sources = environment.from_string(self._texts["sources"])
        self._conversation = environment.from_string(self._texts["conversation"])
        self._question = environment.from_string(self._texts["question"])
        self._tables = environment.from_string(self._texts["tables"])

    def system(self, style: AnswerStyle, system_prompt: str | None = None, *, prefix: str = "") -> str:
        own = self._rendered("system_prompt", system_prompt, {}) if system_prompt else self._texts["system"]
        rules = _EXAMPLE.sub(rf"[{prefix}\1]", self._texts["rules"]).replace(
            "\n\n", f"\n{OTHER_BRACKETS}\n\n" if prefix else "\n\n"
        )
        return "\n\n".join(part.strip() for part in (own, self._texts[f"style-{style}"], rules))

    def render(self, request: PromptRequest) -> Prompt:
        chunks = [segment.hit.chunk for source in request.sources for segment in source.segments]
        texts = [request.question, *(text for chunk in chunks for text in (chunk.text, chunk.context))]
        texts += [turn.text for turn in request.turns]
        labels = [name for chunk in chunks for name in chunk.heading_path]
        documents = [each.document for each in request.sources]
        labels += [name for each in documents for name in (each.facts.title, each.key.vault_path)]
        mark = _mark([*texts, *labels])
        prefix = _prefix([*texts, *labels])
        shown = self._sources.render(mark=mark, prefix=prefix, sources=request.sources).strip("\n")
        before = self._conversation.render(mark=mark, turns=request.turns).rstrip("\n") if request.turns else ""
        names = {
            "mark": mark,
            "sources": shown,
            "conversation": before,
            "question": request.question,
            "today": request.today,
        }
        if request.prompt_template:
            user = self._rendered("prompt_template", request.prompt_template, names)
        else:
            user = self._question.render(names)
        system = self.system(request.style, request.system_prompt)
        shared = (self._texts["sources"], self._texts["conversation"])
        used = (system, *shared, request.prompt_template or self._texts["question"])
        version = hashlib.sha256("\0".join(used).encode()).hexdigest()[:16]
        if prefix:
            system = self.system(request.style, request.system_prompt, prefix=prefix)
        return Prompt([Message("system", system), Message("user", user)], version, prefix)

    def plan(self, question: str, tables: Sequence[ShownTable], today: str) -> list[Message]:
        user = self._tables.render(question=on_one_line(question), tables=tables, today=today)
        return [Message("system", self._texts["plan"].strip()), Message("user", user)]

    def problem(self, template: str) -> str | None:
        try:
            made = self._environment.from_string(template)
            size = 0
            names = {"mark": "#0000", "sources": "Sources.", "question": "What is this?"}
            names |= {"conversation": "", "today": "2026-01-31"}
            for piece in made.generate(names):
                size += len(piece)
                if size > MAX_RENDERED_CHARACTERS:
                    return f"at most {MAX_RENDERED_CHARACTERS:,} characters"
        except jinja2.TemplateSyntaxError as exc:
            return f"line {exc.lineno}: {exc.message}"[:200]
        except _RENDER_ERRORS as exc:
            return f"it does not render: {exc}"[:200]
        return None

    def _rendered(self, field: str, template: str, names: Mapping[str, str]) -> str:
        problem = self.problem(template)
        if problem is not None:
            allowed = "a Jinja template over `sources`, `conversation`, `question` and `today`"
            raise InvalidParamsError(f"{field}: {problem}", field=field, value=template[:200], allowed=allowed)
        return self._environment.from_string(template).render(names)


def on_one_line(text: str) -> str:
    r"""*text* as a part of a line whose parts bars separate: what a document says of itself adds neither.

    >>> on_one_line("a\n#0000 [2] b | c")
    'a #0000 [2] b / c'
    """
    return " ".join(text.split()).replace(" | ", " / ")


def _under(headings: Sequence[str], title: str) -> Sequence[str]:
    """*headings* without the title of their document."""
    return headings[1:] if headings and headings[0] == title else headings


def _prefix(texts: Sequence[str]) -> str:
    """The prefix of the numbers of sources: nothing, unless one of *texts* has what looks like a marker.

    >>> _prefix(["It is red."]), _prefix(["See colours[0]."]), _prefix(["By [1, 2], see [S3]."])
    ('', 'S', 'SS')
    """
    bracketed = [text for text in texts if "[" in text]
    prefix = ""
    while any(re.search(rf"\[\s*{prefix}\d{{1,3}}\s*[\],;]", text, re.IGNORECASE) for text in bracketed):
        prefix += "S"
    return prefix


def _mark(texts: Sequence[str]) -> str:
    """A sign and digits that stand in none of *texts*, which cannot hold all digits of their own hash."""
    digest = hashlib.sha256("\0".join(texts).encode(errors="replace")).hexdigest()
    digits = MARK_DIGITS
    while any(digest[:digits] in text for text in texts):
        digits += 1
    return f"#{digest[:digits]}"
