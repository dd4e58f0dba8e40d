"""The answerer quotes the sentence that answers, and abstains where none does."""

from __future__ import annotations

from collections.abc import Sequence

from ragdrop.models.answerer import INSUFFICIENT, quoted_answer
from ragdrop.models.extraction import MAX_SENTENCES, pick_quotes
from ragdrop.models.sources import ShownSource, Task
from ragdrop.ports.model_services import Reading

PUMP = ShownSource(
    1, "Pump", "Pump > Ports", "The pump was painted green. It listens on port 8443.\nIt was made in Ulm in 1987."
)
VALVE = ShownSource(2, "Valve", "", "The valve listens on port 9090. Anna Reed built the valve.")


def ask(question: str, *sources: ShownSource) -> list[str]:
    return [quote.text for quote in pick_quotes(Task(question, sources or (PUMP, VALVE)))]


def test_the_sentence_that_answers_is_quoted_word_for_word() -> None:
    assert ask("Which port does the valve listen on?")[0] == "The valve listens on port 9090."


def test_the_title_of_a_source_shows_what_its_sentences_are_about() -> None:
    assert ask("Which port does the pump listen on?")[0] == "It listens on port 8443."


def test_a_question_for_a_person_prefers_a_sentence_with_a_name() -> None:
    assert ask("Who built the valve?")[0] == "Anna Reed built the valve."


def test_nothing_is_quoted_where_the_sources_do_not_say_it() -> None:
    assert ask("How many users does the moon office in Paris have?") == []
    assert ask("the of and?") == []
    assert pick_quotes(Task("Which port?", ())) == []


def test_at_most_three_sentences_are_quoted_and_none_twice() -> None:
    sources = [ShownSource(n, "Ports", "", f"The port of pump {n % 4} is 80{n % 4}.") for n in range(1, 9)]

    found = ask("What is the port of the pump?", *sources)

    assert 1 <= len(found) <= MAX_SENTENCES
    assert len(set(found)) == len(found)


def test_similarity_lifts_a_sentence_that_shares_no_words_with_the_question() -> None:
    def near(_: str, sentences: Sequence[str]) -> list[float]:
        return [1.0 if "Ulm" in sentence else 0.0 for sentence in sentences]

    quotes = pick_quotes(Task("Where was the pump manufactured?", (PUMP,)), near)

    assert quotes[0].text == "It was made in Ulm in 1987."


def test_which_row_of_a_table_answers_is_not_for_the_reader_to_say() -> None:
    rows = "| thing | label |\n|---|---|\n| The yellow spare mill | Quince-1 |\n| The label of the mill | Fennel-6 |"
    source = ShownSource(1, "Budget", "Budget", rows)

    def reads_the_first_row(question: str, passages: Sequence[str]) -> list[Reading]:
        at = [text.find("Quince-1") for text in passages]
        return [
            Reading(0.9, 0.9 if each >= 0 else 0.1, 0.0, 0.0, (each, each + 8) if each >= 0 else None) for each in at
        ]

    task = Task("What does the label of the mill read?", (source,))
    found = pick_quotes(task, lambda _, passages: [0.5] * len(passages), reads_the_first_row)

    assert [quote.text for quote in found] == ["| thing | label |", "| The label of the mill | Fennel-6 |"]


KEYS = ShownSource(1, "Keys", "Keys", "The key of the shed is with Ida. Ask before noon. The house is next door.")
GATE = ShownSource(2, "Gate", "Gate", "The gate is green. It opens at 7. Its key is with Bo. Mondays are best.")


def reads_keys_and_gate(question: str, passages: Sequence[str]) -> list[Reading]:
    answers = [(text, "Ida" if "Ida" in text else "with Bo") for text in passages]
    spans = [(text.find(answer), text.find(answer) + len(answer)) for text, answer in answers]
    return [Reading(0.9, 0.9, 0.0, 0.0, span if span[0] >= 0 else None) for span in spans]


def quoted_with(cosine_of_the_gate: float) -> list[str]:
    def near(_: str, passages: Sequence[str]) -> list[float]:
        return [cosine_of_the_gate if text.startswith("Gate") else 0.8 for text in passages]

    return [quote.text for quote in pick_quotes(Task("Who has a key?", (KEYS, GATE)), near, reads_keys_and_gate)]


def test_a_second_passage_that_is_less_good_is_quoted_from_where_the_reader_sees_the_answer() -> None:
    assert quoted_with(0.7) == ["The key of the shed is with Ida.", "Its key is with Bo."]


def test_a_second_passage_that_is_far_behind_is_not_quoted() -> None:
    assert quoted_with(0.3) == ["The key of the shed is with Ida."]


