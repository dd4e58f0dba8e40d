"""The canary: a document is put, found, cited in an answer, deleted and gone, as a user would see it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from ragdrop.client import RagdropClient
from ragdrop.errors import InvalidParamsError, RagdropError
from ragdrop.ports.wiring import Verdict, latency_verdict

VAULT = "ragdrop-doctor"
SEARCHES = 20
POLL_S = 0.3
QUESTIONS = ("pump", "invoice", "Who may restart the server?", "How long is the warranty?", "valve pressure limit")
STUCK = "look at the queue's age and the log of ingest; ragdrop show ragdrop-doctor/… tells the document's error"


def searches(client: RagdropClient, stopwatch: Callable[[], float] = time.perf_counter) -> Verdict:
    """How long searches take, as the API's caller sees it; each is another question, so that none is remembered."""
    took_ms = []
    client.search("warm")
    for number in range(SEARCHES):
        start_s = stopwatch()
        client.search(f"{QUESTIONS[number % len(QUESTIONS)]} {secrets.token_hex(3)}")
        took_ms.append((stopwatch() - start_s) * 1_000)
    return latency_verdict(took_ms)


class Canary:
    """One document's whole life; it is removed whatever happens.

    Args:
        client: With a key of a writer that may see the vault `ragdrop-doctor`.
        timeout_s: Seconds that ingest may take, and removal.
    """

    def __init__(
        self,
        client: RagdropClient,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        timeout_s: float = 12.0,
    ) -> None:
        self._client = client
        self._sleep = sleep
        self._clock = clock
        self._timeout_s = timeout_s
        self._code = f"QX-{secrets.randbelow(90_000) + 10_000}"
        self._path = f"canary-{secrets.token_hex(4)}.md"

    def fly(self) -> Verdict:
        """Put, find, ask, delete, gone; raises what the client raises."""
        text = f"# The canary's code\n\nThe code of the canary is {self._code}."
        put = self._client.put_document(VAULT, self._path, text.encode(), media_type="text/markdown")
        try:
            return self._seen(str(put["status_url"])) or self._removed()
        except RagdropError:
            self._client.delete_document(VAULT, self._path)
            raise

    def ingest(self) -> Verdict:
        """Put, indexed, delete: no question is asked, so no chat model is needed.  Raises what the client raises."""
        put = self._client.put_document(VAULT, self._path, b"# A canary", media_type="text/markdown")
        try:
            return self._indexed(str(put["status_url"])) or Verdict("ok", "put and indexed")
        finally:
            self._client.delete_document(VAULT, self._path)

    def _indexed(self, status_url: str) -> Verdict | None:
        """What is wrong with its indexing; None where nothing is."""
        if not self._until(lambda: self._client.status(status_url)["status"] != "pending"):
            return Verdict("failed", "it was not indexed in time", STUCK)
        record = self._client.status(status_url)
        if record["status"] == "indexed":
            return None
        error = record.get("error") or {}
        reason = f" ({error['code']}: {error['message']})" if error.get("code") else ""
        return Verdict("failed", f"its status is {record['status']}{reason}", STUCK)

    def _seen(self, status_url: str) -> Verdict | None:
        """What is wrong with how it is found; None where nothing is."""
        if wrong := self._indexed(status_url):
            return self._gone_wrong(wrong.detail, wrong.fix)
        question = "What is the code of the canary?"
        if not self._until(lambda: self._is_found(question)):
            return self._gone_wrong("it is indexed, and no search finds it", "ragdrop reindex; the log of query")
        answer = self._client.ask(question, vaults=[VAULT], min_relevance=0)
        if self._code not in str(answer.get("answer")) or not answer.get("citations"):
            return self._gone_wrong(
                "the answer does not cite it", "look at the chat model; ragdrop ask --json tells more"
            )
        return None

    def _removed(self) -> Verdict:
        self._client.delete_document(VAULT, self._path)
        if self._is_found("What is the code of the canary?"):
            return Verdict("failed", "it was deleted, and is still found", "this must not be: report it")
        return Verdict("ok", "put, found, cited, deleted, gone")

    def _gone_wrong(self, what: str, fix: str) -> Verdict:
        self._client.delete_document(VAULT, self._path)
        return Verdict("failed", what, fix)

    def _is_found(self, question: str) -> bool:
        try:
            found = self._client.search(question, vaults=[VAULT], min_relevance=0, follow_links=False)
        except InvalidParamsError:  # a vault is known some seconds after its first document
            return False
        return any(self._code in str(document.get("text")) for document in found["results"])

    def _until(self, holds: Callable[[], bool]) -> bool:
        end_s = self._clock() + self._timeout_s
        while not holds():
            if self._clock() >= end_s:
                return False
            self._sleep(POLL_S)
        return True
