"""docs/prompts.md: prompts of five situations as the code renders them, with the tokens that a tokenizer counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from pages.wrap import table
from ragdrop.domain.answers import Group, Segment, Source, Turn
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts, PromotionLevel
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import FoundDocument
from ragdrop.domain.tokens import estimate_tokens
from ragdrop.generate.prompt import shown_turns
from ragdrop.models.prompts import JinjaPrompter
from ragdrop.ports.answer_services import Prompt, PromptRequest

VAULT = Path(__file__).resolve().parents[1] / "localstack/sample-vault"
TODAY = "2026-01-31"
SEARCH = (
    ("incidents/2025-06-05-slow-search.md", "What happened"),
    ("incidents/2025-06-05-slow-search.md", "Why"),
    ("reference/monitoring.md", ""),
    ("decisions/0007-search-beside-the-database.md", ""),
    ("reference/api-limits.md", ""),
    ("reference/capacity.md", ""),
    ("runbooks/database-failover.md", ""),
    ("incidents/2025-01-22-expired-certificate.md", ""),
)


@dataclass(frozen=True)
class Situation:
    """A prompt to show: what it is for, and how many tokens a tokenizer counts in it and in its envelope.

    The envelope is all of the user's message but the texts of sources, the question and what was said before.
    """

    title: str
    why: str
    request: PromptRequest
    tokens: int
    envelope: int

    @property
    def prompt(self) -> Prompt:
        """The messages."""
        return JinjaPrompter().render(self.request)

    @property
    def texts(self) -> list[str]:
        """What the envelope is around."""
        segments = [segment for source in self.request.sources for segment in source.segments]
        chunks = [text for each in segments for text in (each.hit.chunk.context, each.text)]
        return [*chunks, self.request.question, *(turn.text for turn in self.request.turns)]


def _sources(*sections: tuple[str, str]) -> tuple[Source, ...]:
    """Sections of the sample vault as they are found; of one file they are one source after another."""
    found: list[Source] = []
    for number, (path, heading) in enumerate(sections, start=1):
        text = (VAULT / path).read_text("utf-8")
        fields = {"title": text.partition("# ")[2].partition("\n")[0]} | dict(
            re.findall(r'^(title|promotion_level|date): "?(.*?)"?$', text, re.MULTILINE)
        )
        body = text.split("\n---\n", 1)[-1]
        part = body.partition(f"\n## {heading}\n")[2] if heading else body.partition("\n## ")[2].partition("\n")[2]
        name = heading or body.partition("\n## ")[2].partition("\n")[0]
        part = part.partition("\n## ")[0].strip()
        level: PromotionLevel = "critical" if fields.get("promotion_level") == "critical" else "standard"
        facts = Facts(fields["title"], "v1", "2026-01-01T00:00:00Z", promotion_level=level, date=fields.get("date"))
        key = DocumentKey("acme", "sample", path)
        hit = Hit(key, 1, Chunk(number, 0, len(part), part, (fields["title"], name)), facts)
        document = FoundDocument(key, 1, facts, 0.8, 0.8, (), "", 0, 0)
        group: Group = "critical" if level == "critical" else "relevant"
        if found and found[-1].document.key == key:
            found[-1] = replace(found[-1], segments=(*found[-1].segments, Segment(number, hit)))
        else:
            found.append(Source(document, group, (Segment(number, hit),)))
    return tuple(found)


TURNS = (
    Turn("user", "When were searches slow in June 2025?"),
    Turn("assistant", "On 5 June 2025 from 09:31 to 11:04 UTC [1]."),
    Turn("user", "and why?"),
)
ONE = PromptRequest("Why were searches slow on 5 June 2025?", _sources(*SEARCH), today=TODAY)
SITUATIONS = (
    Situation(
        "One question",
        "Eight sources of seven documents, as a question of the sample vault finds them.",
        ONE,
        1325,
        310,
    ),
    Situation(
        "A follow-up",
        'The user said "and why?". The question is the one that was searched; the last turns stand behind the sources.',
        replace(
            ONE,
            question="Why were searches slow in June 2025?",
            sources=_sources(*SEARCH[:4]),
            turns=shown_turns(TURNS),
        ),
        827,
        212,
    ),
    Situation(
        "A critical document",
        "Critical documents come first, whatever the question.",
        replace(
            ONE,
            question="May I restart the database to end a slow search?",
            sources=_sources(("team/ground-rules.md", ""), *SEARCH[:3]),
        ),
        713,
        167,
    ),
    Situation(
        "A partial answer",
        "The sources say why, and not what it cost. The rules ask for a last sentence that ends with `[missing]`.",
        replace(
            ONE,
            question="Why were searches slow on 5 June 2025, and what did it cost us?",
            sources=_sources(*SEARCH[:3]),
        ),
        684,
        132,
    ),
    Situation(
        "Another language",
        "The sources are in English, the answer is to be in German.",
        replace(ONE, question="Warum war die Suche am 5. Juni 2025 langsam?", sources=_sources(*SEARCH[:3])),
        695,
        144,
    ),
)


def figures() -> str:
    """A row a situation."""
    rows = [["situation", "sources", "tokens", "of them envelope", "share", "the bound"]]
    for each in SITUATIONS:
        sources = sum(len(source.segments) for source in each.request.sources)
        bound = sum(estimate_tokens(message.content) for message in each.prompt.messages)
        share = f"{each.envelope / each.tokens:.0%}"
        rows.append([each.title, str(sources), f"{each.tokens:,}", str(each.envelope), share, f"{bound:,}"])
    return table(rows)


def system() -> str:
    """The system message of the style `normal`."""
    return _fenced(JinjaPrompter().system("normal"))


def messages() -> str:
    """The user's message of each situation."""
    return "\n\n".join(
        f"### {each.title}\n\n{each.why}\n\n{_fenced(each.prompt.messages[1].content)}" for each in SITUATIONS
    )


def _fenced(text: str) -> str:
    return f"```text\n{text.strip()}\n```"
