"""Ask with tables: what a table says is computed, cited by its rows, and read back."""

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from tests.world import World

COSTS = """date;item;category;amount
03.08.2026;Dog food;Dog;"1.034,50 €"
05.08.2026;Vet;Dog;80,00 €
07.08.2026;Rent;Flat;900,00 €
02.09.2026;Dog food;Dog;30,25 €
Total;;;2.044,75 €
"""


def ask(world: World, text: str) -> Answer:
    return world.app.generate.ask(Question(Query(text)), world.caller, Deadline.after(10))


def test_a_sum_is_computed_from_the_rows_that_it_cites(world: World) -> None:
    world.put("team/costs.csv", COSTS)

    answer = ask(world, "How much did the dog cost in August 2026?")

    assert answer.table is not None
    assert (answer.table.number, answer.table.cells) == ("1114.50", ("D2", "D3"))
    assert [citation.quote for citation in answer.citations] == [
        "| 03.08.2026 | Dog food | Dog | 1.034,50 € |\n| 05.08.2026 | Vet | Dog | 80,00 € |"
    ]
    assert answer.text.startswith("1114.50 EUR")
    assert [claim.status for claim in answer.claims] == ["verified"]
    assert world.chat.asked == []


def test_a_citation_of_rows_reads_back_from_the_stored_text(world: World) -> None:
    world.put("team/costs.csv", COSTS)

    [citation] = ask(world, "How much did the dog cost in August 2026?").citations

    stored = world.app.documents.document_service.text(
        world.caller, citation.hit.key, start=citation.start, end=citation.end
    )
    assert stored == citation.quote
    assert citation.hit.chunk.place_at(citation.start, citation.end) == "A2:D3"


def test_documents_of_a_vault_are_a_table(world: World) -> None:
    for name, tags, status in (("tiles", "roof, wet", "open"), ("tap", "kitchen", "open"), ("moss", "roof", "done")):
        world.put(f"home/{name}.md", f"---\ntags: [{tags}]\nstatus: {status}\n---\n# {name.title()}\nText.")

    answer = ask(world, "Which notes are tagged roof and are not done?")

    assert answer.table is not None
    assert answer.table.value == "Tiles"
    assert [citation.hit.key.path for citation in answer.citations] == ["tiles.md"]
