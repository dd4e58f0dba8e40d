"""What the drill takes away behind ragdrop's back: an index, its chunks or credentials, its model, its port."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from localstack.drill.asking import DrillReply, ask, health, search
from localstack.drill.harness import TENANT, Harness, on_another_port, sweep, with_settings

INDEXES = "ragdrop-*"
RECOVERY_S = 60.0
POLL_S = 0.2
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Loss:
    """One loss: *within* holds while callers ask, and fixes it at its end; *level* is what searches should have."""

    name: str
    within: Callable[[Harness], AbstractContextManager[Harness]]
    level: int = 2

    @property
    def expected(self) -> str:
        """As the table shows it."""
        healthy = "" if self.level == 1 else "; index unavailable in /health"
        return f"level {self.level}; ask 200{healthy}"


@dataclass(frozen=True)
class SeenLoss:
    """What callers saw while it lasted, and when all was well again."""

    found: DrillReply
    answer: DrillReply
    index: str
    recovered_s: float | None

    def __str__(self) -> str:
        """As the table shows it."""
        healthy = "" if self.index == "healthy" else f"; index {self.index} in /health"
        back = f"{self.recovered_s:.1f} s" if self.recovered_s is not None else "never"
        return f"level {self.found.level}; ask {self.answer.status}{healthy}; well after {back}"

    def is_as(self, loss: Loss) -> bool:
        """Whether it is what *loss* should lead to: never "nothing found"."""
        wanted_health = "healthy" if loss.level == 1 else "unavailable"
        return (
            (self.found.status, self.answer.status) == (httpx.codes.OK, httpx.codes.OK)
            and self.found.level == loss.level
            and bool(self.found.body.get("results"))
            and not self.answer.body.get("abstained")
            and self.index == wanted_health
            and self.recovered_s is not None
        )


def suffered(harness: Harness, loss: Loss) -> SeenLoss:
    """Take away, ask, give back, and ask until all is well."""
    with loss.within(harness) as changed:
        found, answer, index = search(changed), ask(changed), health(changed)
    begun = time.monotonic()
    while time.monotonic() - begun < RECOVERY_S:
        if search(harness).well and ask(harness).well:
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


def _embedded(content: bytes | None) -> Callable[[Harness], AbstractContextManager[Harness]]:
    """The same apps on the embedded index, whose file holds *content*; there is none where that is None."""

    @contextmanager
    def within(harness: Harness) -> Iterator[Harness]:
        with TemporaryDirectory(dir=harness.folder) as folder:
            for name in _names(harness) if content is not None else ():
                file = Path(folder, TENANT, f"{name}.db")
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(content or b"")
            with with_settings(harness, {"INDEX_URL": f"sqlite:///{folder}"}) as changed:
                yield changed

    return within


def _another_model(harness: Harness) -> AbstractContextManager[Harness]:
    return with_settings(harness, {"EMBEDDING_MODEL": "another-model"})


LOSSES = (
    Loss("index: missing", _missing),
    Loss("index: empty while the registry has documents", _empty),
    Loss("index: closed", _closed),
    Loss("index: credentials refused", _refused),
    Loss("index: damaged (embedded file)", _embedded(b"garbage " * 8_192)),
    Loss("index: missing (embedded file)", _embedded(None)),
    Loss("settings: another EMBEDDING_MODEL than the index's", _another_model, level=1),
    Loss("emulator: up again on another port", on_another_port, level=1),  # the last: what it moves stays there
)
