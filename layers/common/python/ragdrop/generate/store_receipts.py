"""Store receipts: questions, answers, their evidence and the feedback on them, for 30 days."""

import hashlib
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from threading import Lock
from typing import Any

from ragdrop.domain.answers import (
    RECEIPT_AGE_S,
    Answer,
    Feedback,
    FeedbackKind,
    Question,
    Receipt,
    answer_fields,
    documents_of_answer,
    shortened,
)
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.receipt_chains import ChainLink, canonical, ids_before, new_receipt_id, next_link
from ragdrop.domain.retrieval import MAX_VERIFIED, Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import (
    ConfigurationError,
    ConflictError,
    DatabaseError,
    DependencyError,
    ForbiddenError,
    InvalidParamsError,
    NotFoundError,
)
from ragdrop.ports.answer_services import Prompt, Receipts
from ragdrop.ports.registry import Registry
from ragdrop.tenants.permissions import Permissions

logger = logging.getLogger(__name__)

NOT_STORED = "the receipt of this answer could not be stored"
PROMPTS = ("system_prompt", "prompt_template")  # of a request: their text is not stored
API_NAMES = {"content_types": "content_type", "categories": "category", "session_ids": "session_id"}
MAX_FEEDBACK = 10  # credentials with feedback on one answer: an item has at most 400 KB
PAGE = 20  # receipts of a page of feedback
AUDIT_PAGE = 100  # receipts of a page for an audit, of which as many are returned as fit
AUDIT_CHARACTERS = 3_000_000  # of receipts in it: a function replies with 6 MB at most
SETTLED_S = 600  # a receipt is listed when none that is older can be under way: an answer may stream for 300 s
CHAINS = 1_000  # tenants of an environment whose chains continue; others begin a new one
_ID = re.compile(r"[0-9a-f]{32}")


class StoreReceipts:
    """Write the receipt of an answer before the answer leaves, and read it again."""

    def __init__(
        self, *, receipts: Receipts, registry: Registry, permissions: Permissions, clock: Callable[[], float]
    ) -> None:
        self._permissions = permissions
        self._receipts = receipts
        self._registry = registry
        self._clock = clock
        self._heads: BoundedCache[str, ChainLink] = BoundedCache(size=CHAINS)
        self._one_at_a_time = Lock()

    def store(
        self,
        answer: Answer,
        question: Question,
        caller: Caller,
        *,
        prompt: Prompt | None,
        timings_ms: Mapping[str, float],
    ) -> Answer:
        """The answer with the id of its receipt; with a warning instead if the receipt could not be stored.

        The receipt is linked to the one that this environment stored before it for the tenant.
        """
        with self._one_at_a_time:
            return self._stored(answer, question, caller, prompt=prompt, timings_ms=timings_ms)

    def _stored(
        self,
        answer: Answer,
        question: Question,
        caller: Caller,
        *,
        prompt: Prompt | None,
        timings_ms: Mapping[str, float],
    ) -> Answer:
        now_s = self._clock()
        expires_at_s = int(now_s) + RECEIPT_AGE_S
        head = self._heads.get(caller.tenant, now_s=now_s)
        receipt_id = question.answer_id or new_receipt_id(now_s, head, uuid.uuid4().hex)
        if head is not None and receipt_id <= head.receipt:  # ids of a chain sort by its numbers
            head = None
        body = {
            "answer_id": receipt_id,
            "created_at": rfc3339(now_s, precision="milliseconds"),  # `ragdrop diff` asks as of then
            "expires_at": rfc3339(expires_at_s),
            **asked_fields(question),
            **answer_fields(answer),
            "asked_as": "admin" if caller.reads_all else "groups",
            "groups": list(caller.groups),
            "prompt_sha256": _digest(prompt) if prompt is not None else None,
            "timings_ms": {**timings_ms, **answer.retrieval.timings_ms},
        }
        body, documents = shortened(body), documents_of_answer(answer)
        link = next_link(head, receipt_id, body, now_s, chain=uuid.uuid4().hex)
        receipt = Receipt(
            receipt_id,
            caller.tenant,
            caller.vaults,
            documents,
            expires_at_s,
            body,
            credential=caller.credential,
            link=link,
        )
        try:
            self._receipts.put_receipt(receipt)
        except (DependencyError, ConfigurationError) as exc:  # the answer is worth more than its receipt
            self._heads.drop(caller.tenant)  # it may be there all the same: the next receipt begins a new chain
            logger.warning("a receipt could not be stored", extra={"code": exc.code})
            return replace(answer, warnings=[*answer.warnings, NOT_STORED])
        self._heads.put(caller.tenant, link, now_s=now_s)
        return replace(answer, id=receipt_id)

    def read(self, caller: Caller, receipt_id: str, deadline: Deadline) -> Receipt:
        """A receipt that *caller* may see.

        Raises:
            NotFoundError: There is none, it has expired, one of its documents was purged, or the caller may not read
                it, or one of its documents.
            DatabaseError: The receipt or the heads of its documents could not be read.
        """
        found = None
        if _ID.fullmatch(receipt_id):
            found = self._receipts.receipt(caller.tenant, receipt_id, self._clock())
        hidden = found is not None and not (found.visible_to(caller) and self._is_readable(found, caller, deadline))
        if hidden:
            extra = {"tenant": caller.tenant, "credential": caller.credential, "answer_id": receipt_id}
            logger.info("access to an answer was refused", extra=extra)
        if found is None or hidden:
            raise NotFoundError(f"there is no answer {receipt_id[:80]!r}")
        return found

    def store_feedback(
        self, caller: Caller, receipt_id: str, kind: FeedbackKind, text: str, deadline: Deadline
    ) -> Feedback:
        """Store the feedback of *caller* on an answer that it may see, in place of earlier feedback.

        Raises:
            NotFoundError, DatabaseError: As `read` does.
            ConflictError: Ten other credentials have feedback on it.
        """
        receipt = self.read(caller, receipt_id, deadline)
        if len({*receipt.feedback, caller.credential}) > MAX_FEEDBACK:
            message = f"{MAX_FEEDBACK} credentials said something of this answer already, which is the most"
            raise ConflictError(message, field="answer_id", value=receipt_id, allowed=None)
        feedback = Feedback(kind, text, rfc3339(self._clock()))
        if not self._receipts.put_feedback(receipt, caller.credential, feedback):
            raise NotFoundError(f"there is no answer {receipt_id!r}")
        return feedback

    def with_feedback(self, caller: Caller, cursor: str | None, deadline: Deadline) -> tuple[list[Receipt], str | None]:
        """A page of the receipts with feedback that *caller* may see, and the cursor of the next page.

        Raises:
            InvalidParamsError: The cursor is not one that was given out.
            DatabaseError: The receipts or the heads of their documents could not be read.
        """
        found, next_cursor = self._receipts.receipts_with_feedback(
            caller.tenant, after=_given_out(cursor), limit=PAGE, now_s=self._clock()
        )
        visible = (each for each in found if each.visible_to(caller))
        return [each for each in visible if self._is_readable(each, caller, deadline)], next_cursor

    def for_audit(
        self, caller: Caller, cursor: str | None, deadline: Deadline
    ) -> tuple[list[Receipt], str | None, str]:
        """A page of the tenant's receipts with links, by id, the cursor of the next page, and the time (RFC 3339).

        Of purged ones the link is left.  Those of the last ten minutes are not listed yet.

        Raises:
            ForbiddenError: The key is limited to vaults, and a part of a chain proves nothing.
            InvalidParamsError: The cursor is not one that was given out.
            DatabaseError: The receipts or the heads of their documents could not be read.
        """
        if caller.vaults:
            raise ForbiddenError("an audit needs a key for all vaults", field="vaults", value=list(caller.vaults))
        now_s = self._clock()
        found, next_cursor = self._receipts.chained_receipts(
            caller.tenant, after=_given_out(cursor), before=ids_before(now_s - SETTLED_S), limit=AUDIT_PAGE, now_s=now_s
        )
        page: list[Receipt] = []
        room = AUDIT_CHARACTERS
        for receipt in found:
            room -= len(canonical(receipt.body))
            if room < 0 and page:
                next_cursor = page[-1].id
                break
            page.append(receipt)
        readable = self._readable({key for receipt in page for key in receipt.documents}, caller, deadline)
        shown = [_as_purged(each) if set(each.documents) - readable else each for each in page]
        return shown, next_cursor, rfc3339(now_s, precision="milliseconds")

    def _is_readable(self, receipt: Receipt, caller: Caller, deadline: Deadline) -> bool:
        """Whether *caller* may read all of its documents now; one without a head was purged.

        A purge may have run while the receipt was written.
        """
        return self._readable(receipt.documents, caller, deadline).issuperset(receipt.documents)

    def _readable(self, documents: Iterable[DocumentKey], caller: Caller, deadline: Deadline) -> set[DocumentKey]:
        keys, found = list(documents), set[DocumentKey]()
        for start in range(0, len(keys), MAX_VERIFIED):
            heads = self._registry.heads(keys[start : start + MAX_VERIFIED], deadline)
            if heads.unread:
                raise DatabaseError("the documents of the answer could not be looked up", service="registry")
            found.update(self._permissions.heads(caller, heads, deadline).found)
        return found


