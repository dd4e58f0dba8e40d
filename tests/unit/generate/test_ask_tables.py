"""Ask with tables: what a table says is computed, cited by its rows, and read back."""

import json

import pytest

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller, RateLimits
from ragdrop.errors import GenerationError, RateLimitedError
from ragdrop.tenants.limits import USED_TTL_S
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


def test_a_table_that_the_caller_may_not_read_answers_nothing(world: World) -> None:
    world.put("team/.ragdrop.json", '{"access": [{"path": "hr/**", "groups": ["hr"]}]}')
    world.put("team/hr/costs.csv", COSTS)
    world.put("team/hr/tiles.md", "---\ntags: [roof]\n---\n# Tiles\nText.")
    question = Question(Query("How much did the dog cost in August 2026?"))
    listed = Question(Query("Which notes are tagged roof?"))

    def asked(caller: Caller) -> list[bool]:
        asks = world.app.generate.ask
        return [asks(each, caller, Deadline.after(10)).table is not None for each in (question, listed)]

    assert asked(Caller(world.tenant, "reader", groups=("hr",))) == [True, True]
    assert asked(Caller(world.tenant, "reader")) == [False, False]


def test_a_question_as_of_a_moment_reads_the_tables_of_then(world: World) -> None:
    world.put("team/costs.csv", COSTS)
    then = rfc3339(world.now_s)
    world.now_s += 3_600
    world.put("team/costs.csv", COSTS.replace("80,00", "90,00"))
    text = "How much did the vet cost?"

    now = ask(world, text).table
    before = world.app.generate.ask(Question(Query(text, as_of=then)), world.caller, Deadline.after(10)).table

    assert (now and now.value, before and before.value) == ("90.00 EUR", "80.00 EUR")


def test_a_streamed_answer_of_a_table_is_text_and_citations_before_the_whole(world: World) -> None:
    world.put("team/costs.csv", COSTS)
    asked = Question(Query("How much did the vet cost?"))

    _, text, citation, _, answer = world.app.generate.ask.stream(asked, world.caller, Deadline.after(10))

    assert isinstance(answer, Answer)
    assert text == answer.text
    assert [citation] == answer.citations


def test_tables_are_read_once_and_so_is_that_there_are_none(world: World) -> None:
    world.put("team/costs.csv", COSTS)
    world.put("team/pump.md", "The cost of the pump is low.")
    ask(world, "How much did the vet cost?")
    reads: list[str] = []
    get = world.state.get

    def noted(name: str, **span: int) -> bytes | None:
        reads.append(name)
        found: bytes | None = get(name, **span)
        return found

    world.state.get = noted

    ask(world, "How much did the vet cost?")

    assert [name for name in reads if name.endswith("/tables")] == []


@pytest.mark.parametrize("text", ["How much did the cat cost in August?", "How much did the dog cost in August 2025?"])
def test_rows_are_not_quoted_for_an_answer_that_no_table_gives(world: World, text: str) -> None:
    world.put("team/costs.csv", COSTS)
    world.chat.reply = "| 05.08.2026 | Vet | Dog | 80,00 € | [1]"

    answer = ask(world, text)

    assert answer.abstain_reason == "insufficient_information"
    assert "costs.csv" in answer.warnings[0]


BOILER = """# Boiler

The boiler is in the cellar.

| code | meaning | what to do |
|---|---|---|
| E-104 | no water | fill up |
| E-119 | the fan is stuck | call Mr Hollander |
"""


def test_a_row_is_quoted_that_has_the_code_of_the_question(world: World) -> None:
    world.put("team/boiler.md", BOILER)
    world.chat.reply = "| E-119 | the fan is stuck | call Mr Hollander | [1]"

    answer = ask(world, "What do I do when the boiler shows E-119?")

    assert (answer.abstain_reason, answer.table) == (None, None)
    assert "Mr Hollander" in answer.text


