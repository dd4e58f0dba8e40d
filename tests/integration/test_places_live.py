"""A question whose answer is in one cell, slide note, mail, chapter or cue of a file, through the whole stack.

The citation names the document and the place, and the text of its version has the quote where the citation says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import document_files, office_files
from tests.compound_files import outlook_message
from tests.integration.commands import Tenant
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

VAULT = "places"
HEADER: Any = ["machine", "label"]


def fact(thing: str, word: str) -> str:
    return f"The label of the {thing} reads {word}."


def rows(thing: str, word: str) -> list[Any]:
    """A table whose last row has the word in its second cell."""
    return [HEADER, [f"The yellow spare {thing}", "Quince-1"], [f"The label of the {thing}", word]]


def mailbox(*texts: str) -> bytes:
    mails = [office_files.mail(f"{text}\n", subject=f"Mail {number}") for number, text in enumerate(texts, start=1)]
    return b"".join(b"From ann@example.com Fri May  1 10:00:00 2026\n" + mail + b"\n" for mail in mails)


def cues(head: str, comma: str, text: str) -> bytes:
    times = [f"00:00:01{comma}000 --> 00:00:03{comma}000", f"00:01:05{comma}000 --> 00:01:09{comma}000"]
    return f"{head}1\n{times[0]}\nGood morning to the hall.\n\n2\n{times[1]}\n{text}\n".encode()


def deck(text: str) -> list[dict[str, str]]:
    slides = [{"title": f"Hall {number}", "text": "It was swept."} for number in range(1, 5)]
    slides[3]["notes"] = text
    return slides


WORKBOOK = office_files.xlsx({"Budget": rows("gravel sieve", "Tamarind-13")})
CHAPTERS = ["<h1>Care</h1><p>Oil it.</p>", "<h1>Parts</h1><p>A seal.</p>"]
FILES: dict[str, tuple[bytes, str, str, str | None]] = {
    # the file, what is asked for, the word that answers, the place
    "a.md": (f"# Cranes\n\n{fact('harbour crane', 'Aniseed-1')}\n".encode(), "harbour crane", "Aniseed-1", None),
    "a.txt": (fact("brass kettle", "Bergamot-2").encode(), "brass kettle", "Bergamot-2", None),
    "a.html": (f"<html><h1>Looms</h1><p>{fact('silk loom', 'Cardamom-3')}</html>".encode(), "silk loom", "Cardamom-3",
               None),
    "a.pdf": (document_files.pdf(["The hall."], ["The yard."], [fact("steam hammer", "Damson-4")]), "steam hammer",
              "Damson-4", "page 3"),
    "a.docx": (document_files.docx(document_files.paragraph(fact("glass furnace", "Elder-5"))), "glass furnace",
               "Elder-5", None),
    "a.xlsx": (office_files.xlsx({"Parts": [HEADER, ["seal", "none"]], "Budget": rows("paper mill", "Fennel-6")}),
               "paper mill", "Fennel-6", "Budget!A3:B3"),
    "a.xls": (office_files.xls({"Stock": rows("copper still", "Ginger-7")}), "copper still", "Ginger-7",
              "Stock!A3:B3"),
    "a.ods": (office_files.ods({"Old stock": rows("potter wheel", "Hyssop-8")}), "potter wheel", "Hyssop-8",
              "'Old stock'!A3:B3"),
    "a.pptx": (office_files.presentation(deck(fact("grain dryer", "Juniper-9"))), "grain dryer", "Juniper-9",
               "slide 4, notes"),
    "a.odp": (office_files.odp([("Hall", "It was swept."), ("Yard", fact("hemp press", "Kumquat-10"))]), "hemp press",
              "Kumquat-10", "slide 2"),
    "a.odt": (office_files.odt({"Bells": [fact("church bell", "Lovage-11")]}), "church bell", "Lovage-11", None),
    "a.rtf": (rb"{\rtf1\ansi " + fact("wine barrel", "Myrtle-12").encode() + rb"\par}", "wine barrel", "Myrtle-12",
              None),
    "b.eml": (office_files.mail("See below.\n", attachments={"a.xlsx": WORKBOOK}), "gravel sieve", "Tamarind-13",
              "attachment a.xlsx: Budget!A3:B3"),
    "a.eml": (office_files.mail(f"{fact('rope winch', 'Nutmeg-14')}\n"), "rope winch", "Nutmeg-14", "message"),
    "a.mbox": (mailbox("Good morning.", "Good night.", fact("tin lantern", "Oregano-15")), "tin lantern", "Oregano-15",
               "message 3"),
    "a.msg": (outlook_message({"0037": "Saws", "1000": fact("band saw", "Parsley-16")}), "band saw", "Parsley-16",
              "message"),
    "a.epub": (office_files.epub([*CHAPTERS, f"<h1>Clocks</h1><p>{fact('tower clock', 'Rosemary-17')}</p>"]),
               "tower clock", "Rosemary-17", "chapter 3"),
    "a.vtt": (cues("WEBVTT\n\n", ".", fact("diving bell", "Sorrel-18")), "diving bell", "Sorrel-18", "00:01:05"),
    "a.srt": (cues("", ",", fact("rail trolley", "Thyme-19")), "rail trolley", "Thyme-19", "00:01:05"),
    "a.py": (f'def weigh() -> str:\n    # {fact("coin scale", "Verbena-20")}\n    return "x"\n'.encode(), "coin scale",
             "Verbena-20", None),
    "a.json": (json.dumps({"mast": {"note": fact("radio mast", "Woodruff-21")}}).encode(), "radio mast", "Woodruff-21",
               None),
    "a.jsonl": (f'{{"note": "Good morning."}}\n{{"note": "{fact("tide gauge", "Yarrow-22")}"}}\n'.encode(),
                "tide gauge", "Yarrow-22", None),
    "a.csv": ("".join(f"{','.join(map(str, row))}\n" for row in rows("ice auger", "Zedoary-23")).encode(), "ice auger",
              "Zedoary-23", "A3:B3"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tenant(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Tenant:
    """A tenant whose vault has all files, pushed by the command, which waits until they are indexed."""
    folder = tmp_path_factory.mktemp("files")
    for name, (body, *_) in FILES.items():
        (folder / name).write_bytes(body)
    tenant = Tenant.created(stack, "places")
    pushed = tenant.ragdrop("push", str(folder), "--vault", VAULT, "--wait", timeout_s=300)
    assert pushed.returncode == 0, pushed.stdout + pushed.stderr
    return tenant


@pytest.mark.parametrize("name", FILES)
def test_the_answer_is_cited_from_its_document_and_place_and_the_citation_reads_back(tenant: Tenant, name: str) -> None:
    _, thing, word, place = FILES[name]

    asked = tenant.ragdrop("ask", f"What does the label of the {thing} read?", "--vault", VAULT, "--json")

    assert asked.returncode == 0, asked.stdout + asked.stderr
    answer = json.loads(asked.stdout)
    [citation] = [each for each in answer["citations"] if word in each["quote"]]
    assert word in answer["answer"]
    assert (Path(citation["key"]).name, citation["place"], citation["status"]) == (name, place, "verified")
    span, version = f"{citation['start']}-{citation['end']}", citation["version_id"]
    assert tenant.get(f"/documents/{VAULT}/{name}", span=span, version=version)["text"] == citation["quote"]