def _given_out(cursor: str | None) -> str:
    """The id that *cursor* continues behind. Raises InvalidParamsError: it is no id."""
    if cursor is not None and not _ID.fullmatch(cursor):
        raise InvalidParamsError("the cursor is not one that was given out", field="cursor", value=cursor[:80])
    return cursor or ""


def _as_purged(receipt: Receipt) -> Receipt:
    return Receipt(receipt.id, receipt.tenant, (), (), receipt.expires_at_s, {}, link=receipt.link, purged=True)


def asked_fields(question: Question) -> dict[str, Any]:
    """The question and the other fields of the request, by the names of the API: `request` asks the same again.

    Prompts and a conversation in the request are named in `request_left_out`; their text is not stored.
    """
    query = question.query
    defaults = asdict(Query(""))
    given = {name: getattr(query, name) for name in defaults if name not in {"text", "debug"}}
    given = {name: value for name, value in given.items() if value != defaults[name]}
    own = {"style": question.style, "model": question.model, "max_context_tokens": question.max_context_tokens}
    given |= {name: value for name, value in own.items() if value is not None}
    request = {
        API_NAMES.get(name, name): list(value) if isinstance(value, tuple) else value for name, value in given.items()
    }
    left_out = [name for name in PROMPTS if getattr(question, name) is not None]
    left_out += ["history"] if question.turns else []
    return {"question": query.text, "typed": question.typed, "request": request, "request_left_out": left_out}


def _digest(prompt: Prompt) -> str:
    """SHA-256 of the messages that were sent, in hex."""
    digest = hashlib.sha256()
    for message in prompt.messages:
        for part in (message.role, message.content):
            encoded = part.encode(errors="replace")
            digest.update(len(encoded).to_bytes(8, "big"))
            digest.update(encoded)
    return digest.hexdigest()
