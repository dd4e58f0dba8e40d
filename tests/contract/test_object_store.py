"""What every ObjectStore does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdrop.errors import ObjectStoreError, PreconditionFailedError
from ragdrop.stores.s3_objects import decoded_metadata, encoded_metadata
from testing.memory_object_store import MemoryObjectStore
from tests.contract.aws_fixtures import SIMULATED, STORE_ENGINES, StoreEngine, store_engine

KEY = "acme/team/notes/größe + 1 😀.md"


@pytest.fixture(params=(*STORE_ENGINES, SIMULATED))
def engine(request: pytest.FixtureRequest) -> Iterator[StoreEngine]:
    with store_engine(request.param) as made:
        yield made


def put(engine: StoreEngine, key: str, body: bytes) -> str:
    return engine.store.put(key, body, media_type="text/markdown").version_id


def test_what_was_put_is_found_as_it_was(engine: StoreEngine) -> None:
    stored = engine.store.put(KEY, b"hello", media_type="text/markdown", metadata={"author": "me"})

    found = engine.store.head(KEY)
    assert found is not None
    assert (found.key, found.version_id, found.etag, found.size_bytes) == (KEY, stored.version_id, stored.etag, 5)
    assert (found.media_type, found.metadata) == ("text/markdown", {"author": "me"})
    assert '"' not in found.etag
    assert found.modified_at.endswith("Z")
    assert engine.store.get(KEY) == b"hello"


def test_a_key_that_never_was_is_none(engine: StoreEngine) -> None:
    assert engine.store.head("acme/team/none.md") is None
    assert engine.store.get("acme/team/none.md") is None


def test_a_write_onto_the_current_version_succeeds_and_onto_another_is_refused(engine: StoreEngine) -> None:
    first = engine.store.put(KEY, b"one", media_type="text/plain")

    second = engine.store.put(KEY, b"two", media_type="text/plain", onto=first.etag)
    with pytest.raises(PreconditionFailedError):
        engine.store.put(KEY, b"three", media_type="text/plain", onto=first.etag)

    assert engine.store.get(KEY) == b"two"
    assert second.etag != first.etag


def test_a_write_that_must_be_the_first_succeeds_once(engine: StoreEngine) -> None:
    engine.store.put(KEY, b"one", media_type="text/plain", onto="")
    with pytest.raises(PreconditionFailedError):
        engine.store.put(KEY, b"two", media_type="text/plain", onto="")
    engine.store.delete(KEY)

    engine.store.put(KEY, b"three", media_type="text/plain", onto="")

    assert engine.store.get(KEY) == b"three"


def test_a_write_onto_what_is_not_there_is_refused(engine: StoreEngine) -> None:
    with pytest.raises(PreconditionFailedError):
        engine.store.put(KEY, b"one", media_type="text/plain", onto="0123456789abcdef0123456789abcdef")

    assert engine.store.head(KEY) is None


def test_an_older_version_can_be_read_by_its_id(engine: StoreEngine) -> None:
    first, second = put(engine, KEY, b"one"), put(engine, KEY, b"two")

    assert first != second
    assert engine.store.get(KEY, version_id=first) == b"one"
    assert engine.store.get(KEY) == b"two"


def test_an_older_version_reports_its_metadata_and_a_delete_marker_none(engine: StoreEngine) -> None:
    first = engine.store.put(KEY, b"one", media_type="text/plain", metadata={"author": "me"})
    put(engine, KEY, b"two")
    marker = engine.store.delete(KEY)

    found = engine.store.head(KEY, version_id=first.version_id)

    assert found is not None
    assert (found.version_id, found.size_bytes, found.metadata) == (first.version_id, 3, {"author": "me"})
    assert engine.store.head(KEY, version_id=marker) is None
    assert engine.store.head(KEY, version_id="3fL4kqtJvjVBH40Nrjfkd") is None


def test_the_versions_of_a_key_come_newest_first_and_those_of_no_other_key(engine: StoreEngine) -> None:
    first = put(engine, KEY, b"one")
    time.sleep(1.1)  # S3 gives times by the second
    marker = engine.store.delete(KEY)
    time.sleep(1.1)
    last = put(engine, KEY, b"two")
    put(engine, KEY + "-1", b"other")

    listed = engine.store.versions(KEY)

    assert [(each.version_id, each.deleted) for each in listed] == [(last, False), (marker, True), (first, False)]
    assert engine.store.versions("acme/team/none.md") == []


def test_a_version_that_does_not_exist_is_none(engine: StoreEngine) -> None:
    put(engine, KEY, b"one")

    assert engine.store.get(KEY, version_id="3fL4kqtJvjVBH40Nrjfkd") is None


def test_a_deleted_object_is_gone_but_its_version_is_not(engine: StoreEngine) -> None:
    version_id = put(engine, KEY, b"one")

    marker = engine.store.delete(KEY)

    assert marker not in {None, version_id}
    assert engine.store.head(KEY) is None
    assert engine.store.get(KEY) is None
    assert engine.store.get(KEY, version_id=marker) is None
    assert engine.store.get(KEY, version_id=version_id) == b"one"


def test_an_object_is_back_once_its_delete_marker_is_removed(engine: StoreEngine) -> None:
    version_id = put(engine, KEY, b"one")
    marker = engine.store.delete(KEY)
    assert marker is not None

    engine.remove_version(KEY, marker)

    found = engine.store.head(KEY)
    assert found is not None
    assert found.version_id == version_id


def test_deleting_what_never_was_is_no_error(engine: StoreEngine) -> None:
    engine.store.delete("acme/team/none.md")

    assert engine.store.head("acme/team/none.md") is None


RANGES = {
    "whole": (0, None, b"0123456789"),
    "from": (2, None, b"23456789"),
    "inside": (2, 5, b"234"),
    "first byte": (0, 1, b"0"),
    "over the end": (0, 99, b"0123456789"),
    "nothing": (3, 3, b""),
    "backwards": (5, 2, b""),
    "from the end": (10, None, b""),
    "beyond": (50, 60, b""),
}


@pytest.mark.parametrize(("start", "end", "expected"), RANGES.values(), ids=RANGES.keys())
def test_a_range_gives_the_bytes_there_are_in_it(
    engine: StoreEngine, start: int, end: int | None, expected: bytes
) -> None:
    put(engine, KEY, b"0123456789")

    assert engine.store.get(KEY, start=start, end=end) == expected


def test_any_range_of_an_empty_object_is_empty(engine: StoreEngine) -> None:
    version_id = put(engine, KEY, b"")

    assert engine.store.get(KEY) == b""
    assert engine.store.get(KEY, start=0, end=10) == b""
    assert engine.store.get(KEY, version_id=version_id, start=3) == b""


def test_a_range_of_what_never_was_is_none(engine: StoreEngine) -> None:
    assert engine.store.get("acme/team/none.md", start=2, end=2) is None


def test_metadata_keeps_other_scripts_and_its_names_are_lower_case(engine: StoreEngine) -> None:
    metadata = {
        "Title": "Größe und Überlauf 😀, ein langer Titel, der über eine Zeile hinausgeht " * 2,
        "tags": " a, b ",
    }

    stored = engine.store.put(KEY, b"x", media_type="text/plain", metadata=metadata)

    found = engine.store.head(KEY)
    assert found is not None
    assert found.metadata == stored.metadata == {"title": metadata["Title"], "tags": metadata["tags"]}


def test_a_prefix_is_removed_with_all_versions_and_its_neighbour_stays(engine: StoreEngine) -> None:
    for number in range(3):
        put(engine, f"acme/team/{number} ü.md", b"one")
        put(engine, f"acme/team/{number} ü.md", b"two")
    first = put(engine, "acme/gone.md", b"old")
    engine.store.delete("acme/gone.md")
    put(engine, "other/team/0.md", b"mine")

    assert engine.store.delete_prefix("acme/") == 8
    assert engine.store.get("acme/gone.md", version_id=first) is None
    assert engine.store.head("acme/team/0 ü.md") is None
    assert engine.store.get("other/team/0.md") == b"mine"
    assert engine.store.delete_prefix("acme/") == 0


def test_an_empty_prefix_is_refused(engine: StoreEngine) -> None:
    with pytest.raises(ValueError, match="whole bucket"):
        engine.store.delete_prefix("")


def test_entries_are_the_newest_versions_in_order_and_say_what_is_deleted(engine: StoreEngine) -> None:
    put(engine, "acme/team/ü 1.md", b"one")
    newest = {"acme/team/b.md": put(engine, "acme/team/b.md", b"one"), "acme/team/ü 1.md": ""}
    newest["acme/team/ü 1.md"] = put(engine, "acme/team/ü 1.md", b"two")
    put(engine, "acme/team/a.md", b"one")
    marker = engine.store.delete("acme/team/a.md")
    put(engine, "other/team/0.md", b"mine")

    entries = list(engine.store.entries("acme/"))

    assert [(each.key, each.version_id, each.deleted) for each in entries] == [
        ("acme/team/a.md", marker, True),
        ("acme/team/b.md", newest["acme/team/b.md"], False),
        ("acme/team/ü 1.md", newest["acme/team/ü 1.md"], False),
    ]
    assert all(each.modified_at.endswith("Z") for each in entries)
    assert list(engine.store.entries("nothing/")) == []


def test_entries_can_start_behind_a_key(engine: StoreEngine) -> None:
    for name in ("a/1.md", "b/1.md", "b/2.md", "b-c/1.md", "c/1.md"):
        put(engine, f"acme/{name}", b"x")

    assert [each.key for each in engine.store.entries("acme/", start_after="acme/b/1.md")] == [
        "acme/b/2.md",
        "acme/c/1.md",
    ]


def test_a_purge_removes_all_versions_of_one_key_and_of_no_other(engine: StoreEngine) -> None:
    version_id = put(engine, KEY, b"one")
    put(engine, KEY, b"two")
    engine.store.delete(KEY)
    put(engine, KEY + ".bak", b"mine")

    assert engine.store.purge(KEY) == 3
    assert engine.store.get(KEY, version_id=version_id) is None
    assert engine.store.get(KEY + ".bak") == b"mine"
    assert engine.store.purge(KEY) == 0


def test_an_upload_form_carries_its_key_and_type(engine: StoreEngine) -> None:
    form = engine.store.upload_form(
        KEY, media_type="text/markdown", metadata={"ragdrop-by": "sync"}, max_bytes=100, expires_s=60
    )

    assert (form.fields["key"], form.fields["Content-Type"]) == (KEY, "text/markdown")
    assert form.url


def test_a_bucket_without_versioning_deletes_at_once() -> None:
    with store_engine("aws", versioned=False) as engine:
        assert put(engine, KEY, b"one") == "null"
        found = engine.store.head(KEY)
        assert found is not None
        assert found.version_id == "null"

        assert engine.store.delete(KEY) is None
        assert engine.store.head(KEY) is None


@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_any_text_survives_the_headers(value: str) -> None:
    headers = encoded_metadata({"title": value})

    assert headers["title"].isascii()
    assert "\n" not in headers["title"]
    assert decoded_metadata(headers) == {"title": value}


def test_a_word_that_cannot_be_decoded_stays_as_it_is() -> None:
    assert decoded_metadata({"title": "=?no-such-charset?b?w5w=?="}) == {"title": "=?no-such-charset?b?w5w=?="}


def test_the_fake_fails_on_request_and_notes_the_call() -> None:
    store = MemoryObjectStore()
    store.fail_with = ObjectStoreError("down", service="object_store")

    with pytest.raises(ObjectStoreError):
        store.head(KEY)
    assert store.calls == ["head"]


def test_a_version_is_copied_on_top_with_its_type_and_other_metadata(engine: StoreEngine) -> None:
    first = engine.store.put(
        KEY, b"first", media_type="text/markdown", metadata={"category": "Überlauf", "ragdrop-by": "a", "gone": "x"}
    )
    engine.store.put(KEY, b"second", media_type="text/plain")

    copied = engine.store.copy_version(KEY, first.version_id, metadata={"ragdrop-by": "b", "gone": ""})

    assert copied is not None
    current = engine.store.head(KEY)
    assert current is not None
    assert (current.version_id, current.media_type, current.size_bytes) == (copied.version_id, "text/markdown", 5)
    assert current.metadata == copied.metadata == {"category": "Überlauf", "ragdrop-by": "b"}
    assert copied.version_id != first.version_id
    assert (copied.etag, current.etag) == (first.etag, first.etag)
    assert engine.store.get(KEY) == b"first"


def test_a_version_that_is_not_there_or_a_delete_marker_is_not_copied(engine: StoreEngine) -> None:
    engine.store.put(KEY, b"first", media_type="text/plain")
    marker = engine.store.delete(KEY)

    assert engine.store.copy_version(KEY, marker or "", metadata={}) is None
    assert engine.store.copy_version(KEY, "none", metadata={}) is None
    assert engine.store.copy_version("acme/team/none.md", "none", metadata={}) is None


def test_one_version_is_removed_and_the_one_under_it_is_current_again(engine: StoreEngine) -> None:
    first = engine.store.put(KEY, b"first", media_type="text/plain")
    second = engine.store.put(KEY, b"second", media_type="text/plain")

    engine.store.remove_version(KEY, second.version_id)
    engine.store.remove_version(KEY, second.version_id)

    current = engine.store.head(KEY)
    assert current is not None
    assert current.version_id == first.version_id
    assert engine.store.get(KEY, version_id=second.version_id) is None


def test_tags_are_those_of_one_version_and_change_without_one(engine: StoreEngine) -> None:
    first = put(engine, KEY, b"one")
    engine.tag(KEY, {"ragdrop-access": "hr eng@acme.example", "team": "a"})
    second = put(engine, KEY, b"two")

    assert engine.store.tags(KEY) == engine.store.tags(KEY, version_id=second) == {}
    assert engine.store.tags(KEY, version_id=first) == {"ragdrop-access": "hr eng@acme.example", "team": "a"}
    engine.tag(KEY, {"team": "b"})
    current = engine.store.head(KEY)
    assert current is not None
    assert (current.version_id, engine.store.tags(KEY)) == (second, {"team": "b"})


def test_what_is_not_there_has_no_tags(engine: StoreEngine) -> None:
    put(engine, KEY, b"one")

    assert engine.store.tags(KEY, version_id="3fL4kqtJvjVBH40Nrjfkd") is None
    assert engine.store.tags("acme/team/none.md") is None
    engine.store.delete(KEY)
    assert engine.store.tags(KEY) is None


def test_a_copied_version_has_the_tags_of_now_over_its_own(engine: StoreEngine) -> None:
    first = put(engine, KEY, b"one")
    engine.tag(KEY, {"ragdrop-access": "hr", "team": "a + b"})
    second = put(engine, KEY, b"two")
    engine.store.copy_version(KEY, first, metadata={})
    assert engine.store.tags(KEY) == {"ragdrop-access": "hr", "team": "a + b"}

    engine.tag(KEY, {"ragdrop-access": "board"})
    engine.store.copy_version(KEY, second, metadata={})
    assert engine.store.tags(KEY) == {"ragdrop-access": "board"}


@pytest.mark.parametrize("name", ["memory", "aws", SIMULATED])  # the emulator has no tags below a delete marker
def test_the_versions_of_a_deleted_object_keep_their_tags(name: str) -> None:
    with store_engine(name) as engine:
        first = put(engine, KEY, b"one")
        engine.tag(KEY, {"ragdrop-access": "hr"})
        engine.store.delete(KEY)

        assert engine.store.tags(KEY, version_id=first) == {"ragdrop-access": "hr"}
        engine.store.copy_version(KEY, first, metadata={})

        assert engine.store.tags(KEY) == {"ragdrop-access": "hr"}


def test_a_link_names_its_version_and_what_it_is_served_as(engine: StoreEngine) -> None:
    version_id = put(engine, KEY, b"one")
    put(engine, KEY, b"two")

    link = engine.store.download_link(
        KEY, version_id=version_id, media_type="application/pdf", disposition="inline", expires_s=60
    )

    asked = parse_qs(urlsplit(link).query)
    assert asked["versionId"] == [version_id]
    assert asked["response-content-type"] == ["application/pdf"]
    assert asked["response-content-disposition"] == ["inline"]
