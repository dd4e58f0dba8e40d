"""Codes, numbers, names and quotations of a question are found as they are written, and near ones are not taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.query.exact import EXACT_RELEVANCE, exactness
from tests.unit.query.test_languages import bucket_world
from tests.world import World

THRESHOLD = 0.7
FILLER = "\n\n".join(f"Clause {n} deals with subject number {n} of the list." for n in range(200))


def hit(name: str, text: str) -> Hit:
    return Hit(DocumentKey("acme", "team", name), 1, Chunk(0, 0, len(text), text), Facts("", "v1", ""))


@pytest.mark.parametrize(
    ("question", "holding", "near"),
    [
        ("What does WRN-4471 mean?", "WRN-4471: the tray is full.", "WRN-4472, WRN-44719 and WRN-4471-C"),
        ("What does wrn-4471 mean?", "WRN\u20114471: the tray is full.", "WRN-447"),
        ("Where is BK-3301-C?", "| BK-3301-C | bay 4 |", "| BK-3301 | bay 2 | and BK-3302-C"),
        ("MB-58", "the last line holds MB-58.", "line 58"),
        ("Explain F.47", "F.47 is the fan.", "F.4 and F.471"),
        ("What does QX7731 mean?", "The code QX-7731 is red.", "QX-77310"),
        ("什么是模拟LC-34的拔除插头测试?", "模拟LC-34的测试", "模拟LC-341的测试"),
        ("What does § 9 (3) say?", "see §9(3) of the rules", "§ 9 (4) and § 93"),
        ("What is in Art. 15b?", "Article 15b covers it.", "Art. 15 covers it."),
        ("What does Article 7(1)(c) allow?", "Art. 7 (1) (c) allows it", "Art. 7 (1) (d)"),
        ("How do I call palette.mix?", "call palette.mix() first", "the palette may mix"),
        ("What is max_wait_s?", "Set max\\_wait\\_s to 3.", "max wait"),
        ("What does getRotor return?", "getRotor() returns one", "get the rotor"),
        ("Whose number is +49 40 7654321?", "Tel. 040/765 43 21", "Tel. 040/765 43 22"),
        ("Whose number is 0407654321?", "Tel. +49 (0)40 / 765 4321", "Tel. +49 40 765 43 21 5"),
        ("Which invoice is 2,480.00 EUR?", "Total: EUR 2,480.00", "Total: 12,480.00 EUR"),
        ("What costs € 35?", "A day costs 35 €.", "€ 350, and 35 litres"),
        ("What costs $1,200?", "It costs $1200.", "$12,001 and $1,200.50"),
        ("What is ISO9001:2015?", "By ISO 9001:2015 it is so.", "By ISO 9001:2008, and ISO 9001."),
        ("What does SHA-256 do?", "It takes SHA256 sums.", "SHA-2561 and SHA-2"),
        ("What happened on 2023-04-17?", "2023-04-17: the belt tore.", "2023-04-18: nothing."),
        ("Who is jo.berg@acme.example?", "Mail jo.berg@acme.example.", "Mail berg@acme.example."),
        ("Where is belt-plan.pdf?", "It is in belt-plan.pdf.", "the belt plan as pdf"),
        ("What is new in version 2.10?", "Version 2.10 is faster.", "2.1, 2.10.4 and 12.10"),
        ("What is 7443?", "It listens on 7443.", "17443 and 7443.5"),
        (
            "What is 6fa459ea-ee8a-3ca4-894e-db77e160355e?",
            "id 6fa459ea-ee8a-3ca4-894e-db77e160355e",
            "id 6fa459ea-ee8a-3ca4-894e-db77e160355f",
        ),
        ('Where stands "the quiet harbour rule"?', "By the quiet\nharbour rule nobody calls.", "The harbour is quiet."),
        ("zwerble?", "The zwerble is green.", "The green one."),
        ("Who is Nowakowska?", "Ask Nowakowska.", "Ask Nowak."),
    ],
)
def test_what_is_named_exactly_is_separated_from_what_is_near(question: str, holding: str, near: str) -> None:
    hits = [hit("holding.md", holding), hit("near.md", near)]

    assert exactness(question, hits).holders == {hits[0].chunk_id}


@pytest.mark.parametrize("question", ["MB-58", "What does MB-58 mean?", "Explain fault MB-58", "Where is MB-58?"])
def test_a_code_in_a_long_text_passes_the_threshold(world: World, question: str) -> None:
    world.put("team/long.txt", f"{FILLER}\n\nthe last line holds MB-58.\n\n{FILLER}")

    found = world.search(question, min_relevance=THRESHOLD)

    assert [document.key.path for document in found.documents] == ["long.txt"]
    assert "MB-58" in found.documents[0].chunks[0].hit.chunk.text
    assert (found.documents[0].raw_score or 0.0) >= EXACT_RELEVANCE


@pytest.mark.parametrize("others", [0, 8])
def test_a_code_is_found_whatever_other_documents_there_are(world: World, others: int) -> None:
    for number in range(others):
        world.put(f"team/other-{number}.md", f"# Fault WRN-{number}\n\nFault WRN-{number} means: restart it.")
    world.put("team/codes.md", "# List\n\n## WRN-4471\n\nThe tray is full.")

    assert world.search("What does WRN-4471 mean?", min_relevance=THRESHOLD).documents[0].key.path == "codes.md"


def test_a_document_without_the_code_never_comes_before_one_that_holds_it(world: World) -> None:
    world.put(
        "team/near.md", "# Where is the fault code?\n\nWhere is the fault code? The fault code is on the fault list."
    )
    world.put("team/row.csv", "part,name\nBK-3301-C,seal\n")

    found = world.search("Where is the fault code BK-3301-C?", min_relevance=0.0)

    assert found.documents[0].key.path == "row.csv"


def test_a_code_that_no_document_holds_is_not_answered_from_a_near_one(world: World) -> None:
    world.put("team/codes.md", "# Faults\n\nWRN-4471 means that the tray is full.")

    found = world.search("WRN-4499 means that the tray is full?", min_relevance=THRESHOLD)

    assert found.abstained
    assert "no document that was found holds WRN-4499, which the question names" in found.warnings


@pytest.mark.parametrize(("asked", "written"), [("QX7731", "QX-7731"), ("QX-7731", "QX7731"), ("QX-7731", "QX 7731")])
def test_a_code_is_found_however_it_is_joined(tmp_path: Path, asked: str, written: str) -> None:
    world = bucket_world(tmp_path)
    others = [f"team/other-{number}.md" for number in range(60)]
    for number, path in enumerate(others):
        world.put(path, f"Pump {number} has a red code on its plate, code {number}.", ingest=False)
    world.changed(*others)
    world.put("team/plate.md", f"A much longer text about something else altogether, in which {written} stands.")

    assert [one.key.path for one in world.search(f"What is {asked}?", min_relevance=THRESHOLD).documents] == [
        "plate.md"
    ]


def test_the_relevance_that_is_shown_is_the_one_that_was_compared(world: World) -> None:
    world.put("team/long.txt", f"{FILLER}\n\nthe last line holds MB-58.")

    found = world.search("MB-58", min_relevance=THRESHOLD, debug=True)

    assert found.explanation is not None
    shown = [one for one in found.explanation.candidates if one.kept]
    assert [one.relevance for one in shown] == [chunk.score for chunk in found.documents[0].chunks]
    dropped = [one for one in found.explanation.candidates if not one.kept]
    assert all(one.relevance is None or one.relevance < THRESHOLD for one in dropped)


def test_a_comparison_of_two_codes_finds_the_chunks_of_both() -> None:
    hits = [hit("a.md", "WRN-4471 is the tray."), hit("b.md", "WRN-4472 is the lid."), hit("c.md", "WRN is short.")]

    found = exactness("What is the difference between WRN-4471 and WRN-4472?", hits)

    assert found.holders == {hits[0].chunk_id, hits[1].chunk_id}


def test_of_two_codes_the_one_that_stands_somewhere_is_found_and_the_other_is_named() -> None:
    hits = [hit("a.md", "WRN-4471 is the tray."), hit("b.md", "WRN is short.")]

    found = exactness("What is the difference between WRN-4471 and WRN-4499?", hits)

    assert (found.holders, found.missing, found.lacks) == (frozenset({hits[0].chunk_id}), ("WRN-4499",), False)


def test_a_long_question_that_mentions_a_code_is_not_about_the_code_alone() -> None:
    hits = [hit("a.md", "Nothing of it.")]
    question = "Does a slow belt of the QX-7731 wear out the rear rollers when wet sand lies in the tray at night?"

    found = exactness(question, hits)

    assert (found.missing, found.lacks) == (("QX-7731",), False)


@pytest.mark.parametrize(
    "question",
    [
        "How many people live in Paris?",
        "Who won the cup in 1998?",
        "Is a 24-hour service on the top-10 list?",
        "What do users of an S3-compatible store say and/or ask, e.g. at night?",
    ],
)
def test_plain_questions_name_nothing_exactly(question: str) -> None:
    found = exactness(question, [hit("a.md", "In 1998 people of Paris had a service at night. A store is open.")])

    assert (found.holders, found.missing) == (frozenset(), ())


def test_a_sentence_without_blanks_is_no_code_because_it_holds_a_year() -> None:
    assert not exactness("1901年实现了怎样的焊接工艺?", [hit("a.md", "这种工艺在那时实现了。")]).missing