CLUBS = """# Clubs

| club | day | cost |
|---|---|---|
| chess | Mon | free |
| football | Wed | £36 term |
"""


def test_a_row_is_quoted_that_has_with_the_header_all_words_of_the_question(world: World) -> None:
    world.put("team/clubs.md", CLUBS)
    world.chat.reply = "| football | Wed | £36 term | [1]"

    assert ask(world, "How much is the football club?").text == world.chat.reply
    assert ask(world, "How much is the football shirt?").abstain_reason == "insufficient_information"


def test_a_line_beside_the_rows_is_quoted_that_has_the_words_of_the_question(world: World) -> None:
    world.put("team/clubs.md", f"{CLUBS.replace('free', '£10').replace(' term', '')}Teachers pay half.")
    world.chat.reply = "Teachers pay half. [1]"

    assert ask(world, "How much is it for a teacher?").text == world.chat.reply


def test_a_cell_that_the_question_names_is_no_answer(world: World) -> None:
    world.put("team/boiler.md", BOILER)
    world.chat.reply = "| E-119 | the fan is stuck | call Mr Hollander | [1]"

    assert ask(world, "boiler E-119").table is None


PUPPY = "How much did the puppy cost in August 2026?"
PLAN = {
    "table": 1,
    "operation": "sum",
    "column": "amount",
    "where": [{"column": "category", "is": ["Dog"]}, {"column": "date", "from": "2026-08-01", "to": "2026-08-31"}],
    "words": {"puppy": "Dog"},
}


def test_a_model_may_plan_what_no_words_of_the_table_say_and_the_number_is_computed(world: World) -> None:
    world.put("team/costs.csv", COSTS)
    world.chat.reply = f"```json\n{json.dumps(PLAN)}\n```"

    answer = ask(world, PUPPY)

    assert answer.table is not None
    assert (answer.table.number, answer.table.planned_by) == ("1114.50", "scripted")
    assert "as planned by scripted: sum(amount)" in answer.text
    assert [(claim.status, claim.reason) for claim in answer.claims] == [("supported", "meaning")]
    assert answer.citations[0].quote.startswith("| 03.08.2026 | Dog food | Dog |")
    assert answer.prompt_tokens


@pytest.mark.parametrize(
    "more",
    [
        {"table": None},
        {"table": 7},
        {"operation": "median of sums"},
        {"column": "price"},
        {"column": "category"},
        {"where": [{"column": "category", "is": ["Puppy"]}, PLAN["where"][1]]},  # type: ignore[index]
        {"where": [{"column": "category", "is": ["Dog"]}]},
        {"where": [PLAN["where"][0], {"column": "date", "from": "2026-09-01", "to": "2026-09-30"}]},  # type: ignore[index]
        {"where": [PLAN["where"][1]]},  # type: ignore[index]
        {"where": "category = Dog"},
        {"words": {}},
        {"words": {"puppy": "Cat"}},
        {"words": None},
        {"first": -1},
        {"by": "month"},
    ],
)
def test_a_plan_that_is_wrong_or_leaves_something_out_is_refused(world: World, more: dict[str, object]) -> None:
    world.put("team/costs.csv", COSTS)
    world.chat.reply = json.dumps(PLAN | more)

    answer = ask(world, PUPPY)

    assert answer.abstain_reason == "insufficient_information"
    assert answer.table is None
    assert len(world.chat.asked) == 1


@pytest.mark.parametrize("said", ["It was 1114.50 EUR [1].", "{", "[]", '{"table": true}'])
def test_a_model_that_writes_no_plan_answers_nothing(world: World, said: str) -> None:
    world.put("team/costs.csv", COSTS)
    world.chat.reply = said

    assert ask(world, PUPPY).abstain_reason == "insufficient_information"


def test_a_model_that_does_not_answer_leaves_the_abstention(world: World) -> None:
    world.put("team/costs.csv", COSTS)
    world.chat.fail_with = GenerationError("broken", service="chat", reason="broken_off")

    assert ask(world, PUPPY).abstain_reason == "insufficient_information"


