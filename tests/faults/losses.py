"""Losses that ragdrop does not see: an index, its chunks, segments or credentials, its model, its port.

The losses of OpenSearch come first.  Then the tenant is moved to the bucket index, and apps without local copies are
asked.  Last, a stack attaches to an emulator that somebody else started.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from localstack.deploy import Emulated
from localstack.launch_options import BUCKET_URL
from localstack.seed import VAULT, ragdrop, ragdrop_json
from tests.faults.harness import (
    TENANT,
    DrillReply,
    Harness,
    ask,
    check_index,
    health,
    on_another_port,
    search,
    sweep,
    with_settings,
)
from tests.faults.round import wait_until_well

INDEXES = "ragdrop-*"
RECOVERY_S = 60.0
POLL_S = 0.2
TIMEOUT_S = 30.0
LEVEL_WITH_RESULTS = 2
LARGEST, SMALLEST, EVERY = slice(0, 1), slice(-1, None), slice(None)


@dataclass(frozen=True)
class Loss:
    """One loss: *within* holds while callers ask the *apps*, and fixes it at its end.

    Args:
        name: As the table shows it.
        within: Takes away, and gives back.
        apps: Which apps are asked; the drill's own if it says nothing else.
        level: What searches should have.
        index: What `/health` should say of the index.
    """

    name: str
    within: Callable[[Harness], AbstractContextManager[Harness]]
    apps: Callable[[Harness], AbstractContextManager[Harness]] = nullcontext
    level: int = 2
    index: str = "unavailable"

    @property
    def ask(self) -> int:
        """The status that a question should have."""
        return httpx.codes.SERVICE_UNAVAILABLE if self.level > LEVEL_WITH_RESULTS else httpx.codes.OK

    @property
    def expected(self) -> str:
        """As the table shows it."""
        return _row(self.level, self.ask, self.index)


@dataclass(frozen=True)
class SeenLoss:
    """What callers saw while it lasted, and when all was well again."""

    found: DrillReply
    answer: DrillReply
    index: str
    recovered_s: float | None

    def __str__(self) -> str:
        """As the table shows it."""
        back = f"{self.recovered_s:.1f} s" if self.recovered_s is not None else "never"
        return f"{_row(self.found.level, self.answer.status, self.index)}; well after {back}"

    def is_as(self, loss: Loss) -> bool:
        """Whether it is what *loss* should lead to: never "nothing found", and degraded where a part is missing."""
        return (
            (self.found.status, self.answer.status) == (httpx.codes.OK, loss.ask)
            and self.found.level == loss.level
            and bool(self.found.body.get("results")) == (loss.level <= LEVEL_WITH_RESULTS)
            and bool(self.found.body.get("degraded")) == (loss.level > 1 or loss.index == "degraded")
            and (loss.index == "degraded" or not self.answer.body.get("abstained"))
            and self.index == loss.index
            and self.recovered_s is not None
        )


def _row(level: int, ask: int, index: str) -> str:
    healthy = "" if index == "healthy" else f"; index {index} in /health"
    return f"level {level}; ask {ask}{healthy}"


def suffered(harness: Harness, loss: Loss) -> SeenLoss:
    """Take away, ask, give back, and ask until all is well."""
    with loss.apps(harness) as asked:
        with loss.within(asked) as changed:
            found, answer, index = search(changed), ask(changed), health(changed)
        begun = time.monotonic()
        while time.monotonic() - begun < RECOVERY_S:
            if search(asked).well and ask(asked).well:
                return SeenLoss(found, answer, index, time.monotonic() - begun)
            time.sleep(POLL_S)
    return SeenLoss(found, answer, index, None)


def _node(harness: Harness, method: str, path: str, body: object = None) -> None:
    httpx.request(
        method, f"{harness.index_url}{path}", json=body, timeout=TIMEOUT_S, trust_env=False
    ).raise_for_status()


def _names(harness: Harness) -> list[str]:
    url = f"{harness.index_url}/_cat/indices/{INDEXES}"
    rows = httpx.get(url, params={"format": "json", "h": "index"}, timeout=TIMEOUT_S, trust_env=False).json()
    return [str(row["index"]) for row in rows]


@contextmanager
def _missing(harness: Harness) -> Iterator[Harness]:
    for name in _names(harness):
        _node(harness, "DELETE", f"/{name}")
    yield harness
    sweep(harness.stack)


@contextmanager
def _empty(harness: Harness) -> Iterator[Harness]:
    _node(harness, "POST", f"/{INDEXES}/_delete_by_query?refresh=true", {"query": {"match_all": {}}})
    yield harness
    sweep(harness.stack)


@contextmanager
def _closed(harness: Harness) -> Iterator[Harness]:
    _node(harness, "POST", f"/{INDEXES}/_close")
    yield harness
    _node(harness, "POST", f"/{INDEXES}/_open?wait_for_active_shards=1")


@contextmanager
def _refused(harness: Harness) -> Iterator[Harness]:
    harness.proxies["index"].set("401")
    yield harness
    harness.proxies["index"].set("pass")


@contextmanager
def _on_bucket_index(harness: Harness) -> Iterator[Harness]:
    """Apps that have no copy of a segment yet, with the tenant on the bucket index, in two segments at least."""
    ragdrop_json(harness.home, ["reindex", "--tenant", TENANT, "--to", "bucket"])  # all of it in one segment
    with TemporaryDirectory() as folder:
        Path(folder, "beside.md").write_text(f"# Beside\n\nNote {time.time_ns()} is in its own segment.\n", "utf-8")
        ragdrop(harness.home, ["push", folder, "--vault", VAULT, "--wait"])
    with with_settings(harness, {"INDEX_URL": BUCKET_URL}) as changed:
        yield changed


@contextmanager
def _without_s3(harness: Harness) -> Iterator[Harness]:
    harness.proxies["s3"].set("refuse")
    yield harness
    harness.proxies["s3"].set("pass")


@contextmanager
def _without_s3_with_copies(harness: Harness) -> Iterator[Harness]:
    wait_until_well(harness)
    with _without_s3(harness):
        yield harness


def _segments_lost(*, which: slice, change: Callable[[bytes], bytes | None]) -> Callable[[Harness], Any]:
    """Some segments, the largest first, are other objects, or none; the check of the next ten minutes repairs that."""

    @contextmanager
    def within(harness: Harness) -> Iterator[Harness]:
        objects = Emulated(harness.stack["endpoint_url"], harness.stack["environment"]).client("s3")
        bucket = harness.stack["environment"]["STATE_BUCKET"]
        listed = objects.list_objects_v2(Bucket=bucket, Prefix=f"index/{TENANT}/bucket-")["Contents"]
        retired = {each["Key"].removesuffix(".retired") for each in listed}
        names = [each for each in listed if each["Key"].endswith(".seg")]
        live = [each for each in names if each["Key"].removesuffix(".seg") not in retired]
        of_index = max(live, key=lambda each: each["LastModified"])["Key"].rpartition("/")[0]  # not of one before
        live = [each for each in live if each["Key"].startswith(f"{of_index}/")]
        live.sort(key=lambda each: int(each["Size"]), reverse=True)
        for each in live[which]:
            place = {"Bucket": bucket, "Key": each["Key"]}
            changed = change(objects.get_object(**place)["Body"].read())
            if changed is None:
                objects.delete_object(**place)
            else:
                objects.put_object(**place, Body=changed)
        yield harness
        check_index(harness.stack)

    return within


@contextmanager
def _manifest_lost(harness: Harness) -> Iterator[Harness]:
    """The manifest is gone from the registry table; the check of the next ten minutes writes it again."""
    table = Emulated(harness.stack["endpoint_url"], harness.stack["environment"]).client("dynamodb")
    name = harness.stack["environment"]["REGISTRY_TABLE"]
    found = table.query(
        TableName=name,
        KeyConditionExpression="PK = :tenant AND begins_with(SK, :index)",
        ExpressionAttributeValues={":tenant": {"S": f"T#{TENANT}"}, ":index": {"S": "I#bucket-"}},
    )["Items"]
    for item in found:
        table.delete_item(TableName=name, Key={each: item[each] for each in ("PK", "SK")})
    yield harness
    check_index(harness.stack)


def _one_byte(body: bytes) -> bytes:
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 0xFF]) + body[middle + 1 :]


def _of_another_model(harness: Harness) -> AbstractContextManager[Harness]:
    return with_settings(harness, {"EMBEDDING_MODEL": "another-model"})


LOSSES = (
    Loss("index: missing", _missing),
    Loss("index: empty while the registry has documents", _empty),
    Loss("index: closed", _closed),
    Loss("index: credentials refused", _refused),
    Loss("settings: another EMBEDDING_MODEL than the index's", nullcontext, _of_another_model, 1, "healthy"),
    Loss("bucket index: S3 refuses, no local copies", _without_s3, _on_bucket_index, level=3),
    Loss("bucket index: S3 refuses, local copies", _without_s3_with_copies, _on_bucket_index, level=1),
    Loss(
        "bucket index: a segment missing",
        _segments_lost(which=LARGEST, change=lambda _: None),
        _on_bucket_index,
        level=1,
        index="degraded",
    ),
    Loss(
        "bucket index: a segment cut short",
        _segments_lost(which=LARGEST, change=lambda body: body[: len(body) // 2]),
        _on_bucket_index,
        level=1,
        index="degraded",
    ),
    Loss(
        "bucket index: one byte of a large segment damaged",
        _segments_lost(which=LARGEST, change=_one_byte),
        _on_bucket_index,
        level=1,
        index="degraded",
    ),
    Loss(
        "bucket index: one byte of a small segment damaged",
        _segments_lost(which=SMALLEST, change=_one_byte),
        _on_bucket_index,
        level=1,
        index="degraded",
    ),
    Loss("bucket index: the manifest missing", _manifest_lost, _on_bucket_index, level=3),
    Loss(
        "bucket index: every segment missing",
        _segments_lost(which=EVERY, change=lambda _: None),
        _on_bucket_index,
        level=3,
    ),
    Loss(
        "bucket index: every segment damaged",
        _segments_lost(which=EVERY, change=lambda body: bytes(len(body))),
        _on_bucket_index,
        level=3,
    ),
    # the last: what it moves stays there
    Loss("emulator: up again on another port", on_another_port, level=1, index="healthy"),
)
