"""Which links of a level are considered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link
from ragdrop.query.follow_links import MAX_TARGETS, targets_of


def test_links_behind_the_hundredth_are_not_even_looked_at() -> None:
    source = DocumentKey("acme", "team", "a.md")
    looked_at = []

    def pages() -> Iterator[tuple[DocumentKey, Sequence[Link]]]:
        for page in range(5):
            looked_at.append(page)
            yield source, [Link(f"{page}-{number}.md") for number in range(60)]

    targets = targets_of(pages(), across_vaults=False)

    assert [target.link.target for target in targets][-1] == "1-39.md"
    assert (len(targets), looked_at) == (MAX_TARGETS, [0, 1])


def test_links_that_lead_nowhere_do_not_count() -> None:
    source = DocumentKey("acme", "team", "a.md")
    links = [Link(f"https://example.com/{number}") for number in range(200)] + [Link("b.md")]

    assert [target.link.target for target in targets_of([(source, links)], across_vaults=False)] == ["b.md"]
