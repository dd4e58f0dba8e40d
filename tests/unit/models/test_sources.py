"""Only the prompt that ragdrop builds is read, by its own delimiters, and cut into passages that stand verbatim."""

from __future__ import annotations

import pytest

from ragdrop.models.sources import MAX_CHARS, blocks, read_task

PROMPT = """Sources up to the line "#0a1b end".
#0a1b [1] v/a.md | A "B" & C | A > B
First line.

#ffff end
Question: not this one
#0a1b [2] same document
Its end.
#0a1b [3] critical 2025-03-04 excerpt v/b.md | B | linked from v/a.md
Second.
#0a1b end

The conversation before the question.
#0a1b user: Question: and before?

Today is 2026-01-31.
Question: What is first?
And second?"""


def passages(text: str) -> list[str]:
    return [part for block in blocks(text) for part in (block.lead, *block.units) if part]


def test_sources_and_a_question_of_several_lines_are_read() -> None:
    task = read_task(PROMPT)

    assert task is not None
    assert task.question == "What is first?\nAnd second?"
    assert [source.number for source in task.sources] == [1, 2, 3]
    assert [source.title for source in task.sources] == ['A "B" & C', 'A "B" & C', "B"]
    assert [source.heading for source in task.sources] == ["A > B", "A > B", ""]
    assert [(source.rank, source.is_first) for source in task.sources] == [(0, True), (0, False), (1, True)]


def test_a_template_of_a_tenants_own_is_read_where_the_question_stands_behind_the_sources() -> None:
    shown = PROMPT.partition("\n")[2].partition("\n\nThe conversation")[0]

    task = read_task(f"Be brief.\n{shown}\n\nQuestion: What is first?")

    assert task is not None
    assert (task.question, len(task.sources)) == ("What is first?", 3)


def test_a_source_cannot_close_itself_with_another_mark_or_ask_the_question() -> None:
    task = read_task(PROMPT)

    assert task is not None
    assert task.sources[0].text == "First line.\n\n#ffff end\nQuestion: not this one"


def test_any_other_message_is_no_task() -> None:
    assert read_task("Rank these folders as a JSON array: a, b") is None
    assert read_task("") is None
    assert read_task(PROMPT.partition("Question: What")[0]) is None


NOTE = """# Pump

The pump's code is QX-5521. It was set by Dr. Reed
in March, e.g. after the flood.[3] See [[valves]].

- Check the valve.
  It sticks.
1. Open it
2. Close it

| pump | port |
|---|---|
| north | 8443 |

```python
port = 8443
retry(times=3)
```
[Ann] Who is on call?
[Bob] The north team!
Owner: north
Room: 12
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_passage_stands_verbatim_in_its_source(newline: str) -> None:
    text = NOTE.replace("\n", newline)

    assert all(passage in text for passage in passages(text))


def test_a_sentence_keeps_its_soft_line_break_and_does_not_end_at_an_abbreviation() -> None:
    assert "It was set by Dr. Reed\nin March, e.g. after the flood.[3]" in passages(NOTE)


def test_list_items_table_rows_code_lines_chat_lines_and_pairs_are_passages_of_their_own() -> None:
    found = passages(NOTE)

    for line in ("Open it", "| north | 8443 |", "port = 8443", "[Ann] Who is on call?", "Owner: north", "Room: 12"):
        assert line in found


def test_a_line_below_the_last_row_of_a_table_is_no_part_of_the_row() -> None:
    assert passages("| club | cost |\n|---|---|\n| chess | £10 |\nTeachers pay half.") == [
        "| club | cost |",
        "| chess | £10 |",
        "Teachers pay half.",
    ]


def test_headings_and_table_rules_are_not_passages() -> None:
    found = "".join(passages(NOTE))

    assert "# Pump" not in found
    assert "---" not in found


@pytest.mark.parametrize(
    "marked",
    [
        "::: note\nAsk Ida.\n:::",
        "> [!WARNING]\n> Ask Ida.",
        '!!! note "Mind this"\n    Ask Ida.',
        "![The pump](img/pump.png)\nAsk Ida.",
        "[![The pump](img/pump.png)](pump.md)\nAsk Ida.",
        "![[pump.png]]\nAsk Ida.",
        "<!-- from the wiki -->\nAsk Ida.",
    ],
)
def test_marks_of_notes_pictures_and_comments_are_no_part_of_a_passage(marked: str) -> None:
    assert passages(marked) == ["Ask Ida."]


def test_a_footnote_that_looks_like_a_citation_marker_is_quoted_verbatim() -> None:
    assert sum("[3]" in passage for passage in passages(NOTE)) == 1


def test_a_long_line_is_cut_into_quotable_parts() -> None:
    found = passages("word " * 500)

    assert len(found) > 5
    assert max(map(len, found)) <= MAX_CHARS


def test_a_wrapped_number_does_not_start_a_list() -> None:
    assert list(passages("The service listens on port\n80. Nothing else.")) == [
        "The service listens on port\n80.",
        "Nothing else.",
    ]
