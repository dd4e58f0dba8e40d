"""`ragdrop eval --prompt` over the real routes: a template is rendered by the API, or refused with its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functions.test_time_travel import Desk, repeats_what_it_reads
from tests.world import World


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    world = World()
    world.chat.reply = repeats_what_it_reads
    world.put("team/pump.md", "The pump's code is QX-5521.")
    questions = [{"question": "pump code", "text": "QX-5521"}, {"question": "pump", "document": "pump.md"}]
    (tmp_path / "own.json").write_text(json.dumps({"golden_questions": questions}), "utf-8")
    return Desk(world, tmp_path)


def prompt(desk: Desk, name: str, text: str) -> str:
    place = desk.folder / name
    place.write_text(text, "utf-8")
    return str(place)


def test_golden_questions_are_answered_with_each_prompt(desk: Desk) -> None:
    template = prompt(desk, "b.j2", "Read this.\n{{ sources }}\nNow answer: {{ question }}")

    run = desk.json("eval", str(desk.folder / "own.json"), "--prompt", "current", "--prompt", template)

    first, second = run["prompts"]
    assert first["prompt_version"] != second["prompt_version"]
    for each in run["prompts"]:
        assert {name: each["measures"][name] for name in ("questions", "right", "true")} == {
            "questions": 2,
            "right": 2,
            "true": 2,
        }
        assert each["measures"]["prompt_tokens"] > 0
    assert any("Now answer: pump" in messages[-1].content for messages in desk.world.chat.asked)


def test_a_template_that_does_not_render_ends_the_command_with_its_line(desk: Desk) -> None:
    template = prompt(desk, "broken.j2", "{{ sources }}\n{% for each in %}")

    result = desk.run("eval", str(desk.folder / "own.json"), "--prompt", template)

    assert result.exit_code == 2
    assert "broken.j2 cannot be used: prompt_template: line 2:" in result.stderr


def test_a_key_of_a_reader_may_not_bring_a_prompt(desk: Desk) -> None:
    desk.secret, _ = desk.world.app.operate.operator.create_key(desk.world.tenant, "reader", label="guest")

    result = desk.run("eval", str(desk.folder / "own.json"), "--prompt", prompt(desk, "a.txt", "Answer briefly."))

    assert result.exit_code == 1
    assert "FORBIDDEN" in result.stderr
