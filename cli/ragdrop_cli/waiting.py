"""Waiting until every file of a push is indexed: few requests, and patience while there is progress."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragdrop.client import RagdropClient
from ragdrop.client.replies import Reply
from ragdrop.domain.keys import SIDECAR_SUFFIX
from ragdrop.errors import DependencyError, DocumentNotFoundError, RagdropError, RateLimitedError
from ragdrop_cli.failures import code_of
from ragdrop_cli.pushing import AT_ONCE, PushOutcome, at_once, failed, problem_of, several

FIRST_POLL_S, POLL_GROWTH, LONGEST_POLL_S = 0.2, 1.5, 2.0
PAGE_SIZE = 1_000  # documents: the most that the API lists at once
FILES_A_PAGE = 10  # a page of the list costs about as much as the records of this many files
DONE = ("indexed", "staged")
PASSING = (DependencyError, RateLimitedError)


@dataclass(frozen=True, slots=True)
class Pause:
    """How time passes: seconds of a steady clock, and sleeping."""

    clock: Callable[[], float]
    sleep: Callable[[float], None]


class Waiting:
    """The files of one push into a vault until each is indexed or has failed.

    A file is settled once the list, one request for up to 1,000 files, shows the version that was sent as indexed, or
    once the record of that version does.  The list also tells whose record is worth asking for.  A dependency that
    fails meanwhile is asked again: ingest may well succeed.

    Args:
        client: Of the API that the files were sent to.
        vault: Where they were sent.
        sent: What became of each file when it was sent.
        pause: How time passes.
        whole: Whether the outcome of each file must hold its whole record; the list has less.
    """

    def __init__(
        self, client: RagdropClient, vault: str, sent: Sequence[PushOutcome], pause: Pause, *, whole: bool = False
    ) -> None:
        self._client = client
        self._whole = whole
        self._vault = vault
        self._pause = pause
        self._paths = [outcome.path for outcome in sent]
        self._sent = {outcome.path: outcome.reply for outcome in sent if outcome.reply is not None}
        self._settled = {outcome.path: outcome for outcome in sent if outcome.reply is None or outcome.problem}
        self._open = {outcome.path: outcome for outcome in sent if outcome.path not in self._settled}
        self._claimed: dict[str, int] = {}  # the last revision that was seen to be for the version sent
        self._trouble: RagdropError | None = None

    def wait(self, timeout_s: float, done: Callable[[int, int], None]) -> list[PushOutcome]:
        """What became of the files, in their order; *done* is told how many are settled, and of how many.

        Args:
            timeout_s: Seconds without any progress after which what is open is given up; progress is a file that is
                settled, or that ingest has begun with.
            done: Called once for every file.

        Raises:
            RagdropError: The key may not read.
        """
        delay_s, last_progress_s = FIRST_POLL_S, self._pause.clock()
        while self._open:
            self._pause.sleep(delay_s)
            delay_s = min(delay_s * POLL_GROWTH, LONGEST_POLL_S)
            told = len(self._settled)
            if self._poll():
                now_s = self._pause.clock()
                delay_s = next_poll_s(now_s - last_progress_s, len(self._settled) - told, len(self._open), delay_s)
                last_progress_s = now_s
                for count in range(told + 1, len(self._settled) + 1):
                    done(count, len(self._paths))
            elif self._pause.clock() - last_progress_s >= timeout_s:
                self._give_up()
        return [self._settled[path] for path in self._paths]

    def _poll(self) -> bool:
        """Ask once; whether there was progress."""
        self._trouble = None
        before = len(self._settled), sum(self._claimed.values())
        paths = list(self._open)
        if len(paths) > AT_ONCE:
            paths = self._worth_asking() or ([] if len(self._settled) > before[0] else paths[:AT_ONCE])
        for outcome in several(self._ask, paths, workers=at_once(self._client)):
            del self._open[outcome.path]
            settled = outcome.reply is None or outcome.problem or outcome.status != "pending"
            (self._settled if settled else self._open)[outcome.path] = outcome  # at the end: the others' turn is next
        return before != (len(self._settled), sum(self._claimed.values()))

    def _ask(self, path: str) -> PushOutcome:
        """The outcome of a file as its record shows it; as it was where the record could not be read just now."""
        if path.endswith(SIDECAR_SUFFIX):
            return self._ask_document_of(path)
        try:
            reply = self._client.status(str(self._sent[path].get("status_url")))
        except PASSING as exc:
            self._trouble = exc
            return self._open[path]
        except RagdropError as exc:
            return failed(path, exc)
        self._look(path, reply)
        return PushOutcome(path, reply, problem_of(reply))

    def _ask_document_of(self, sidecar: str) -> PushOutcome:
        """The outcome of a metadata file, which has no record: that of its document, once it was read with it."""
        path, outcome = sidecar.removesuffix(SIDECAR_SUFFIX), self._open[sidecar]
        try:
            record = self._client.get_document(self._vault, path)
        except DocumentNotFoundError:
            is_coming = path in self._open
            return outcome if is_coming else PushOutcome(sidecar, outcome.reply, ("NO_DOCUMENT", f"there is no {path}"))
        except PASSING as exc:
            self._trouble = exc
            return outcome
        except RagdropError as exc:
            return failed(sidecar, exc)
        was_read = record.get("sidecar_etag") == outcome.md5 and record.get("status") != "pending"
        return PushOutcome(sidecar, record, problem_of(record)) if was_read else outcome

    def _worth_asking(self) -> list[str]:
        """Settle what the list shows as indexed; the files whose records are worth asking for.

        These are others that it shows as settled, and those that it was not read far enough to show.
        """
        wanted: list[str] = []
        reached, pages_left = "", 1 + len(self._open) // FILES_A_PAGE
        try:
            for page in self._client.documents(self._vault, shared_start(self._open) or None, page_size=PAGE_SIZE):
                for record in page.get("documents") or []:
                    reached = str(record.get("path"))
                    if reached + SIDECAR_SUFFIX in self._open and record.get("status") != "pending":
                        wanted.append(reached + SIDECAR_SUFFIX)
                    if reached in self._open and self._look(reached, record):
                        if not self._whole and self._shows_indexed(reached, record):
                            reply = Reply(record, raw=json.dumps(record).encode())
                            self._settled[reached] = PushOutcome(reached, reply)
                            del self._open[reached]
                        else:
                            wanted.append(reached)
                pages_left -= 1
                if not pages_left:
                    return wanted + [path for path in self._open if path > reached and page.get("cursor")]
        except RagdropError as exc:
            self._trouble = exc
        return wanted

    def _look(self, path: str, record: Mapping[str, Any]) -> bool:
        """Note how far ingest is with the version that was sent; whether the record shows it as settled."""
        version_id = self._sent[path].get("version_id")
        if record.get("version_id") == version_id:
            self._claimed[path] = max(self._claimed.get(path, 0), int(record.get("revision") or 0))
        mine = version_id in {record.get("version_id"), record.get("live_version_id")}
        return mine and record.get("status") != "pending"

    def _shows_indexed(self, path: str, record: Mapping[str, Any]) -> bool:
        """Whether *record* is of the version that was sent, and needs no further question."""
        is_sent = record.get("version_id") == self._sent[path].get("version_id")
        return is_sent and record.get("status") in DONE

    def _give_up(self) -> None:
        message = "still pending when the time to wait was over"
        if self._trouble is not None:
            message += f"; the last request failed with {code_of(self._trouble)}: {self._trouble.message}"
        for path, outcome in self._open.items():
            self._settled[path] = PushOutcome(path, outcome.reply, ("TIMEOUT", message))
        self._open = {}


def next_poll_s(elapsed_s: float, settled: int, left: int, longest_s: float) -> float:
    """Seconds until the next poll, once one showed progress: half of the time that the files left should take.

    Args:
        elapsed_s: Seconds since the progress before.
        settled: Files that were settled in this time.
        left: Files that are not settled yet.
        longest_s: The answer where nothing was settled, and its upper bound.

    Returns:
        At least `FIRST_POLL_S`.

    >>> next_poll_s(1.0, 10, 20, 2.0), next_poll_s(1.0, 10, 2, 2.0), next_poll_s(1.0, 0, 2, 1.5)
    (1.0, 0.2, 1.5)
    """
    return min(longest_s, max(FIRST_POLL_S, elapsed_s * left / settled / 2)) if settled else longest_s


def shared_start(paths: Collection[str]) -> str:
    """What all *paths* begin with.

    >>> shared_start(["notes/a.md", "notes/b.md"]), shared_start(["a", "b"])
    ('notes/', '')
    """
    first, last = min(paths), max(paths)
    differ = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differ, len(first))]
