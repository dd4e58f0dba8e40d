"""Conversations: a question that stands alone is asked as it is, one that follows up is not."""

from __future__ import annotations

import pytest

from ragdrop.domain.answers import Turn
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tokens import estimate_tokens
from ragdrop.errors import GenerationError
from ragdrop.generate.prompt import MAX_TURN_TOKENS, CondenseConversation, CondensedQuestion, follows_up, shown_turns
from testing.models import ScriptedChatModel

COLLEAGUE = (Turn("user", "Which days does Ida work from home?"), Turn("assistant", "On Mondays [1]."))


@pytest.mark.parametrize(
    "question",
    [
        "And in Leipzig?",
        "What about the second one?",
        "How much is it?",
        "Why?",
        "translate that",
        "Does she have a phone?",
        "what does that mean",
        "In German please",
        "Und wann?",
    ],
)
def test_what_continues_or_alludes_follows_up(question: str) -> None:
    assert follows_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "When is my appointment at the dentist?",
        "Does the boiler need a service, and who does it?",
        "Is there a discount for students?",
        "Which key opens the door that leads to the yard?",
        "How do I reset the router if its light is red?",
    ],
)
def test_what_names_its_subject_stands_alone(question: str) -> None:
    assert not follows_up(question)


def test_a_new_subject_is_asked_as_it_is_without_the_model() -> None:
    chat = ScriptedChatModel()

    asked = CondenseConversation(chat)(
        [*COLLEAGUE, Turn("user", "When is my appointment at the dentist?")], Deadline.after(5)
    )

    assert (asked, chat.asked) == (CondensedQuestion("When is my appointment at the dentist?"), [])


def test_without_the_model_a_follow_up_has_the_question_that_it_follows() -> None:
    chat = ScriptedChatModel()
    chat.fail_with = GenerationError("down", service="chat")
    turns = [Turn("user", "Where is the key of the cellar?"), *COLLEAGUE, Turn("user", "And on Fridays?")]

    asked = CondenseConversation(chat)(turns, Deadline.after(5))

    assert asked.text == "Which days does Ida work from home? And on Fridays?"
    assert asked.turns[-1] == Turn("user", "And on Fridays?")


def test_the_turns_that_a_prompt_shows_are_the_last_ones_within_a_bound_of_tokens_in_any_script() -> None:
    turns = [Turn("user", f"{number} 饕餮盛宴魑魅魍魉" * 30) for number in range(20)]

    shown = shown_turns(turns)

    assert sum(estimate_tokens(turn.text) for turn in shown) <= MAX_TURN_TOKENS
    assert turns[-1].text.startswith(shown[-1].text[:100])
