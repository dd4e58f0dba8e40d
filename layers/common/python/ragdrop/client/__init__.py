"""The client of ragdrop's HTTP API: replies as received, errors as classes of ragdrop.errors."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx

from ragdrop.client.connection import Connection, FormPost
from ragdrop.client.events import AnswerEvent, Done, answer_events, is_event_stream
from ragdrop.client.replies import Reply
from ragdrop.client.routes import document_route, given, is_loopback, metadata_headers, route_of
from ragdrop.errors import DependencyError, PayloadTooLargeError

MAX_BODY_BYTES = 4 * 1024 * 1024  # what PUT takes: Lambda's 6 MB less base64


class RagdropClient:
    """One connection pool to one API with one key; safe to share between threads, closed by `with` or `close()`.

    Every method raises:
        RagdropError: The API refused or failed; the class goes by the error's code, `details` are the API's, with
            `status` and `request_id` added.  Its cause is the httpx error, which holds the response.
        DependencyError: No connection, or no answer in time; `service` is `api`.  It was tried 3 times (from 100 ms on,
            doubled, with jitter, or after what `Retry-After` asks) if it never left, or if a GET, PUT or DELETE got
            no answer, 429 or 5xx; a search only where it was cut off, a question never.
        ConfigurationError: From the constructor: `api_url` or `api_key` cannot be one.
    """

    def __init__(
        self,
        api_url: str,
        api_key: str,
        *,
        timeout_s: float = 30.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connection = Connection(api_url, api_key, timeout_s=timeout_s, transport=transport, sleep=sleep)
        self._post_form = FormPost(timeout_s=timeout_s, transport=transport, sleep=sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    @property
    def is_local(self) -> bool:
        """Whether the API is on this machine, whose cores its functions then share."""
        return is_loopback(self._connection.api_url)

    def search(self, query: str, **fields: object) -> Reply:
        """Find documents: `fields` are those of `POST /search`; None means "not given"."""
        return self._post("/search", given(query=query, **fields), repeatable=True)

    def search_fast(self, query: str, **fields: object) -> Reply:
        """The quick search, for a prompt or a completion box: 3 documents unless `limit` says, no links followed."""
        return self.search(query, **{**fields, "mode": "fast"})

    def ask(self, query: str, **fields: object) -> Reply:
        """Answer a question from the documents: `fields` are those of `POST /ask`; None means "not given"."""
        return self._post("/ask", given(query=query, **fields))

    def ask_stream(self, query: str, **fields: object) -> Iterator[AnswerEvent]:
        """The same as it comes: `Retrieved`, then `Said` and `Cited`, then `Done` with the whole answer.

        An API that does not stream gives `Done` alone.  Closing the iterator stops the answer.
        """
        content = json.dumps(given(query=query, **fields, stream=True)).encode()
        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        with self._connection.stream("/ask", content=content, headers=headers) as response:
            if not is_event_stream(response):
                yield Done(Reply.parse(response))
            else:
                yield from answer_events(response)

    def answer(self, answer_id: str) -> Reply:
        """The receipt of an answer: what it was asked, said and stood on."""
        return self._connection.send("GET", f"/answers/{quote(answer_id, safe='')}")

    def put_feedback(self, answer_id: str, kind: str, text: str = "") -> Reply:
        """Say that an answer is `right` or `wrong`, or that something is `missing`; the last word of a key counts."""
        route = f"/answers/{quote(answer_id, safe='')}/feedback"
        return self._post(route, {"kind": kind, "text": text}, repeatable=True)

    def feedback(self) -> Iterator[Reply]:
        """Answers that have feedback, page by page: each has `answers` and the `cursor` of the next."""
        return self._pages("/feedback")

    def receipts(self, after: str | None = None) -> Iterator[Reply]:
        """All receipts with their links (role admin), page by page, behind the answer id *after*.

        Each page has `receipts` and the `cursor` of the next.
        """
        return self._pages("/receipts", cursor=after)

    def put_document(
        self,
        vault: str,
        path: str,
        body: bytes,
        metadata: Mapping[str, str] | None = None,
        *,
        media_type: str = "application/octet-stream",
        facts: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Store *body* as a document with S3 object metadata; the reply's `status_url` goes into `status()`.

        *facts* are metadata too, in any language: text, and for `tags` and `attributes` a list and an object.

        Raises:
            PayloadTooLargeError: Over 4 MiB; nothing was sent.
            InvalidParamsError: A name or value of *metadata* is not what an HTTP header carries; nothing was sent.
        """
        if len(body) > MAX_BODY_BYTES:
            message = f"{path} has {len(body):,} bytes; one request takes at most {MAX_BODY_BYTES:,}"
            raise PayloadTooLargeError(message, limit_bytes=MAX_BODY_BYTES, size_bytes=len(body))
        headers = {"content-type": media_type, **metadata_headers(metadata or {})}
        params = {"metadata": json.dumps(dict(facts), ensure_ascii=False)} if facts else None
        return self._connection.send("PUT", document_route(vault, path), params=params, content=body, headers=headers)

    def get_document(
        self,
        vault: str,
        path: str,
        version: str | None = None,
        *,
        content: bool = False,
        span: tuple[int, int] | None = None,
    ) -> Reply:
        """The record of a document, or of one S3 version of it; with `content` or a `span` its parsed `text` instead.

        A `span` is code points from the first up to but not including the last: a citation's `start` and `end`.
        """
        params = given(
            version=version, content="1" if content else None, span=None if span is None else f"{span[0]}-{span[1]}"
        )
        return self._connection.send("GET", document_route(vault, path), params=params)

    def tables(self, vault: str, path: str, query: str | None = None) -> Reply:
        """The tables of a document as typed columns, and what they answer to *query*."""
        return self._connection.send("GET", f"{document_route(vault, path)}/tables", params=given(query=query))

    def history(
        self, vault: str, path: str, *, changes: bool = False, limit: int | None = None, cursor: str | None = None
    ) -> Reply:
        """Versions of a document, the newest first; with `changes` at most 20, each with the passages it changed."""
        params = given(changes="1" if changes else None, limit=limit, cursor=cursor)
        return self._connection.send("GET", document_route(vault, path) + "/history", params=params)

    def changes(
        self,
        vault: str,
        *,
        since: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Reply:
        """Changes of a vault in order; asked again with the reply's `cursor` it gives what happened since."""
        order = "newest" if newest_first else None
        params = given(vault=vault, since=since, cursor=cursor, limit=limit, order=order)
        return self._connection.send("GET", "/changes", params=params)

    def roll_back(self, vault: str, *, to: str, **fields: object) -> Reply:
        """Take documents of a vault back, one part a call: `fields` are those of `POST /vaults/{vault}/rollback`."""
        return self._post(f"/vaults/{quote(vault, safe='')}/rollback", given(to=to, **fields), repeatable=True)

    def stages(self, vault: str) -> Reply:
        """The stages of a vault, with what waits in them."""
        return self._connection.send("GET", "/stages", params={"vault": vault})

    def promote_stage(self, vault: str, stage: str) -> Reply:
        """Make all that waits in a stage live at one moment; ConflictError where golden questions do not pass."""
        return self._post(f"/stages/{quote(vault, safe='')}/{quote(stage, safe='')}/promote", {}, repeatable=True)

    def discard_stage(self, vault: str, stage: str) -> Reply:
        """Remove what waits in a stage; what is live stays."""
        return self._post(f"/stages/{quote(vault, safe='')}/{quote(stage, safe='')}/discard", {}, repeatable=True)

    def canaries(self) -> Reply:
        """How the golden questions of each vault were answered last."""
        return self._connection.send("GET", "/canaries")

    def run_canaries(self, vault: str) -> Reply:
        """Ask the golden questions of a vault now."""
        return self._post(f"/canaries/{quote(vault, safe='')}", {}, repeatable=True)

    def delete_document(self, vault: str, path: str, *, purge: bool = False) -> Reply:
        """Delete a document, with `purge` all that is stored of it; the reply is the receipt."""
        return self._connection.send("DELETE", document_route(vault, path), params={"purge": "1"} if purge else None)

    def retry_document(self, vault: str, path: str) -> Reply:
        """Let ingest look at a document again; the reply's `status_url` goes into `status()`."""
        return self._connection.send("POST", document_route(vault, path) + "/retry", repeatable=True)

    def upload_form(
        self, vault: str, path: str, *, media_type: str = "application/octet-stream", stage: str | None = None
    ) -> Reply:
        """A form by which a file of up to 50 MB goes straight into the bucket: `url` and `fields`, for 15 minutes."""
        asked = given(vault=vault, path=path, media_type=media_type, stage=stage)
        return self._post("/uploads", asked, repeatable=True)

    def upload_document(
        self,
        vault: str,
        path: str,
        file: Path,
        *,
        media_type: str = "application/octet-stream",
        stage: str | None = None,
    ) -> Reply:
        """Store *file*, of up to 50 MB, by a form straight in the bucket; the reply is like that of `put_document`.

        Raises:
            OSError: The file cannot be read.
            PayloadTooLargeError: It is larger than the form allows; nothing was sent.
            ObjectStoreError: The bucket could not be reached, or failed.
        """
        form = self.upload_form(vault, path, media_type=media_type, stage=stage)
        return self._post_form(form, file, media_type=media_type)

    def status(self, status_url: str) -> Reply:
        """The record behind a `status_url` of `put_document`.

        Only its route and version are used, so the key never goes to another host than `api_url`.
        """
        return self._connection.send("GET", route_of(status_url))

    def documents(
        self,
        vault: str | None = None,
        prefix: str | None = None,
        status: str | None = None,
        *,
        page_size: int | None = None,
        outdated: bool = False,
        unused_days: int | None = None,
        broken_links: bool = False,
        as_groups: Sequence[str] | None = None,
        cursor: str | None = None,
    ) -> Iterator[Reply]:
        """The listing page by page, ordered by vault and path: each has `documents` and the `cursor` of the next.

        `page_size` is 1 to 1,000 documents, 100 if None; `outdated` are those whose chunks have other sizes than those
        in force; `unused_days` are those that were in no answer for so many days; `broken_links` those with a link that
        leads to no document; `as_groups` those that a reader of these groups would see (role admin).  The `cursor` of a
        page continues behind that page.
        """
        return self._pages(
            "/documents",
            vault=vault,
            prefix=prefix,
            status=status,
            outdated="1" if outdated else None,
            unused_days=unused_days,
            broken_links="1" if broken_links else None,
            as_groups=None if as_groups is None else ",".join(as_groups),
            limit=page_size,
            cursor=cursor,
        )

    def verify(self, answer: str, sources: Sequence[Mapping[str, str]], *, question: str | None = None) -> Reply:
        """Check each sentence of *answer* against *sources*, each with `id` and `text`; nothing is stored.

        With a *question* the reply also says whether it is answered.
        """
        asked = {"question": question} if question is not None else {}
        return self._post("/v1/verify", {"answer": answer, "sources": list(sources), **asked}, repeatable=True)

    def health(self, *, deep: bool = False) -> Reply:
        """How the service is, and each thing that it depends on; with `deep` the models are tried.

        A service that cannot answer says so in its health, which is no error here.
        """
        try:
            return self._connection.send("GET", "/health", params={"deep": "1"} if deep else None)
        except DependencyError as exc:
            if isinstance(exc.__cause__, httpx.HTTPStatusError):
                health = Reply.parse(exc.__cause__.response)
                if "healthy" in health:
                    return health
            raise

    def me(self) -> Reply:
        """What the key opens: `tenant`, `role`, `vaults`, limits and models."""
        return self._connection.send("GET", "/me")

    def sign_in_link(self) -> Reply:
        """A `code` that signs a browser in to the web page once, until `expires_at`."""
        return self._post("/app/links", {})

    def threads(self, words: str = "") -> Reply:
        """The threads of this key, the one that changed last first; with *words* those whose names have them."""
        return self._connection.send("GET", "/threads", params=given(q=words or None))

    def thread_markdown(self, thread_id: str) -> Reply:
        """A thread as `markdown` with footnotes, as far as this key may read its answers now."""
        return self._connection.send("GET", f"/threads/{quote(thread_id, safe='')}/markdown")

    def vaults(self) -> Iterator[Reply]:
        """Pages of the vaults that the key may read: name, documents by status, chunks, last change."""
        return self._pages("/vaults")

    def stats(self, time_range: str = "24h", *, detail: bool = False, cost: bool = False) -> Reply:
        """Figures of the last `1h`, `24h`, `7d` or `30d`; with `detail` `errors` and `hours`, with `cost` `costs`."""
        params = given(time_range=time_range, detail="1" if detail else None, cost="1" if cost else None)
        return self._connection.send("GET", "/stats", params=params)

    def _pages(self, route: str, **fields: object) -> Iterator[Reply]:
        while True:
            page = self._connection.send("GET", route, params=given(**fields))
            yield page
            fields["cursor"] = page.get("cursor")
            if not fields["cursor"]:
                return

    def _post(self, route: str, fields: Mapping[str, Any], *, repeatable: bool = False) -> Reply:
        content = json.dumps(fields).encode()  # escapes: half a surrogate from a shell must not break it
        headers = {"content-type": "application/json"}
        return self._connection.send("POST", route, content=content, headers=headers, repeatable=repeatable)
