"""Names in a text stand in for links, where a vault's settings say so."""

from __future__ import annotations

from ragdrop.ingest.index_revision import MAX_MENTIONS, mentions


def test_names_come_whole_before_their_parts_and_each_once() -> None:
    names = [link.text for link in mentions("Pump Guide and Seal Kit. Later the Pump Guide again.")]

    assert names[:2] == ["Pump Guide and Seal Kit", "Later the Pump Guide"]
    assert {"Pump Guide", "Seal Kit"} < set(names)
    assert len(names) == len(set(names))


def test_a_sentence_without_names_has_none() -> None:
    assert mentions("it is 12 or so; we do not know.") == ()


def test_front_matter_is_not_read() -> None:
    text = "title: Pump Guide\n\nthe Seal Kit"

    assert [link.text for link in mentions(text, body_start=19)] == ["Seal Kit", "Seal"]


def test_a_long_text_has_no_more_than_the_limit() -> None:
    assert len(mentions("; ".join(f"Name{number}x Part{number}" for number in range(500)))) == MAX_MENTIONS
