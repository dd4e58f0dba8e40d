"""Puts, overwrites, deletions and searches of one vault together, each answer judged, and how all must end."""

from __future__ import annotations

import json
import math
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import httpx

from ragdrop.api.edge import STATUS

APPEARS_WITHIN_S = 5.0  # a cached answer without a new document is served until the tenant's generation is read again
ABSENT = 0  # the number of the state without text: before the first put, and after a deletion
DOCUMENTS = 24  # fewer than twice what a search shows, so that all of them are in everybody's way
WRITERS, ASKERS = 2, 2
DELETED_SHARE, WAITED_SHARE, PAST_THE_API_SHARE = 0.25, 0.5, 0.3
REPLY_TIMEOUT_S = 60.0
SETTLED_WITHIN_S = 30.0
UNEXPECTED = frozenset({"INTERNAL_ERROR"})  # in the table, and never meant to be seen
TOKEN = re.compile(r"Quillon-(\d+)-(\d+)\b")
DRAINED_WITHIN_S = 240.0
WAITING = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


@dataclass
class Event:
    """One change of a document: the *number* of its text, or ABSENT; seconds on one monotonic clock."""

    number: int
    begun_s: float
    settled_s: float = math.inf


@dataclass
class Ledger:
    """All documents by number, each with its events in order."""

    _events: dict[int, list[Event]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, document: int, number: int, at_s: float) -> Event:
        """A change is about to be sent."""
        event = Event(number, at_s)
        with self._lock:
            self._events.setdefault(document, [Event(ABSENT, -math.inf, -math.inf)]).append(event)
        return event

    def settle(self, event: Event, at_s: float) -> None:
        """The service says, or showed, that *event* is what holds now."""
        with self._lock:
            event.settled_s = min(event.settled_s, at_s)

    def last(self, document: int) -> int:
        """The number of the last text that was sent, or ABSENT."""
        with self._lock:
            events = self._events.get(document)
            return events[-1].number if events else ABSENT

    def judge(self, document: int, shown: Collection[int], sent_s: float, ended_s: float) -> str:
        """What is wrong with an answer that shows texts *shown* of a document; empty where nothing is.

        An answer that shows a text settles it, as whoever asks from now on must not be told an older one.

        >>> ledger = Ledger()
        >>> for number, at_s in ((1, 10.0), (2, 20.0)):
        ...     ledger.settle(ledger.begin(7, number, at_s), at_s + 2)
        >>> [ledger.judge(7, shown, 30.0, 31.0) for shown in ({2}, {1}, {1, 2}, set())]
        ['', 'stale', 'twice', 'vanished']
        >>> [ledger.judge(7, shown, 21.0, 31.0) for shown in ({2}, {1})]
        ['', '']
        """
        with self._lock:
            events = self._events.get(document, [])
            allowed = _allowed(events, sent_s, ended_s)
            if len(shown) > 1:
                return "twice"
            if not shown:
                allowed = _allowed(events, sent_s - APPEARS_WITHIN_S, ended_s)
                return "" if ABSENT in allowed or not events else "vanished"
            [number] = shown
            if number not in allowed:
                return "stale"
            for event in events:
                if event.number == number:
                    event.settled_s = min(event.settled_s, ended_s)
            return ""


def _allowed(events: list[Event], sent_s: float, ended_s: float) -> set[int]:
    settled = max((at for at, event in enumerate(events) if event.settled_s <= sent_s), default=0)
    return {event.number for event in events[settled:] if event.begun_s <= ended_s}


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
        """Everything continues while the block runs."""
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


def at_the_end(soak: Soak, queues: Any, queue_url: str) -> float | None:
    """Wait until all has settled; every difference becomes a problem of the tally.

    Returns:
        Seconds until the queue was empty and the registry as the bucket; None where that took too long.
    """
    begun, differences = time.monotonic(), ["not looked at"]
    headers = {"x-api-key": soak.place.key}
    with httpx.Client(headers=headers, timeout=REPLY_TIMEOUT_S, trust_env=False) as client:
        while time.monotonic() - begun < DRAINED_WITHIN_S:
            waiting = _waiting(queues, queue_url)
            differences = [f"{waiting} messages wait"] if waiting else _differences(soak, client)
            if not differences:
                break
            time.sleep(1)
        taken_s = time.monotonic() - begun
        dead = _waiting(queues, _dead_letters(queues, queue_url))
        if dead:
            soak.tally.wrong(f"{dead} messages are in the dead-letter queue")
        for each in differences:
            soak.tally.wrong(f"in the end {each}")
        _ask_for_all(soak, client)
    return None if differences else taken_s


def _waiting(queues: Any, url: str) -> int:
    found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return sum(int(found.get(name, 0)) for name in WAITING)


def _dead_letters(queues: Any, url: str) -> str:
    found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    arn = str(json.loads(found["RedrivePolicy"])["deadLetterTargetArn"])
    return str(queues.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"])


def _differences(soak: Soak, client: httpx.Client) -> list[str]:
    """Where the registry does not say what the bucket holds."""
    place = soak.place
    prefix = f"{place.tenant}/{place.vault}/"
    pages = place.objects.get_paginator("list_object_versions").paginate(Bucket=place.bucket, Prefix=prefix)
    values = {
        each["Key"].removeprefix(prefix): each["VersionId"]
        for page in pages
        for each in page.get("Versions", [])
        if each["IsLatest"]
    }
    response = client.get(f"{place.api_url}/documents", params={"vault": place.vault, "limit": 1000})
    if response.is_error:
        return [f"the list of documents answers {response.status_code}"]
    known = {
        each["path"]: each["live_version_id"] for each in response.json()["documents"] if each["status"] != "deleted"
    }
    return [
        f"{path} is {values.get(path)} in the bucket and {known.get(path)} in the registry"
        for path in sorted({*values, *known})
        if values.get(path) != known.get(path)
    ]


def _ask_for_all(soak: Soak, client: httpx.Client) -> None:
    """Ask for each document by its own words: what the bucket has is found, and nothing else."""
    for document in range(DOCUMENTS):
        if soak.ledger.last(document) == ABSENT:
            continue
        body = {
            "query": f"the word of locker {document}",
            "vaults": [soak.place.vault],
            "limit": 20,
            "min_relevance": 0,
        }
        sent_s = time.monotonic()
        response = client.post(f"{soak.place.api_url}/search", json=body)
        if response.is_error:
            soak.tally.failed("search", response.status_code, response.json())
        else:
            judge(soak, response.json(), document, sent_s, time.monotonic())


def soak(place: SoakDocument, queues: Any, queue_url: str, *, minutes: float, seed: int = 1) -> dict[str, Any]:
    """Let everything go on for *minutes*, then look how it ended; `problems` are sentences, best none."""
    work = Soak(place, seed=seed)
    begun = time.monotonic()
    with work.going():
        while time.monotonic() - begun < minutes * 60:
            time.sleep(0.5)
    drained_s = at_the_end(work, queues, queue_url)
    tally = work.tally
    return {
        "minutes": minutes,
        "counts": dict(sorted(tally.counts.items())),
        "codes": dict(sorted(tally.codes.items())),
        "problems": tally.problems,
        "drained_s": drained_s,
    }
