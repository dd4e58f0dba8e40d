"""The assembled context, ready for a caller's own model: three headed groups, every segment with its particulars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ragdrop.domain.retrieval import FoundDocument

GROUPS = ("Critical", "Relevant", "Linked")


def context_text(
    critical: Sequence[FoundDocument], documents: Sequence[FoundDocument], linked: Sequence[FoundDocument] = ()
) -> str:
    """The documents' texts: critical first, then relevant by score, then linked by depth.

    Every segment says title, path, type, promotion level, relevance, date, linked from and character count.  An empty
    group is left out; without documents the text is empty.
    """
    by_score = sorted(documents, key=lambda one: -(one.score or 0.0))
    by_depth = sorted(linked, key=lambda one: int(getattr(one, "link_depth", 1)))
    groups = zip(GROUPS, (critical, by_score, by_depth), strict=True)
    return "\n\n".join(_group(name, members) for name, members in groups if members)


def _group(name: str, documents: Iterable[FoundDocument]) -> str:
    return "\n\n".join([f"# {name} documents", *(_segment(document) for document in documents)])


def _segment(document: FoundDocument) -> str:
    return "\n".join([f"## {_line(document.facts.title)}", *_particulars(document), "", document.text.strip("\n")])


def _particulars(document: FoundDocument) -> Iterator[str]:
    facts = document.facts
    yield f"path: {_line(document.key.vault_path)}"
    yield f"type: {_line(facts.doc_type or facts.content_type)}"
    yield f"promotion level: {facts.promotion_level}"
    yield f"relevance: {'unknown' if document.score is None else f'{document.score:.2f}'}"
    if facts.date:
        yield f"date: {facts.date}"
    linked_from = getattr(document, "linked_from", None)
    if linked_from is not None:
        yield f"linked from: {_line(str(getattr(linked_from, 'vault_path', linked_from)))}"
    yield f"characters: {len(document.text)}"


def _line(text: str) -> str:
    r"""On one line: what a document says of itself cannot make lines of its own.

    >>> _line("a\nrelevance: 1.00")
    'a relevance: 1.00'
    """
    return " ".join(text.split())
