"""Settings in force: which place wins, and the origin of each value."""

from __future__ import annotations

import pytest

from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.settings import Tunables
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, StoredSettings, Tenant
from ragdrop.tenants.settings_in_force import chunking_in_force, in_force

INDEX = ActiveIndex("one", EmbeddingSpace("model", 8), ChunkingPlan.fitting(300))


def tenant(**files: dict[str, object]) -> Tenant:
    """A tenant with these settings files: `own` is its own, the others those of vaults."""
    settings = {"" if name == "own" else name: StoredSettings(values, 1) for name, values in files.items()}
    return Tenant("acme", INDEX, settings=settings)


def test_request_wins_over_vault_over_tenant_over_environment() -> None:
    of = tenant(
        own={"min_relevance": 0.5, "max_linked_docs": 4, "fusion": "rrf"},
        team={"min_relevance": 0.4, "max_linked_docs": 3},
    )

    found = in_force(Tunables(max_link_depth=1), of, vaults=["team"], request={"min_relevance": 0.3})

    values = found.values
    assert (values.min_relevance, values.max_linked_docs, values.fusion, values.max_link_depth) == (0.3, 3, "rrf", 1)
    shown = found.to_dict()
    assert [shown[name]["from"] for name in ("min_relevance", "max_linked_docs", "fusion", "max_link_depth")] == [
        "request",
        "vault",
        "tenant",
        "environment",
    ]


@pytest.mark.parametrize("vaults", [[], ["team", "hr"]])
def test_a_vaults_settings_hold_only_where_the_request_names_that_vault_alone(vaults: list[str]) -> None:
    assert in_force(Tunables(), tenant(team={"min_relevance": 0.1}), vaults=vaults).values.min_relevance == 0.7


def test_a_request_that_leaves_a_setting_out_changes_nothing() -> None:
    assert in_force(Tunables(), tenant(), request={"min_relevance": None}).origins == {}


def test_auto_as_a_number_of_results_undoes_the_environments_number() -> None:
    assert in_force(Tunables(max_results=9), tenant(own={"max_results": "auto"})).values.max_results is None


def test_what_is_not_a_setting_for_queries_is_left_aside() -> None:
    assert in_force(Tunables(), tenant(own={"doc_types": ["tool"]})).values == Tunables()


def test_the_chunk_sizes_of_a_vault_come_from_its_own_file_then_the_tenants_then_the_index() -> None:
    of = tenant(own={"chunk_tokens": 200}, team={"chunk_tokens": 100, "chunk_overlap_tokens": 7})

    assert chunking_in_force(of, "team", INDEX).sizes_for("chat") == "text 100/7"
    assert chunking_in_force(of, "hr", INDEX).sizes_for("code") == "code 200/20"
    assert chunking_in_force(tenant(), "hr", INDEX) is INDEX.chunking


def test_chunks_never_get_larger_than_the_models_window() -> None:
    assert chunking_in_force(tenant(own={"chunk_tokens": 4_000}), "team", INDEX).max_tokens == 300


def test_an_index_that_does_not_know_its_models_window_takes_no_larger_chunks_than_it_has() -> None:
    old = ActiveIndex("old", INDEX.space, ChunkingPlan(240, 24))

    assert chunking_in_force(tenant(own={"chunk_tokens": 4_000}), "team", old).max_tokens == 240
