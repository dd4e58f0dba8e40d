"""A large index searched by shards: the answer is that of one search, and what is missing is reported."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from bucketindex.manifest import read_manifest
from bucketindex.shards import AskShard, shards_of
from ragdrop.app.query import serve_shard
from ragdrop.domain.chunks import CandidateQuery, Filters, Folder, Hit
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DatabaseError, DependencyError
from ragdrop.models.function_transport import BASE_URL, FunctionTransport, ShardFunction
from ragdrop.models.http import OpenAiHttp
from ragdrop.resilience.breakers import Retries
from testing.memory_functions import MemoryFunctions
from tests.bucketindex.bucket_environments import Bucket
from tests.contract.chunk_index_suite import Engine, bucket_index, now, paths, random_vector
from tests.world import World

WORDS = [f"w{number}" for number in range(300)]
WEIGHTS = [1 / (number + 1) for number in range(300)]


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    """A bucket with five segments, the chunks of each longer than those of the one before."""
    made, source = Bucket(tmp_path), random.Random(3)
    writer = made.engine()
    for segment in range(5):
        texts = [" ".join(source.choices(WORDS, WEIGHTS, k=source.randint(2, 20 + 40 * segment))) for _ in range(120)]
        writer.write(
            *(
                writer.piece(f"f{n % 3}/{segment}-{n}.md", text, near=random_vector(source), tags=(f"t{n % 2}",))
                for n, text in enumerate(texts)
            )
        )
    return made


class Workers:
    """Another environment that answers for shards; `lost` ones fail, `slow` ones take two seconds."""

    def __init__(self, bucket: Bucket) -> None:
        self._answer = bucket.index()[1].answer_shard
        self.lost: set[str] = set()
        self.slow: set[str] = set()
        self.failed = 0
        self.asked: list[tuple[str, int]] = []  # what was asked, and of how many segments

    def __call__(self, request: Mapping[str, Any], deadline: Deadline) -> Mapping[str, Any]:
        self.asked.append((request["what"], len(read_manifest(request["segments"]).segments)))
        if request["segments"] in self.lost:
            self.failed += 1
            raise DependencyError("the function failed", service="index")
        time.sleep(2.0 * (request["segments"] in self.slow))
        return self._answer(request, deadline)


def sharded(bucket: Bucket, ask_shard: AskShard | None = None, shard_chunks: int = 240) -> Engine:
    return bucket.engine(shard_chunks=shard_chunks, ask_shard=ask_shard)


def first_shard(bucket: Bucket, engine: Engine) -> set[str]:
    return {shards(bucket, engine)[0]}


def shards(bucket: Bucket, engine: Engine) -> list[str]:
    """The shards of 240 chunks, as they are asked."""
    manifest = read_manifest(bucket.manifests.read(engine.ref.tenant, engine.ref.name))
    return [each.encoded() for each in shards_of(manifest, 240)]


def same(one: list[Hit], other: list[Hit]) -> bool:
    return paths(one) == paths(other) and [hit.score for hit in one] == pytest.approx(
        [hit.score for hit in other], rel=1e-5
    )


@pytest.mark.parametrize("shard_chunks", [120, 250, 500])
@pytest.mark.parametrize(
    "filters",
    [Filters(), Filters(folders=(Folder("f1"),)), Filters(tags=("t0",), excluded=Filters(folders=(Folder("f2"),)))],
)
def test_shards_give_what_one_search_gives(bucket: Bucket, shard_chunks: int, filters: Filters) -> None:
    whole, source = bucket.engine(), random.Random(5)
    shards = sharded(bucket, shard_chunks=shard_chunks)
    for _ in range(12):
        text, near = " ".join(source.choices(WORDS, k=source.randint(1, 6))), random_vector(source)
        query = CandidateQuery(text, near, filters, 20)

        [expected] = whole.chunks.candidates(whole.ref, [query], now())
        shards.chunks.ready(shards.ref, now(), queries=[query])
        [found] = shards.chunks.candidates(shards.ref, [query], now())

        assert same(found.lexical, expected.lexical)
        assert same(found.vector, expected.vector)
        assert found.warning is None
    assert shards.count() == whole.count() == 600


@pytest.mark.parametrize(
    ("shard_chunks", "segments"), [(120, [1, 1, 1, 1, 1]), (240, [1, 2, 2]), (599, [1, 4]), (600, [])]
)
def test_a_search_asks_each_shard_for_its_words_and_then_for_its_hits(
    bucket: Bucket, shard_chunks: int, segments: list[int]
) -> None:
    workers = Workers(bucket)
    reader = sharded(bucket, workers, shard_chunks)

    reader.chunks.candidates(reader.ref, [CandidateQuery("w1 w2", None, Filters(), 9)], now())
    asked = sorted(workers.asked)
    reader.chunks.candidates(reader.ref, [CandidateQuery("w1 w2", None, Filters(), 9)], now())

    assert asked == [("candidates", each) for each in segments] + [("statistics", each) for each in segments]
    assert len(workers.asked) == 3 * len(segments), "of the same words the shards are not asked again"


def test_a_shard_that_fails_once_is_not_lost(bucket: Bucket) -> None:
    workers = Workers(bucket)
    reader = sharded(bucket, workers)
    workers.lost = first_shard(bucket, reader)

    def ask(request: Mapping[str, Any], deadline: Deadline) -> Mapping[str, Any]:
        try:
            return workers(request, deadline)
        finally:
            workers.lost = set()

    [found] = sharded(bucket, ask).chunks.candidates(reader.ref, [CandidateQuery("w1", None, Filters(), 9)], now())

    assert (found.warning, workers.failed, len(found.lexical)) == (None, 1, 9)


def test_a_lost_and_a_slow_shard_are_both_reported(bucket: Bucket) -> None:
    workers = Workers(bucket)
    reader = sharded(bucket, workers)
    query = CandidateQuery("w1", None, Filters(), 99)
    [whole] = reader.chunks.candidates(reader.ref, [query], now())
    lost, slow, _ = shards(bucket, reader)
    workers.lost, workers.slow = {lost}, {slow}

    [found] = reader.chunks.candidates(reader.ref, [query], Deadline.after(1.5))

    assert (whole.warning, found.warning) == (None, "2 of 3 shards of the index did not answer")
    assert {path.split("/")[1][0] for path in paths(found.lexical)} == {"4"}, "of the last segment, the third shard"


def test_a_lost_shard_is_reported_and_the_others_answer(bucket: Bucket) -> None:
    workers = Workers(bucket)
    reader = sharded(bucket, workers)
    query = CandidateQuery("w1 w2", None, Filters(), 50)
    [whole] = reader.chunks.candidates(reader.ref, [query], now())
    workers.lost = first_shard(bucket, reader)

    [found] = reader.chunks.candidates(reader.ref, [query], now())

    assert (whole.warning, found.warning) == (None, "1 of 3 shards of the index did not answer")
    assert workers.failed == 2, "a shard that fails is asked once more"
    assert any(path.split("/")[1].startswith("0-") for path in paths(whole.lexical))
    assert not any(path.split("/")[1].startswith(("0-", "1-")) for path in paths(found.lexical))


def test_a_slow_shard_is_not_waited_for_beyond_the_deadline(bucket: Bucket) -> None:
    workers = Workers(bucket)
    reader = sharded(bucket, workers)
    workers.slow = first_shard(bucket, reader)
    begun_s = time.monotonic()

    [found] = reader.chunks.candidates(reader.ref, [CandidateQuery("w1", None, Filters(), 9)], Deadline.after(1.0))

    assert time.monotonic() - begun_s < 1.0
    assert found.warning == "1 of 3 shards of the index did not answer"
    assert len(found.lexical) == 9


def test_where_no_shard_answers_the_search_fails(bucket: Bucket) -> None:
    def ask(_request: Mapping[str, Any], _deadline: Deadline) -> Mapping[str, Any]:
        raise DependencyError("the function failed", service="index")

    with pytest.raises(DatabaseError, match="3 of 3 shards of the index did not answer"):
        sharded(bucket, ask).words("w1")


def test_a_document_that_a_lost_shard_may_have_is_not_reported_as_missing(bucket: Bucket) -> None:
    workers = Workers(bucket)
    reader = sharded(bucket, workers)
    assert reader.read("f0/0-0.md")
    workers.lost = first_shard(bucket, reader)

    assert reader.read("f0/3-0.md")
    with pytest.raises(DatabaseError, match="1 of 3 shards"):
        reader.read("f0/0-0.md")


def test_a_damaged_segment_of_a_shard_is_reported(bucket: Bucket) -> None:
    damaged = bucket.segments[0]
    bucket.damage(damaged, 200)

    [found] = sharded(bucket).chunks.candidates(sharded(bucket).ref, [CandidateQuery("w1", None, Filters(), 9)], now())

    assert found.warning == "1 of 5 segments of the index could not be read"


def test_a_shard_whose_segments_were_merged_away_is_asked_by_a_new_manifest(bucket: Bucket) -> None:
    reader = sharded(bucket)
    query = CandidateQuery("w1 w9", None, Filters(), 9)
    [before] = reader.chunks.candidates(reader.ref, [query], now())
    writer, index = bucket.index(merge_above=1)
    assert index.merge(writer.ref, now())
    for each in bucket.objects.keys() - set(bucket.segments):
        bucket.state.purge(each)
    fresh = sharded(bucket)

    [after] = reader.chunks.candidates(reader.ref, [query], now())
    [again] = fresh.chunks.candidates(fresh.ref, [query], now())

    assert same(after.lexical, before.lexical)
    assert same(again.lexical, before.lexical)


def test_an_index_of_shards_is_merged_and_loses_what_is_removed(bucket: Bucket) -> None:
    engine, index = bucket.index(shard_chunks=240, merge_above=2)
    assert engine.remove("f0/0-0.md", before_revision=2)

    while index.merge(engine.ref, now()):
        pass

    assert len(bucket.segments) < 5
    assert engine.count() == 599
    assert engine.read("f0/0-0.md") == []


def test_a_search_that_lost_a_shard_is_degraded_and_not_cached(tmp_path: Path) -> None:
    lost = False

    def ask(request: Mapping[str, Any], deadline: Deadline) -> Mapping[str, Any]:
        listed = index.answer_shard({**request, "what": "revisions", "cursor": None, "limit": 9}, deadline)
        if lost and "a.md" not in str(listed):
            raise DependencyError("the function failed", service="index")
        return index.answer_shard(request, deadline)

    index = bucket_index(tmp_path, shard_chunks=1, ask_shard=ask)
    world = World(index=index, bucket_index=index)
    world.put("team/a.md", "The pump of the first hall is red.")
    world.put("team/b.md", "The pump of the second hall is red.")

    whole = world.search("pump hall")
    lost = True
    part = world.search("pump hall red")

    assert (whole.degraded, len(whole.documents)) == (False, 2)
    assert (part.degraded, [each.key.path for each in part.documents]) == (True, ["a.md"])
    assert part.warnings == ["1 of 2 shards of the index did not answer"]


def test_the_query_function_answers_for_a_shard_as_lambda_carries_it(bucket: Bucket) -> None:
    functions = MemoryFunctions(lambda event: serve_shard(SimpleNamespace(bucket_index=worker), event, 20.0))  # type: ignore[arg-type]
    worker = bucket.index()[1]
    client = httpx.Client(transport=FunctionTransport("ragdrop-models:live", functions))
    quick = Retries(sleep=lambda _: None)
    http = OpenAiHttp(BASE_URL, api_key=lambda: None, timeout_s=5.0, client=client, retries=quick)
    whole, reader = bucket.engine(), sharded(bucket, ShardFunction(http))
    query = CandidateQuery("w1 w40", random_vector(random.Random(8)), Filters(), 9)

    [expected] = whole.chunks.candidates(whole.ref, [query], now())
    [found] = reader.chunks.candidates(reader.ref, [query], now())
    functions.refuse("TooManyRequestsException", 429, times=99)

    assert same(found.lexical, expected.lexical)
    assert functions.calls == 6, "three shards report their words, then their hits"
    with pytest.raises(DatabaseError, match="3 of 3 shards"):
        reader.words("w77")
