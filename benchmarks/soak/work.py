"""What goes on during a soak: threads that put, overwrite and delete documents, and threads that ask for them."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from benchmarks.soak.ledger import ABSENT, Event, Ledger
from ragdrop.api.http import STATUS

DOCUMENTS = 24  # fewer than twice what a search shows, so that all of them are in everybody's way
WRITERS, ASKERS = 2, 2
DELETED_SHARE, WAITED_SHARE, PAST_THE_API_SHARE = 0.25, 0.5, 0.3
REPLY_TIMEOUT_S = 60.0
SETTLED_WITHIN_S = 30.0
UNEXPECTED = frozenset({"INTERNAL_ERROR"})  # in the table, and never meant to be seen
TOKEN = re.compile(r"Quillon-(\d+)-(\d+)\b")


@dataclass(frozen=True)
class SoakDocument:
    """Where the soak works: the API with an admin's key, and the bucket, past the API."""

    api_url: str
    key: str
    tenant: str
    bucket: str
    objects: Any
    vault: str

    def path(self, document: int) -> str:
        """The path of a document in the vault."""
        return f"lockers/{document:03}.md"


@dataclass
class Tally:
    """What was done and what came of it, by kind; `problems` are sentences."""

    counts: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, kind: str) -> None:
        """One more of *kind*."""
        with self.lock:
            self.counts[kind] += 1

    def failed(self, kind: str, status: int, body: Any) -> None:
        """An error: one of the table with its status, or a problem."""
        error = body.get("error") if isinstance(body, dict) else None
        code = str(error.get("code", "")) if isinstance(error, dict) else ""
        with self.lock:
            self.codes[f"{status} {code}"] += 1
            if STATUS.get(code) != status or code in UNEXPECTED:
                self.problems.append(f"{kind} answered {status} {code or str(body)[:80]}")

    def wrong(self, sentence: str) -> None:
        """Something that must not be."""
        with self.lock:
            self.problems.append(sentence)


class Soak:
    """Writers and askers over the same documents until told to stop.

    Args:
        place: Where.
        seed: What is random is the same for the same seed; the order in which threads come is not.
    """

    def __init__(self, place: SoakDocument, *, seed: int = 1) -> None:
        self.place = place
        self.ledger = Ledger()
        self.tally = Tally()
        self._seed = seed
        self._over = threading.Event()
        self._numbers = Counter[int]()

    @contextmanager
    def going(self) -> Iterator[None]:
        """Everything goes on while the block runs."""
        work = [partial(self._write, own=each) for each in range(WRITERS)] + [self._ask] * ASKERS
        threads = [threading.Thread(target=self._loop, args=each) for each in enumerate(work)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _loop(self, number: int, work: Callable[[httpx.Client, random.Random], None]) -> None:
        source = random.Random(f"{self._seed}/{number}")
        headers = {"x-api-key": self.place.key}
        with httpx.Client(headers=headers, timeout=REPLY_TIMEOUT_S, trust_env=False) as client:
            while not self._over.is_set():
                work(client, source)

    def _write(self, client: httpx.Client, source: random.Random, *, own: int) -> None:
        """One change of a document that no other writer has."""
        document = source.randrange(own, DOCUMENTS, WRITERS)
        if self.ledger.last(document) != ABSENT and source.random() < DELETED_SHARE:
            self._delete(client, document)
            return
        event, version_id = self._put(client, document, past_the_api=source.random() < PAST_THE_API_SHARE)
        if version_id and source.random() < WAITED_SHARE:
            self._await(client, document, event, version_id)

    def _put(self, client: httpx.Client, document: int, *, past_the_api: bool) -> tuple[Event, str]:
        self._numbers[document] += 1
        number = self._numbers[document]
        kind = "put into the bucket" if past_the_api else "put"
        overwrites = self.ledger.last(document) != ABSENT
        text = f"# Locker {document}\n\nThe word of locker {document} is Quillon-{document}-{number}.\n"
        event = self.ledger.begin(document, number, time.monotonic())
        self.tally.count("overwritten" if overwrites else "created")
        if past_the_api:
            key = f"{self.place.tenant}/{self.place.vault}/{self.place.path(document)}"
            stored = self.place.objects.put_object(Bucket=self.place.bucket, Key=key, Body=text.encode())
            return event, str(stored["VersionId"])
        reply = self._send(kind, lambda: client.put(self._url(document), content=text.encode()))
        return event, str(reply.get("version_id") or "")

    def _delete(self, client: httpx.Client, document: int) -> None:
        event = self.ledger.begin(document, ABSENT, time.monotonic())
        self.tally.count("deleted")
        if self._send("delete", lambda: client.delete(self._url(document))).get("status") == "deleted":
            self.ledger.settle(event, time.monotonic())

    def _await(self, client: httpx.Client, document: int, event: Event, version_id: str) -> None:
        """Look until the record says that the version is what answers."""
        begun = time.monotonic()
        while time.monotonic() - begun < SETTLED_WITHIN_S and not self._over.is_set():
            record = self._send("record", lambda: client.get(self._url(document)))
            if record.get("live_version_id") == version_id:
                self.ledger.settle(event, time.monotonic())
                return
            time.sleep(0.3)

    def _ask(self, client: httpx.Client, source: random.Random) -> None:
        """One question for a document, and what it shows of all of them."""
        document = source.randrange(DOCUMENTS)
        query = f"the word of locker {document}, {source.choice(('please', 'today', 'if known', 'again'))}"
        body = {"query": query, "vaults": [self.place.vault], "limit": 20, "min_relevance": 0}
        sent_s = time.monotonic()
        reply = self._send("search", lambda: client.post(f"{self.place.api_url}/search", json=body))
        if "results" not in reply:
            time.sleep(0.5)
            return
        self.tally.count("searches")
        self.tally.count("searches with fallback" if reply["fallback"] else f"searches by {reply['served_by']}")
        judge(self, reply, document, sent_s, time.monotonic())

    def _send(self, kind: str, send: Callable[[], httpx.Response]) -> Mapping[str, Any]:
        """The body of a good reply; empty where there is none, which is noted."""
        try:
            response = send()
        except httpx.TransportError as exc:
            self.tally.wrong(f"{kind} got no answer: {type(exc).__name__}")
            return {}
        body = response.json() if "json" in response.headers.get("content-type", "") else response.text
        if response.is_error:
            self.tally.failed(kind, response.status_code, body)
            return {}
        return body if isinstance(body, dict) else {}

    def _url(self, document: int) -> str:
        return f"{self.place.api_url}/documents/{self.place.vault}/{self.place.path(document)}"


def judge(soak: Soak, reply: Mapping[str, Any], asked_for: int, sent_s: float, ended_s: float) -> None:
    """Note what is wrong with an answer: every document that it shows, and the one that was asked for."""
    shown: dict[int, set[int]] = {asked_for: set()}
    for found in reply["results"]:
        for chunk in found["chunks"]:
            for document, number in TOKEN.findall(chunk["text"]):
                shown.setdefault(int(document), set()).add(int(number))
    for document, numbers in shown.items():
        if reply["fallback_level"] > 1 and not numbers:
            continue  # nothing could be searched, or not all: the answer says so
        if said := soak.ledger.judge(document, numbers, sent_s, ended_s):
            soak.tally.wrong(f"a search showed document {document} {said}: {sorted(numbers)}")