def test_a_year_that_is_not_in_the_table_is_refused_whatever_the_model_plans(world: World) -> None:
    world.put("team/costs.csv", COSTS)
    world.chat.reply = json.dumps(PLAN)

    assert ask(world, "How much did the puppy cost in August 2025?").abstain_reason == "insufficient_information"


def test_the_model_sees_columns_values_and_the_question_and_no_more_of_the_rows(world: World) -> None:
    world.put("team/costs.csv", COSTS)

    ask(world, PUPPY)

    [[rules, shown]] = world.chat.asked
    assert rules.role == "system"
    assert '- "category": text, values ["Dog", "Flat"]\n- "amount": amount in EUR' in shown.content
    assert shown.content.endswith(f"Question: {PUPPY}")
    assert "1.034,50" not in shown.content


def test_the_extractive_answerer_is_no_model_that_plans(world: World) -> None:
    extractive = World(settings={"CHAT_MODELS": "ragdrop-extractive"})
    extractive.put("team/costs.csv", COSTS)
    extractive.chat.reply = json.dumps(PLAN)

    assert ask(extractive, PUPPY).table is None
    assert extractive.chat.asked == []


def test_a_plan_of_a_model_is_counted_like_every_call(world: World) -> None:
    world.app.operate.operator.set_rates(world.tenant, RateLimits(daily_tokens=1))
    world.app.tenants.directory.forget(world.tenant)
    world.put("team/costs.csv", COSTS)
    world.chat.reply = json.dumps(PLAN)
    ask(world, PUPPY)
    world.now_s += USED_TTL_S

    with pytest.raises(RateLimitedError):
        ask(world, PUPPY)


def test_german_questions_over_notes_need_no_word_for_notes(world: World) -> None:
    for name, tags, status, cost in (("Amrum", "insel", "erledigt", 1350), ("Weimar", "stadt", "geplant", 400)):
        world.put(
            f"home/{name.lower()}.md", f"---\ntags: [{tags}]\nstatus: {status}\nkosten: {cost}\n---\n# {name}\nText."
        )

    asked = ("Welche Reisen sind geplant?", "Was kostet Amrum?", "Kosten aller erledigten Reisen")
    found = [ask(world, each).table for each in asked]

    assert [each and each.value for each in found] == ["Weimar", "1350", "1350"]


def test_what_notes_do_not_state_is_refused(world: World) -> None:
    world.put("home/amrum.md", "---\ntags: [insel]\nstatus: geplant\n---\n# Amrum\nText.")

    asked = ("Welches Hotel haben wir auf Amrum?", "Was kostet Amrum?", "Wie viele Betten hat Amrum?")

    assert [ask(world, each).table for each in asked] == [None, None, None]


@pytest.mark.parametrize(
    "question", ["What flour does the cake need?", "What is the notice of the flat?", "Which pan is for the cake?"]
)
def test_a_tag_that_a_question_shares_with_a_note_makes_the_note_no_answer(world: World, question: str) -> None:
    for name, tags in (("Plum cake", "cake, baking"), ("Lease", "flat, contract"), ("Lasagne", "dinner, vegetarian")):
        world.put(f"home/{name.lower()}.md", f"---\ntags: [{tags}]\n---\n# {name}\nText.")

    assert ask(world, question).table is None


def test_notes_are_listed_by_tags_that_hold_all_words_of_a_question(world: World) -> None:
    for name, tags in (("Plum cake", "cake, baking"), ("Lasagne", "dinner, vegetarian"), ("Roast", "dinner, beef")):
        world.put(f"home/{name.lower()}.md", f"---\ntags: [{tags}]\n---\n# {name}\nText.")

    found = ask(world, "Which dinners are vegetarian?").table

    assert found
    assert found.value == "Lasagne"
