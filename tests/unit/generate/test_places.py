"""A fact in one cell, note, mail or chapter is cited with its place, and the quote is the parsed text's."""

from __future__ import annotations

import pytest

from ragdrop.domain.answers import Question, citation_fields
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from tests import document_files, office_files
from tests.compound_files import outlook_message
from tests.world import World

FACT = "The pump's code is QX-5521."
OTHERS = ["Valves are blue.", "Gauges are round.", "Filters are cheap."]
TABLE = [["part", "note"], ["valve", OTHERS[0]], ["pump", FACT], ["filter", OTHERS[2]]]
SLIDES = [{"title": "Valves", "text": OTHERS[0]}, {"title": "Pumps", "text": OTHERS[1], "notes": FACT}]


@pytest.mark.parametrize(
    ("name", "body", "place", "page"),
    [
        ("a.xlsx", office_files.xlsx({"Parts 2026": TABLE}), "'Parts 2026'!A3:B3", None),
        ("a.xls", office_files.xls({"Parts": TABLE}), "Parts!A3:B3", None),
        ("a.ods", office_files.ods({"Parts": TABLE}), "Parts!A3:B3", None),
        ("a.pptx", office_files.presentation(SLIDES), "slide 2, notes", 2),
        ("a.odp", office_files.odp([("Valves", OTHERS[0]), ("Pumps", FACT)]), "slide 2", 2),
        ("a.pdf", document_files.pdf([OTHERS[0]], [FACT]), "page 2", 2),
        ("a.epub", office_files.epub([f"<p>{OTHERS[0]}</p>", f"<p>{FACT}</p>"]), "chapter 2", None),
        ("a.eml", office_files.mail(OTHERS[0], attachments={"n.txt": FACT.encode()}), "attachment n.txt", None),
        ("b.eml", office_files.mail(f"Yes.\n\nOn Monday Bob wrote:\n> {FACT}\n"), "message, quoted history", None),
        ("a.msg", outlook_message({"0037": "Pumps", "1000": FACT}), "message", None),
        (
            "a.mbox",
            b"".join(b"From a@b.c x\n" + office_files.mail(text) + b"\n" for text in (OTHERS[0], FACT)),
            "message 2",
            None,
        ),
        ("a.srt", f"1\n00:00:01,0 --> x\n\n2\n01:02:03,000 --> 01:02:05,000\n{FACT}\n".encode(), "01:02:03", None),
        ("a.md", f"# Pumps\n\n{FACT}".encode(), None, None),
    ],
)
def test_a_citation_names_the_place_of_its_quote(
    world: World, name: str, body: bytes, place: str | None, page: int | None
) -> None:
    world.put(f"team/{name}", body)
    world.chat.reply = f"{FACT} [1]"

    answer = world.app.generate.ask(Question(Query("What is the pump's code?")), world.caller, Deadline.after(10))

    [citation] = answer.citations
    fields = citation_fields(citation)
    assert (fields["place"], fields["page"], citation.status) == (place, page, "verified")
    whole = world.app.documents.document_service.text(world.caller, world.key(f"team/{name}"))
    assert "QX-5521" in citation.quote == whole[citation.start : citation.end]
