"""Documents of the date that a question names come first."""

from __future__ import annotations

import pytest

from ragdrop.query.fusion import dates_in
from tests.world import World


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What went wrong in January 2025?", ["2025-01"]),
        ("the outage of Jan. 2025", ["2025-01"]),
        ("the outage of 22 January 2025", ["2025-01-22"]),
        ("the outage of January 22nd, 2025", ["2025-01-22"]),
        ("2025-01-22", ["2025-01-22"]),
        ("Was geschah am 3. März 2024?", ["2024-03-03"]),
        ("May I change 2025 files?", []),
        ("port 2025-13", []),
        ("in 2025", []),
    ],
)
def test_a_date_is_read_as_people_write_it(question: str, found: list[str]) -> None:
    assert [date.iso for date in dates_in(question)] == found


def test_a_document_of_the_month_that_is_asked_for_comes_first() -> None:
    world = World()
    world.put("team/old.md", "---\ndate: 2024-09-19\n---\n# Review of the outage\n\nWhat went wrong: the disk.")
    world.put("team/new.md", "---\ndate: 2025-01-24\n---\n# Review of the outage\n\nWhat went wrong: the certificate.")

    assert [found.key.path for found in world.search("What went wrong in January 2025?").documents][:1] == ["new.md"]
    assert [found.key.path for found in world.search("What went wrong in Sept 2024?").documents][:1] == ["old.md"]


def test_a_date_in_the_name_of_a_file_counts_like_one_in_its_front_matter() -> None:
    world = World()
    for month in ("03", "04"):
        world.put(f"team/minutes-2025-{month}-12.md", "# Minutes\n\nWhat was decided: paint.")

    first, *_ = world.search("What was decided in April 2025?").documents
    assert first.key.path == "minutes-2025-04-12.md"
