"""Threads: questions that follow one another, as the receipts of their answers; and a thread as Markdown."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragdrop.domain.answers import MAX_ANSWERS, MAX_NAME, Receipt, Thread, threads_prefix
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.tenants import Caller
from ragdrop.errors import ConflictError, InvalidParamsError, NotFoundError
from ragdrop.generate.store_receipts import StoreReceipts
from ragdrop.ports.answer_services import Receipts

PAGE = 10  # receipts of a page: each has 380,000 bytes at most, and a reply of Lambda 6 MB
RANDOM_BYTES = 16
_ID = re.compile(r"[0-9a-f]{48}")
_MARKERS = re.compile(r"(?:\s*\[\d{1,3}\])+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#|!~&])")
# What a viewer could run, load or take for a footnote of ours; in code it is shown with the mark that disarms it.
_ARMED = (
    (re.compile(r"<(?=[A-Za-z/!?])"), "&lt;"),
    (re.compile(r"!\["), r"!\\["),
    (re.compile(r"\[\^"), r"\\[^"),
    (re.compile(r"\]\((?!https?://|#)"), r"]\\("),
    (re.compile(r"^(\s*\[[^\]\n]*\]):", re.MULTILINE), r"\1\\:"),
)


class Threads:
    """Stores which answers follow one another.  The answers stay what they are: receipts, with their own rights.

    A thread is of the credential that began it.  Shared, others of the tenant open it by its id, and are shown the
    answers that they may read now.
    """

    def __init__(self, *, receipts: Receipts, answers: StoreReceipts, clock: Callable[[], float]) -> None:
        self._receipts = receipts
        self._answers = answers
        self._clock = clock

    def create(self, caller: Caller, answer_id: str, name: str, deadline: Deadline) -> Thread:
        """A thread that begins with an answer of *caller*; without a *name* its first question is its name.

        Raises:
            NotFoundError: There is no such answer, or it is another credential's.
            DatabaseError: The receipts or the registry did not answer.
        """
        receipt = self._own_answer(caller, answer_id, deadline)
        now = self._now()
        named = _one_line(name)
        thread = Thread(
            id=threads_prefix(caller.credential) + secrets.token_hex(RANDOM_BYTES),
            tenant=caller.tenant,
            owner=caller.credential,
            name=(named or _one_line(str(receipt.body["question"])))[:MAX_NAME],
            named=bool(named),
            shared=False,
            answers=(receipt.id,),
            created_at=now,
            updated_at=now,
            expires_at_s=receipt.expires_at_s,
        )
        self._receipts.put_thread(thread)
        return thread

    def add(self, caller: Caller, thread_id: str, answer_id: str, deadline: Deadline) -> Thread:
        """The thread with one more answer.

        Raises:
            NotFoundError: The thread or the answer is not there, or is another credential's.
            ConflictError: The thread has 100 answers.
            DatabaseError: As `create`.
        """
        thread, receipt = self._own(caller, thread_id), self._own_answer(caller, answer_id, deadline)
        if receipt.id in thread.answers:  # sent again
            return thread
        added = self._receipts.add_to_thread(thread, receipt.id, self._now(), receipt.expires_at_s)
        if added is None:
            self._own(caller, thread_id)
            message = f"a thread has at most {MAX_ANSWERS} answers: begin another one"
            raise ConflictError(message, field="thread_id", value=thread_id, allowed=MAX_ANSWERS)
        return added

    def own(self, caller: Caller, words: str = "") -> list[Thread]:
        """The threads of *caller*, the one that changed last first; with *words* those whose names have all of them."""
        found = self._receipts.threads_of(caller.tenant, caller.credential, self._clock())
        asked = words.casefold().split()
        return [each for each in found if all(word in each.name.casefold() for word in asked)]

    def read(self, caller: Caller, thread_id: str) -> Thread:
        """A thread of *caller*, or a shared one.  Raises NotFoundError: there is none, or it is not shared."""
        found = None
        if _ID.fullmatch(thread_id):
            found = self._receipts.thread(caller.tenant, thread_id, self._clock())
        if found is None or not (found.shared or is_own(found, caller)):
            raise NotFoundError(f"there is no thread {thread_id[:80]!r}")
        return found

    def page(
        self, caller: Caller, thread: Thread, cursor: str | None, deadline: Deadline
    ) -> tuple[list[Receipt], int, str | None]:
        """Ten answers of a thread that *caller* may read now, how many were left out, and the cursor of the next ten.

        Left out are those that *caller* may not read, and those that are gone.

        Raises:
            InvalidParamsError: The cursor is not one that was given out.
            DatabaseError: The receipts or the registry did not answer.
        """
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < len(str(MAX_ANSWERS))):
            raise InvalidParamsError("the cursor is not one that was given out", field="cursor", value=cursor[:80])
        start = int(cursor or 0)
        asked = thread.answers[start : start + PAGE]
        found = [receipt for receipt in (self._readable(caller, each, deadline) for each in asked) if receipt]
        more = start + PAGE < len(thread.answers)
        return found, len(asked) - len(found), str(start + PAGE) if more else None

    def change(self, caller: Caller, thread_id: str, *, name: str | None, shared: bool | None) -> Thread:
        """Name or share a thread of *caller*.

        Raises:
            NotFoundError: It is not there, or is another credential's.
            InvalidParamsError: Nothing is to change, or the name is empty.
        """
        thread, named = self._own(caller, thread_id), None if name is None else _one_line(name)[:MAX_NAME]
        if named == "" or (named is None and shared is None):
            raise InvalidParamsError("a thread needs a name, or `shared`", field="name", value=name, allowed=None)
        changed = self._receipts.change_thread(thread, name=named, shared=shared)
        if changed is None:
            raise NotFoundError(f"there is no thread {thread_id!r}")
        return changed

    def delete(self, caller: Caller, thread_id: str) -> int:
        """Remove a thread of *caller* for good, with the receipts of its answers: how many receipts went.

        Raises NotFoundError: It is not there, or is another credential's.
        """
        thread = self._own(caller, thread_id)
        stored = [self._receipts.receipt(caller.tenant, each, self._clock()) for each in thread.answers]
        gone = [receipt for receipt in stored if receipt is not None and receipt.credential == thread.owner]
        for receipt in gone:
            self._receipts.delete_receipt(receipt)
        self._receipts.delete_thread(thread)
        return len(gone)

    def markdown(self, caller: Caller, thread_id: str, deadline: Deadline) -> str:
        """A thread as Markdown, with what *caller* may read now.  Raises what `read` and `page` raise."""
        thread = self.read(caller, thread_id)
        readable = [self._readable(caller, each, deadline) for each in thread.answers]
        found = [receipt.body for receipt in readable if receipt is not None]
        title = thread.name if thread.named or is_own(thread, caller) else ""
        return as_markdown(title, found, left_out=len(thread.answers) - len(found))

    def _own(self, caller: Caller, thread_id: str) -> Thread:
        found = self.read(caller, thread_id)
        if not is_own(found, caller):
            raise NotFoundError(f"there is no thread {thread_id[:80]!r} of this credential")
        return found

    def _own_answer(self, caller: Caller, answer_id: str, deadline: Deadline) -> Receipt:
        receipt = self._answers.read(caller, answer_id, deadline)
        if receipt.credential != caller.credential:
            raise NotFoundError(f"there is no answer {answer_id!r} of this credential")
        return receipt

    def _readable(self, caller: Caller, answer_id: str, deadline: Deadline) -> Receipt | None:
        try:
            return self._answers.read(caller, answer_id, deadline)
        except NotFoundError:
            return None

    def _now(self) -> str:
        return rfc3339(self._clock(), precision="milliseconds")


def is_own(thread: Thread, caller: Caller) -> bool:
    """Whether *caller* has the credential that began *thread*."""
    return (thread.tenant, thread.owner) == (caller.tenant, caller.credential)


def as_markdown(title: str, receipts: Sequence[Mapping[str, Any]], *, left_out: int = 0) -> str:
    r"""Questions, answers and footnotes of *receipts* as Markdown, in which no text is code, markup or a foreign link.

    >>> said = {"start": 0, "end": 8, "markers": [1], "attributed": False}
    >>> cited = {"marker": 1, "key": "acme/team/a.md", "quote": "Is *red*.", "status": "verified", "version_id": "v1"}
    >>> receipt = {"question": "<b>?", "answer": "It's red [1].", "sentences": [said], "citations": [cited]}
    >>> print(as_markdown("Pump", [receipt | {"created_at": "2026-11-26T10:00:00Z"}]))
    # Pump
    <BLANKLINE>
    ## \<b\>?
    <BLANKLINE>
    It's red[^1].
    <BLANKLINE>
    [^1]: “Is \*red\*.” team/a.md, version v1 (verified)
    <BLANKLINE>
    """
    parts = [f"# {_plain(title)}"] if title else []
    notes: list[str] = []
    for body in receipts:
        first = len(notes)
        parts.append(f"## {_plain(str(body.get('typed') or body['question']))}")
        parts += [f"*Understood as: {_plain(str(body['question']))}*"] if body.get("typed") else []
        parts.append(_with_footnotes(body, first))
        notes += [_footnote(first + number, each) for number, each in enumerate(body["citations"], 1)]
    if left_out:
        parts.append(f"*Answers that are not shown: {left_out}.*")
    return "\n\n".join([*parts, *notes]) + "\n"


def _with_footnotes(body: Mapping[str, Any], first: int) -> str:
    """The answer with a reference in the place of each marker, counted from *first*; any other bracket stays."""
    answer, at, out = str(body["answer"]), 0, ""
    numbers = {each["marker"]: first + number for number, each in enumerate(body["citations"], 1)}
    for sentence in sorted(body.get("sentences") or (), key=lambda each: each["end"]):
        references = [f"[^{numbers[marker]}]" for marker in sentence["markers"] if marker in numbers]
        if not references or sentence["end"] < at:
            continue
        out += _disarmed(answer[at : sentence["end"]]) + "".join(references)
        marked = None if sentence["attributed"] else _MARKERS.match(answer, sentence["end"])
        at = marked.end() if marked is not None else sentence["end"]
    return out + _disarmed(answer[at:])


def _footnote(number: int, citation: Mapping[str, Any]) -> str:
    place = [str(citation["key"]).partition("/")[2], citation.get("place"), f"version {citation['version_id']}"]
    where = ", ".join(_plain(str(each)) for each in place if each)
    return f"[^{number}]: “{_plain(str(citation['quote']))}” {where} ({citation['status']})"


def _plain(text: str) -> str:
    """*text* in one line, with nothing in it that Markdown reads."""
    return _SPECIAL.sub(r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _disarmed(text: str) -> str:
    for armed, replacement in _ARMED:
        text = armed.sub(replacement, text)
    return text
