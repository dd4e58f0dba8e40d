"""`ragdrop doctor`: a verdict and a fix for each thing, and a document's whole life as a user would see it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from ragdrop.errors import (
    GUARDRAIL,
    THROTTLED,
    ConfigurationError,
    DatabaseError,
    EmbeddingServiceError,
    GenerationError,
    ModelAccessError,
)
from ragdrop.ports.model_services import ModelStanding
from tests.unit.cli.world import CommandLine
from tests.world import World

INSIDE = ["registry", "buckets", "wiring", "prefixes", "permissions", "index", "dimension", "embeddings", "chat"]


class Api:
    """Just enough of the API for the canary: what is put is found and cited until it is deleted."""

    def __init__(self, ragdrop: CommandLine) -> None:
        self.api = ragdrop.api
        self.forgets = True
        self.cites = True
        self.api.routes["POST", "/search"] = lambda _request: httpx.Response(200, json={"results": self.found()})
        self.api.routes["POST", "/ask"] = lambda _request: httpx.Response(200, json=self.answer())

    def found(self) -> list[dict[str, str]]:
        bodies = self.api.bodies if not self.forgets else {n: self.api.bodies[n] for n in self.api.documents}
        return [{"text": body.decode()} for body in bodies.values()]

    def answer(self) -> dict[str, Any]:
        return {"answer": self.found()[0]["text"], "citations": [{}] if self.cites else []}


class Undeployed:
    """A deployment whose settings cannot be read."""

    @property
    def examine(self) -> Any:
        raise ConfigurationError("INDEX_URL: is required and not set")


@pytest.fixture
def well(ragdrop: CommandLine) -> Api:
    return Api(ragdrop)


def steps(ragdrop: CommandLine, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    found = ragdrop.run("doctor", "--json", *options)
    return found.exit_code, {each["step"]: each for each in json.loads(found.output)["steps"]}


def test_where_all_is_well_nothing_failed_and_the_canary_leaves_nothing_behind(ragdrop: CommandLine, well: Api) -> None:
    code, found = steps(ragdrop)

    assert code == 0
    assert list(found) == ["settings", *INSIDE, "searches", "canary"]
    assert {each["verdict"] for each in found.values()} == {"ok"}
    assert (well.api.documents, found["canary"]["detail"]) == ({}, "put, found, cited, deleted, gone")


def test_for_a_person_each_step_is_a_line_and_a_failure_has_its_fix(ragdrop: CommandLine, well: Api) -> None:
    del well
    ragdrop.deployment.world.index.fail_with = DatabaseError("the index did not answer", service="index")
    found = ragdrop.run("doctor", "--skip-accuracy")

    assert found.exit_code == 1
    assert "failed   index       the index did not answer" in found.output
    assert "fix: is INDEX_URL right, is it up?" in found.output
    assert found.output.endswith("failed: index\n")


def test_without_accuracy_nothing_is_written(ragdrop: CommandLine, well: Api) -> None:
    code, found = steps(ragdrop, "--skip-accuracy")

    assert (code, found["canary"]["verdict"]) == (0, "skipped")
    assert [request.method for request in well.api.requests if request.method in {"PUT", "DELETE"}] == []


def test_wrong_settings_end_with_two_and_name_the_setting(ragdrop: CommandLine, well: Api) -> None:
    del well

    ragdrop.deployment = Undeployed()  # type: ignore[assignment]
    found = ragdrop.run("doctor", "--json")

    assert found.exit_code == 2
    assert json.loads(found.output)["steps"][0]["detail"] == "INDEX_URL: is required and not set"


@pytest.mark.parametrize(
    ("change", "step", "grade", "words"),
    [
        (lambda w: setattr(w.wiring, "fail_with", DatabaseError("no", service="queue")), "wiring", "failed", "no"),
        (lambda w: w.documents.put("stray/a.md", b"x", media_type="text/plain"), "prefixes", "warning", "stray"),
        (lambda w: setattr(w.embedder, "dimension", 8), "embeddings", "failed", "64 dimensions"),
        (
            lambda w: setattr(w.embedder, "fail_with", EmbeddingServiceError("away", service="embedding")),
            "embeddings",
            "failed",
            "away",
        ),
        (lambda w: setattr(w.chat_models, "names", frozenset()), "chat", "failed", "no model scripted"),
    ],
)
def test_what_is_wrong_is_reported_with_a_fix(
    ragdrop: CommandLine, well: Api, change: Any, step: str, grade: str, words: str
) -> None:
    del well
    change(ragdrop.deployment.world)

    _, found = steps(ragdrop, "--skip-accuracy")

    assert found[step]["verdict"] == grade
    assert words in found[step]["detail"]
    assert found[step]["fix"]


def test_a_document_that_is_found_after_its_end_is_a_failure(ragdrop: CommandLine, well: Api) -> None:
    well.forgets = False

    code, found = steps(ragdrop)

    assert (code, found["canary"]["detail"]) == (1, "it was deleted, and is still found")


def test_an_answer_without_a_citation_is_a_failure_and_the_document_goes(ragdrop: CommandLine, well: Api) -> None:
    well.cites = False

    code, found = steps(ragdrop)

    assert (code, found["canary"]["detail"], well.api.documents) == (1, "the answer does not cite it", {})


def test_a_document_that_is_never_indexed_is_a_failure(ragdrop: CommandLine, well: Api) -> None:
    well.api.polls_needed = 10_000

    code, found = steps(ragdrop)

    assert (code, found["canary"]["detail"]) == (1, "it was not indexed in time")


BEDROCK_STEPS = ["region", "access", "quota", "guardrail"]
MODEL = "scripted"


class Catalogue:
    """What an account has of the models."""

    def __init__(self, **standings: ModelStanding) -> None:
        self.found = standings or {MODEL: ModelStanding(in_region=True)}

    def standings(self) -> dict[str, ModelStanding]:
        return self.found


@pytest.fixture
def on_bedrock(ragdrop: CommandLine, well: Api) -> World:
    """A deployment whose models are those of Bedrock."""
    del well
    world = ragdrop.deployment.world
    parts = world.app.operate
    parts.examine = replace(parts.examine, catalogue=Catalogue(), bedrock_chat=world.chat)
    return world


def test_where_models_are_of_bedrock_region_access_quota_and_guardrail_have_a_step(
    ragdrop: CommandLine, on_bedrock: World
) -> None:
    del on_bedrock
    code, found = steps(ragdrop, "--skip-accuracy")

    assert code == 0
    assert list(found) == ["settings", *INSIDE, *BEDROCK_STEPS, "searches", "canary"]
    assert {found[name]["verdict"] for name in BEDROCK_STEPS} == {"ok"}


@pytest.mark.parametrize(
    ("standing", "step", "grade", "words"),
    [
        (ModelStanding(in_region=False), "region", "failed", "the region has no scripted"),
        (ModelStanding(True, ("authorizationStatus is NOT_AUTHORIZED",)), "access", "failed", "NOT_AUTHORIZED"),
        (ModelStanding(True, ("agreementAvailability is PENDING",)), "access", "warning", "PENDING"),
    ],
)
def test_what_the_account_lacks_of_bedrock_is_reported_with_a_fix(
    ragdrop: CommandLine, on_bedrock: World, standing: ModelStanding, step: str, grade: str, words: str
) -> None:
    parts = on_bedrock.app.operate
    parts.examine = replace(parts.examine, catalogue=Catalogue(scripted=standing))

    _, found = steps(ragdrop, "--skip-accuracy")

    assert (found[step]["verdict"], words in found[step]["detail"]) == (grade, True)
    assert found[step]["fix"]


@pytest.mark.parametrize(("reason", "step"), [(THROTTLED, "quota"), (GUARDRAIL, "guardrail")])
def test_a_throttled_model_and_a_guardrail_fail_their_own_step_alone(
    ragdrop: CommandLine, on_bedrock: World, reason: str, step: str
) -> None:
    on_bedrock.chat.fail_with = GenerationError("no", service="chat", reason=reason)

    _, found = steps(ragdrop, "--skip-accuracy")

    assert [name for name in BEDROCK_STEPS if found[name]["verdict"] != "ok"] == [step]
    assert MODEL in found[step]["detail"]
    assert found[step]["fix"]


def test_an_error_that_says_what_to_do_is_the_fix_of_its_step(ragdrop: CommandLine, on_bedrock: World) -> None:
    refused = ModelAccessError("no", service="chat", model=MODEL, install="open it in the console")
    on_bedrock.chat.fail_with = refused

    _, found = steps(ragdrop, "--skip-accuracy")

    assert found["quota"]["fix"] == "open it in the console"
