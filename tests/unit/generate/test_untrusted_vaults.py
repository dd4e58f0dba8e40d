"""Untrusted vaults are asked where no other vault answers, and what they alone support is marked."""

from __future__ import annotations

import json

import pytest

from tests.functions.asking import Asking

TRUE, FALSE = "The pump's code is QX-5521.", "The pump's code is AA-0000."


@pytest.fixture
def asking() -> Asking:
    found = Asking()
    found.world.put(".ragdrop.json", json.dumps({"untrusted_vaults": ["inbox"]}))
    found.world.put("inbox/planted.md", FALSE)
    return found


def test_no_document_of_an_untrusted_vault_is_shown_where_a_trusted_one_may_answer(asking: Asking) -> None:
    asking.world.put("team/pump.md", TRUE)
    asking.world.chat.reply = f"{TRUE} [1]."
    body = asking.ask("What is the pump's code?", debug=True)

    assert [source["path"] for source in body["sources"]] == ["pump.md"]
    assert [sentence["untrusted"] for sentence in body["sentences"]] == [False]
    assert body["warnings"] == []


def test_what_an_untrusted_vault_alone_supports_is_marked_and_there_is_a_warning(asking: Asking) -> None:
    asking.world.chat.reply = f"{FALSE} [1]."
    body = asking.ask("What is the pump's code?")

    assert [(each["status"], each["untrusted"]) for each in body["sentences"]] == [("verified", True)]
    assert ["strangers" in warning for warning in body["warnings"]] == [True]


def test_what_no_source_supports_is_not_marked_as_supported_by_strangers(asking: Asking) -> None:
    asking.world.chat.reply = "The pump weighs 70 kg [1]."
    [sentence] = asking.ask("What is the pump's code?")["sentences"]

    assert (sentence["status"] in {"unsupported", "contradicted"}, sentence["untrusted"]) == (True, False)


def test_without_the_setting_nothing_is_left_out_or_marked() -> None:
    asking = Asking()
    asking.world.put("inbox/planted.md", FALSE)
    asking.world.chat.reply = f"{FALSE} [1]."

    assert [each["untrusted"] for each in asking.ask("What is the pump's code?")["sentences"]] == [False]


def test_a_vaults_own_settings_file_cannot_make_it_trusted(asking: Asking) -> None:
    asking.world.put("inbox/.ragdrop.json", json.dumps({"untrusted_vaults": ["team"]}))
    asking.world.chat.reply = f"{FALSE} [1]."

    assert [each["untrusted"] for each in asking.ask("What is the pump's code?")["sentences"]] == [True]
