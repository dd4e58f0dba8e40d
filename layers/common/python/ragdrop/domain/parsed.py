"""A document as its parser understood it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, Literal

from ragdrop.domain.documents import ContentType

Syntax = Literal["markdown", "text"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level (1 to 6), its text, and where its line starts in the parsed text."""

    level: int
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Text and structure.

    Args:
        text: The parsed text; offsets count its code points.
        syntax: How the splitter should read it.
        media_type: What the parser found it to be, such as `text/markdown`.
        body_start: Where the body starts: text before it (front matter) is not chunked.
        headings: In order of their position.
        metadata: What the document says of itself, as written (front matter).
        content_type: Which chunking suits it.
        links: Link targets as written, in order, each once.
        warnings: What was wrong but did not prevent reading.
    """

    text: str
    syntax: Syntax
    media_type: str
    body_start: int = 0
    headings: tuple[Heading, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    content_type: ContentType = "documentation"
    links: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def heading_path(self, start: int) -> tuple[str, ...]:
        r"""The headings in force at *start*, outermost first.

        >>> document = ParsedDocument("# A\n## B\nx", "markdown", "text/markdown",
        ...     headings=(Heading(1, "A", 0), Heading(2, "B", 4)))
        >>> document.heading_path(9), document.heading_path(0)
        (('A', 'B'), ('A',))
        """
        path: list[Heading] = []
        for heading in self.headings[: bisect_right([heading.start for heading in self.headings], start)]:
            while path and path[-1].level >= heading.level:
                path.pop()
            path.append(heading)
        return tuple(heading.text for heading in path)