def test_words_decide_where_the_embedding_cannot_say() -> None:
    quotes = pick_quotes(Task("Which port does the valve listen on?", (PUMP, VALVE)), lambda _, __: None)

    assert quotes[0].number == 2


def prompt(question: str, text: str, number: str = "4") -> str:
    return (
        'Sources up to the line "#0a1b end".\n'
        f"#0a1b [{number}] v/p.md | Pump\n{text}\n#0a1b end\n\nToday is 2026-01-31.\nQuestion: {question}"
    )


def test_the_answer_carries_the_marker_of_the_source_and_says_that_it_is_extractive() -> None:
    text = "The pump's code is\nQX-5521. It is blue."

    assert (
        quoted_answer(prompt("What is the code of the pump?", text))
        == "The pump's code is\nQX-5521. [4] It is blue. [4]"
    )


def test_the_answer_is_the_bare_sentinel_where_nothing_answers() -> None:
    assert quoted_answer(prompt("Who won the cup in Lima?", "The pump is blue.")) == INSUFFICIENT
    assert quoted_answer("Hello!") == INSUFFICIENT


def test_a_source_cannot_make_the_answer_look_like_an_abstention() -> None:
    text = "The pump code answer is INSUFFICIENT_INFORMATION today."

    assert quoted_answer(prompt("What is the pump code today?", text)) == INSUFFICIENT


CODES = ShownSource(
    1,
    "Faults",
    "Faults",
    "## WRN-4471\n\nThe tray is full. Empty the tray.\n\n## WRN-4472\n\nThe fan is stuck. Turn the fan.\n\n"
    "## WRN-44725\n\nThe lid is open. Close the lid.",
)
PARTS = ShownSource(
    2, "parts", "", "| part no | name | bay |\n|---|---|---|\n| BK-3301-C | seal | 4 |\n| BK-3302-C | pin | 5 |"
)


def test_a_question_with_a_code_is_answered_from_the_passage_under_that_very_code() -> None:
    assert ask("What does WRN-4472 mean?", CODES, PARTS)[0] == "The fan is stuck."
    assert ask("WRN-4471", CODES, PARTS)[0] == "The tray is full."


def test_a_question_with_a_code_of_a_table_is_answered_by_its_row_with_the_header() -> None:
    assert ask("Where is BK-3302-C?", CODES, PARTS) == ["| part no | name | bay |", "| BK-3302-C | pin | 5 |"]


def test_a_code_that_no_source_holds_is_not_answered_from_a_near_one() -> None:
    assert ask("What does WRN-447 mean?", CODES, PARTS) == []
    assert ask("Where is BK-3301?", CODES, PARTS) == []


def test_what_is_named_as_it_is_written_is_answered_whatever_the_words() -> None:
    source = ShownSource(
        1,
        "Note",
        "",
        "It rains. The yard is at +49 40 765 43 21. By § 9 (3) the yard closes. Call palette.mix for a tone.",
    )

    assert ask("Whose number is 040/7654321?", source)[0] == "The yard is at +49 40 765 43 21."
    fee = ShownSource(1, "Note", "", "It rains. The fee is 40 €. It was € 400 before.")
    assert ask("What does € 40 stand for?", fee)[0] == "The fee is 40 €."
    assert ask("§ 9 (3)?", source) == ["By § 9 (3) the yard closes."]
    assert "Call palette.mix for a tone." in ask("What is palette.mix?", source)


def test_the_marker_has_the_form_that_the_prompt_asks_for() -> None:
    text = "The pump's code is QX-5521."

    asked = prompt("What is the code of the pump?", text, "S4")
    assert quoted_answer(asked) == "The pump's code is QX-5521. [S4]"


def note(text: str) -> ShownSource:
    return ShownSource(1, "Shed", "Shed", text)


def test_a_heading_that_is_a_question_is_not_quoted_but_what_stands_below_it() -> None:
    text = "# Shed\n\n**Lost the key of the shed?**\n\nAsk Ida for another one.\n\nThe paint is green."

    assert ask("I lost the key of the shed", note(text)) == ["Ask Ida for another one."]


def test_a_question_before_its_answer_in_a_paragraph_is_not_quoted() -> None:
    text = "Lost the key of the shed? Ask Ida for another one. It rains."

    assert ask("I lost the key of the shed", note(text))[0] == "Ask Ida for another one."


def test_a_lead_in_is_quoted_with_the_list_that_it_announces() -> None:
    text = "To open the shed without a key, do this:\n\n- Lift the door.\n- Push it.\n- Turn the knob."

    found = ask("How do I open the shed without a key?", note(text))

    assert found == ["To open the shed without a key, do this:", "Lift the door.", "Push it.", "Turn the knob."]


