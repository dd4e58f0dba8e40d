"""The wall: nothing that a tenant asks, and nothing it is told, has to do with another tenant."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.tenants import IndexRef
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.functions.wall import HIDDEN, LeakyIndex, Wall, before_and_after_another_tenant_came

SECRET, NOWHERE = "secretword", "nosuchword"  # of tenant other's; of nobody's
DAY_S = 86_400

PLACES = st.sampled_from(
    ["{w}", "{w}/{w}", "../{w}", "../../other/{w}/{w}", "other/{w}", "/other/{w}/{w}/0.md", "home/../{w}", "%2e%2e/{w}"]
)
WORDS = st.sampled_from(["{w}", "other", "critical"])
FIELDS = st.fixed_dictionaries(
    {"query": st.sampled_from(["pump room", "where is the pump?", "other", "[it](../../other/x) [[pump]]"])},
    optional={
        "vaults": st.lists(PLACES, min_size=1, max_size=2),
        "folders": st.lists(PLACES, min_size=1, max_size=2),
        "prefer_folders": st.lists(PLACES, min_size=1, max_size=2),
        "rank_folders": st.booleans(),
        "doc_types": st.lists(WORDS, min_size=1, max_size=2),
        "category": WORDS,
        "tags": st.lists(WORDS, min_size=1, max_size=2),
        "session_id": WORDS,
        "attributes": st.dictionaries(st.sampled_from(["room", "{w}"]), WORDS, max_size=2),
        "min_promotion_level": st.sampled_from(["important", "critical"]),
        "include_critical": st.booleans(),
        "session": WORDS,
        "expand": st.sampled_from(["neighbours", "document"]),
        "limit": st.integers(1, 20),
        "mode": st.just("fast"),
        "include_context": st.just(True),
        "debug": st.booleans(),
        "agent": WORDS,
        "{w}": st.just(1),
    },
)
QUESTIONS = st.tuples(st.just("POST"), st.sampled_from(["/search", "/ask"]), FIELDS)
ROUTES = ["/documents/{w}/{w}/0.md", "/documents/home/{p}", "/documents/{p}", "/documents/other/{w}/{w}/0.md"]
READS = st.tuples(
    st.sampled_from(
        [
            ("GET", ""),
            ("GET", "?content=1"),
            ("GET", "?span=0-50"),
            ("GET", "?span=0-50&version={w}"),
            ("DELETE", ""),
            ("POST", "/retry"),
        ]
    ),
    st.sampled_from(ROUTES),
    PLACES,
).map(lambda parts: (parts[0][0], parts[1].replace("{p}", parts[2]) + parts[0][1], None))
LISTS = st.lists(
    st.tuples(
        st.sampled_from(["vault", "prefix", "tag", "category", "session_id", "attributes.room", "status", "cursor"]),
        st.one_of(WORDS, PLACES),
    ),
    max_size=3,
    unique_by=lambda pair: pair[0],
).map(lambda pairs: ("GET", "/documents?" + "&".join(f"{name}={value}" for name, value in pairs), None))
ATTACKS = st.one_of(QUESTIONS, READS, LISTS)


def attacked(wall: Wall, attack: tuple[str, str, Any], word: str, key: str, warm: str | None) -> str:
    """What is answered to an attack with *word*, as text in which the words, and the day that prompts name, are masked.

    The caller's own earlier answers are forgotten by then; *warm* has just asked the same.
    """
    wall.world.now_s += 400
    method, path, body = json.loads(json.dumps(attack).replace("{w}", word))
    if warm is not None and body is not None:
        wall.send(warm, method, path, body=body)
        wall.world.chat.asked.clear()
    status, answer = wall.send(key, method, path, body=body)
    today = time.strftime("%Y-%m-%d", time.gmtime(wall.world.now_s))
    masked = json.loads(json.dumps(answer).replace(SECRET, "WORD").replace(NOWHERE, "WORD").replace(today, "TODAY"))
    return f"{status} {json.dumps(masked, sort_keys=True)}"  # sorted by names that are masked: a word may be one


def assert_wall_holds(wall: Wall, attack: tuple[str, str, Any], key: str, hidden: str, warm: str | None = None) -> None:
    """A word of another's is answered as one of nobody's, and nothing planted is told, to the chat model neither."""
    wall.world.chat.asked.clear()
    answer = attacked(wall, attack, SECRET, key, warm)
    assert hidden not in answer
    assert hidden not in str(wall.world.chat.asked)
    assert answer == attacked(wall, attack, NOWHERE, key, warm)


def two_tenants(index: Any = None) -> Wall:
    wall = Wall(index)
    wall.plant("other", SECRET, count=3)
    links = f"[x](../../other/{SECRET}/{SECRET}/0.md), [y](/other/{SECRET}/{SECRET}/0.md), [z]({SECRET}/0.md), [[0]]"
    wall.world.put("home/a.md", f"# Pump\n\nThe pump is red. See {links}.")
    return wall


@pytest.fixture(scope="module")
def wall() -> Wall:
    return two_tenants()


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(attack=ATTACKS)
def test_no_request_reveals_anything_of_another_tenant(wall: Wall, attack: tuple[str, str, Any]) -> None:
    assert_wall_holds(wall, attack, wall.key("acme"), f"{HIDDEN}other", warm=wall.key("other"))


def test_answers_to_the_same_question_before_and_after_midnight_are_compared_without_their_day(wall: Wall) -> None:
    wall.world.now_s += DAY_S - wall.world.now_s % DAY_S - 500  # the second question comes 800 seconds later

    assert_wall_holds(wall, ("POST", "/ask", {"query": "other"}), wall.key("acme"), f"{HIDDEN}other")


@settings(max_examples=75, suppress_health_check=list(HealthCheck))
@given(attack=ATTACKS)
def test_no_request_of_a_key_for_one_vault_reveals_anything_of_the_others(attack: tuple[str, str, Any]) -> None:
    wall = SCOPED

    assert_wall_holds(wall, attack, wall.key("acme", "home"), f"{HIDDEN}acme", warm=wall.key("acme"))


def scoped() -> Wall:
    """One tenant, whose vault of the secret word a key for vault `home` must not see."""
    wall = Wall()
    wall.plant("acme", SECRET, count=2)
    wall.world.put("home/a.md", f"# Pump\n\nThe pump is red. See [[0]], [x](../{SECRET}/{SECRET}/0.md).")
    return wall


SCOPED = scoped()


@pytest.mark.parametrize("engine", ["memory", "bucket"])
def test_order_scores_counts_and_debug_are_the_same_after_another_tenant_adds_200_documents(
    engine: str, tmp_path: Path
) -> None:
    before, after = before_and_after_another_tenant_came(
        Wall(MemoryChunkIndex() if engine == "memory" else bucket_index(tmp_path))
    )

    assert after == before


def test_what_an_index_gives_of_another_tenant_is_dropped_and_logged_as_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = two_tenants(LeakyIndex())

    assert_wall_holds(broken, ("POST", "/search", {"query": "pump room"}), broken.key("acme"), f"{HIDDEN}other")

    told = [record for record in caplog.records if record.message == "the index gave chunks of another tenant"]
    assert {record.levelname for record in told} == {"ERROR"}
    assert HIDDEN not in caplog.text


def bucket_index(folder: Path, kind: type[BucketChunkIndex] = BucketChunkIndex) -> BucketChunkIndex:
    return kind(MemoryObjectStore("state"), MemoryManifests(), folder, max_bytes=1 << 30)


def test_an_index_that_opens_another_tenants_segments_is_found_out(tmp_path: Path) -> None:
    class Confused(BucketChunkIndex):
        def candidates(self, index: IndexRef, queries: Any, deadline: Any) -> Any:
            return super().candidates(IndexRef("other", index.name, index.dimension), queries, deadline)

        def read(self, index: IndexRef, ranges: Any, deadline: Any) -> Any:
            return super().read(IndexRef("other", index.name, index.dimension), ranges, deadline)

    with pytest.raises(AssertionError):
        before_and_after_another_tenant_came(Wall(bucket_index(tmp_path, Confused)))
