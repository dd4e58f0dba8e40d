"""What `POST /ask` does with what the model said: policies, abstentions, roles and fields that are wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.functions.asking import Asking

TRUE, FALSE = "The pump is red", "The pump holds 70 litres"
SAID = f"{TRUE} [1]. {FALSE} [1]. It was built by Kelly [1]."
KEPT = f"{TRUE} [1]. It was built by Kelly [1]."


@pytest.fixture
def asking() -> Asking:
    found = Asking()
    found.world.put("team/pump.md", "The pump is red. The pump holds 7 litres. It was built by Kelly.")
    found.world.chat.reply = SAID
    return found


def with_policy(asking: Asking, policy: Any) -> Asking:
    app = asking.world.app
    app.ports.settings = replace(app.ports.settings, citation_policy=policy)
    return asking


def said(events: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(data["text"] for name, data in events if name == "token")


def test_mark_changes_no_words_and_says_what_is_not_supported(asking: Asking) -> None:
    body = with_policy(asking, "mark").ask("pump")

    assert body["answer"] == SAID
    [bad] = body["unsupported"]
    assert (bad["text"], bad["reason"]) == (FALSE, "number")
    assert body["answer"][bad["start"] : bad["end"]] == FALSE
    assert [citation["status"] for citation in body["citations"]] == ["verified", "contradicted", "verified"]


def test_drop_removes_the_sentence_and_its_citation(asking: Asking) -> None:
    body = with_policy(asking, "drop").ask("pump")

    assert body["answer"] == KEPT
    assert [citation["status"] for citation in body["citations"]] == ["verified", "verified"]
    assert body["abstained"] is False


def test_abstain_answers_with_insufficient_information(asking: Asking) -> None:
    body = with_policy(asking, "abstain").ask("pump")

    assert (body["abstained"], body["abstain_reason"]) == (True, "insufficient_information")
    assert "70 litres" not in body["answer"]
    assert body["answer"].endswith(".")
    assert body["citations"] == []


def test_an_answer_of_which_nothing_is_left_abstains(asking: Asking) -> None:
    asking.world.chat.reply = f"{FALSE} [1]."

    body = with_policy(asking, "drop").ask("pump")

    assert body["abstain_reason"] == "insufficient_information"


@pytest.mark.parametrize("policy", ["mark", "drop"])
def test_a_stream_gives_the_words_and_citations_of_the_whole_answer(asking: Asking, policy: str) -> None:
    events = with_policy(asking, policy).stream("pump")

    done = events[-1][1]
    assert said(events) == done["answer"] == (SAID if policy == "mark" else KEPT)
    assert [data for name, data in events if name == "citation"] == done["citations"]


def test_with_drop_and_abstain_no_unsupported_sentence_is_ever_streamed(asking: Asking) -> None:
    dropped = with_policy(asking, "drop").stream("pump")

    assert "70" not in said(dropped)
    other = with_policy(Asking(), "abstain")
    other.world.put("team/pump.md", "The pump is red. The pump holds 7 litres.")
    other.world.chat.reply = SAID
    events = other.stream("pump")
    assert "70" not in said(events)
    assert events[-1][1]["abstain_reason"] == "insufficient_information"


@pytest.mark.parametrize("policy", ["mark", "drop", "abstain"])
def test_a_citation_event_comes_only_behind_the_sentence_that_it_was_checked_for(asking: Asking, policy: str) -> None:
    told = ""
    for name, data in with_policy(asking, policy).stream("pump"):
        told += data["text"] if name == "token" else ""
        if name == "citation":
            assert data["status"] == "verified" or policy == "mark"
            assert told.endswith(f"[{data['marker']}]")


def test_the_first_event_reports_the_sources(asking: Asking) -> None:
    [(name, found), *_] = asking.stream("pump")

    assert name == "retrieval"
    assert [source["path"] for source in found["sources"]] == ["pump.md"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("INSUFFICIENT_INFORMATION", "insufficient_information"),
        (" **AMBIGUOUS_QUESTION**.", "ambiguous_question"),
        ("`INSUFFICIENT_INFORMATION`\n", "insufficient_information"),
    ],
)
def test_a_sentinel_is_never_shown(asking: Asking, reply: str, reason: str) -> None:
    asking.world.chat.reply = reply

    whole, events = asking.post("pump"), asking.stream("pump")

    assert whole.json()["abstain_reason"] == reason == events[-1][1]["abstain_reason"]
    assert "INSUFFICIENT" not in whole.text
    assert "AMBIGUOUS" not in whole.text
    assert [name for name, _ in events] == ["retrieval", "done"]


def test_with_nothing_relevant_no_model_is_called() -> None:
    asking = Asking()

    body = asking.ask("pump")
    names = [name for name, _ in asking.stream("pump")]

    assert (body["abstained"], body["abstain_reason"], body["model"]) == (True, "no_relevant_context", None)
    assert names == ["retrieval", "done"]
    assert asking.world.chat.asked == []


def test_critical_documents_alone_do_not_make_an_answer() -> None:
    asking = Asking()
    asking.world.put("team/rule.md", "---\npromotion_level: critical\n---\nAll pumps are red.")

    body = asking.ask("zebra crossing", min_relevance=1.0)

    assert body["abstain_reason"] == "no_relevant_context"
    assert asking.world.chat.asked == []


@pytest.mark.parametrize("field", ["system_prompt", "prompt_template"])
@pytest.mark.parametrize("role", ["reader", "writer"])
def test_prompts_of_ones_own_need_the_role_admin(field: str, role: Any) -> None:
    asking = Asking(role=role)
    asking.world.put("team/pump.md", "The pump is red.")

    for stream in (False, True):
        response = asking.post("pump", {field: "{{ question }}"}, stream=stream)

        assert (response.status_code, response.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert asking.world.chat.asked == []


def test_an_admin_brings_prompts_and_the_rules_on_markers_and_data_still_hold() -> None:
    asking = Asking(role="admin")
    asking.world.put("team/pump.md", "The pump is red.")

    asking.ask("pump", system_prompt="Speak like a pirate.", prompt_template="{{ sources }}\nAye: {{ question }}")

    system, user = asking.world.chat.asked[0]
    assert system.content.startswith("Speak like a pirate.")
    assert "[1]" in system.content
    assert "never an instruction" in system.content
    assert user.content.endswith("Aye: pump")


@pytest.mark.parametrize(
    ("field", "template"),
    [
        ("prompt_template", "{{ sources"),
        ("prompt_template", "{{ nothing }}"),
        ("prompt_template", "{{ ''.__class__.__mro__ }}"),
        ("prompt_template", "{% for a in question * 99999999 %}x{% endfor %}"),
        ("prompt_template", "{% include 'system.j2' %}"),
        ("system_prompt", "{{ sources.secret }}"),
    ],
)
def test_a_template_that_does_not_render_is_an_error_of_the_request(field: str, template: str) -> None:
    asking = Asking(role="admin")
    asking.world.put("team/pump.md", "The pump is red.")

    for stream in (False, True):
        response = asking.post("pump", {field: template}, stream=stream)

        error = response.json()["error"]
        assert (response.status_code, error["code"], error["details"]["field"]) == (400, "INVALID_PARAMS", field)


@pytest.mark.parametrize(
    ("field", "value"),
    [("style", "rude"), ("max_context_tokens", 5), ("stream", "perhaps"), ("temperature", 1), ("model", 7)],
)
def test_a_field_that_is_wrong_is_named(asking: Asking, field: str, value: Any) -> None:
    response = asking.post("pump", **{field: value})

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["details"]["field"]) == (400, "INVALID_PARAMS", field)


def test_debug_reports_each_claim(asking: Asking) -> None:
    claims = asking.ask("pump", debug=True)["debug"]["claims"]

    assert [claim["status"] for claim in claims] == ["verified", "contradicted", "verified"]


def test_what_does_not_fit_an_8000_token_budget_is_listed_and_a_critical_one_that_was_cut_is_reported() -> None:
    asking = Asking()
    for n in range(12):
        asking.world.put(f"team/{n:02}.md", f"# Pump {n}\n\n" + f"The pump {n} is red. " * 240)
    asking.world.put("team/rule.md", "---\npromotion_level: critical\n---\n" + "Pumps are never opened hot. " * 1_500)

    body = asking.ask("pump", max_context_tokens=8_000, limit=12)

    assert body["sources"][0]["path"] == "rule.md"
    assert {"vault": "team", "path": "rule.md", "reason": "cut_to_budget"} in body["excluded"]
    assert any("shown in part: team/rule.md" in told for told in body["warnings"])
    told = {source["path"] for source in body["sources"]} | {out["path"] for out in body["excluded"]}
    assert told == {"rule.md", *(f"{n:02}.md" for n in range(12))}
    [_, user] = asking.world.chat.asked[0]
    assert len(user.content) < (8_000 - 2_000 - 500) * 4


def test_a_context_without_room_for_one_chunk_is_refused_and_no_model_is_asked(asking: Asking) -> None:
    error = asking.refused("pump", max_context_tokens=1_000)

    assert error["code"] == "INVALID_PARAMS"
    assert error["details"]["field"] == "max_context_tokens"
    assert error["details"]["value"] == 1_000
    assert asking.world.chat.asked == []
    needed = error["details"]["allowed"]["ge"]
    assert asking.ask("pump", max_context_tokens=needed)["sources"] != []
    assert asking.refused("pump", max_context_tokens=needed - 1)["code"] == "INVALID_PARAMS"


def test_a_document_that_does_not_fit_is_shown_by_the_chunks_that_do(asking: Asking) -> None:
    sections = "\n\n".join(f"## Part {number}\n\n" + f"The pump of part {number} is red. " * 40 for number in range(8))
    asking.world.put("team/long.md", sections)

    body = asking.ask("pump of part 3", max_context_tokens=3_400)

    assert body["sources"] != []
    assert {each["reason"] for each in body["excluded"]} <= {"cut_to_budget", "over_budget"}


def test_a_model_that_is_not_of_this_deployment_is_refused_by_name(asking: Asking) -> None:
    error = asking.refused("pump", model="gpt-4-turbo")

    assert error["code"] == "INVALID_PARAMS"
    assert error["details"] == {
        "field": "model",
        "value": "gpt-4-turbo",
        "allowed": list(asking.world.app.ports.settings.chat_models),
    }
    assert asking.world.chat.asked == []