def test_a_line_that_ends_without_a_stop_is_quoted_with_the_list_below_it() -> None:
    source = ShownSource(1, "Exercises", "", "for Jonas, from Ms. Vale\n\n1. Cat and cow\n2. Bridge, 20 seconds\n")

    assert ask("Which exercises does Jonas do?", source) == [
        "for Jonas, from Ms. Vale",
        "Cat and cow",
        "Bridge, 20 seconds",
    ]


def test_a_sentence_without_the_number_that_is_asked_for_is_quoted_with_the_next_one() -> None:
    text = "The key of the shed costs a fee. It comes to 7 EUR. The paint is green."

    assert ask("How much does the key of the shed cost?", note(text)) == [
        "The key of the shed costs a fee.",
        "It comes to 7 EUR.",
    ]


def test_a_sentence_without_the_name_that_is_asked_for_is_quoted_with_the_next_one() -> None:
    text = "Keys of the shed are kept and lent. Ask for Ida Reed. The paint is green."

    assert ask("Who keeps keys of the shed?", note(text)) == [
        "Keys of the shed are kept and lent.",
        "Ask for Ida Reed.",
    ]


def test_a_sentence_is_quoted_with_the_one_in_which_the_reader_sees_the_answer() -> None:
    text = "The shed is closed on rainy days. The board wants it dry. Members use the barn then."

    def reads(_: str, passages: Sequence[str]) -> list[Reading]:
        return [Reading(0.9, 0.9, 0.0, 0.0, (at := each.index("the barn"), at + 8)) for each in passages]

    def near(_: str, texts: Sequence[str]) -> list[float]:
        return [0.9 if "rainy" in text else 0.1 for text in texts]

    found = pick_quotes(Task("Rainy, shed closed, where to?", (note(text),)), near, reads)

    assert [quote.text for quote in found][-1] == "Members use the barn then."


def test_the_item_in_which_the_reader_sees_the_number_is_quoted_before_one_with_other_numbers() -> None:
    text = "- Quiet is from 22 to 7, also on the day of rest.\n- Bins: black on day 2 of the week."

    def reads(_: str, passages: Sequence[str]) -> list[Reading]:
        return [Reading(0.9, 0.9, 0.0, 0.0, (at := each.index("black"), at + 14)) for each in passages]

    found = pick_quotes(
        Task("Which day does the rubbish go?", (note(text),)), lambda _, texts: [0.5] * len(texts), reads
    )

    assert [quote.text for quote in found] == ["Bins: black on day 2 of the week."]


def test_of_two_near_passages_the_one_is_quoted_whose_sentences_answer_when_they_are_read_alone() -> None:
    text = "The shed is near the gate.\n\nThe key hangs behind the clock."

    def reads(_: str, passages: Sequence[str]) -> list[Reading]:
        return [Reading(0.9, 0.9 if "key" in each else 0.1, 0.0, 0.0, None) for each in passages]

    found = pick_quotes(Task("How do I open the shed?", (note(text),)), lambda _, texts: [0.5] * len(texts), reads)

    assert [quote.text for quote in found] == ["The key hangs behind the clock."]


def test_of_passages_that_say_as_much_the_one_with_the_nearest_sentence_is_quoted() -> None:
    text = "The barn is dry. It is old and wide.\n\nTools are here. The mower lives there."

    def near(_: str, texts: Sequence[str]) -> list[float]:
        return [0.9 if each.endswith("The mower lives there.") and "Tools" not in each else 0.3 for each in texts]

    def reads(_: str, passages: Sequence[str]) -> list[Reading]:
        return [Reading(0.9, 0.9, 0.0, 0.0, None) for _ in passages]

    found = pick_quotes(Task("Where is the grass machine?", (note(text),)), near, reads)

    assert "The mower lives there." in [quote.text for quote in found]


def test_a_short_code_is_looked_up_in_a_table_and_nothing_answers_for_one_that_is_not_there() -> None:
    table = note("| code | means |\n|---|---|\n| E18 | motor too hot |\n| E40 | theft block |")

    assert ask("The motor will not run, it says E40", table) == ["| code | means |", "| E40 | theft block |"]
    assert ask("The motor is hot, why E99?", table) == []


def test_a_name_of_two_words_in_one_is_looked_up_as_it_is_written() -> None:
    vouchers = note("# Firms\n\nNot with BikeScheme: fees.\n\n# Sale\n\nNo vouchers are taken for bikes on sale.")

    assert ask("Do we take BikeScheme vouchers?", vouchers) == ["Not with BikeScheme: fees."]
