"""What an answer needs beyond its search: prompts, the verifier of claims, and the store of receipts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from groundcheck import OpenClaim, Opinion
from ragdrop.domain.answers import Feedback, Receipt, Source, Thread, Turn
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import AnswerStyle
from ragdrop.ports.model_services import Message


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What a prompt is made of; `system_prompt` and `prompt_template` stand in place of the shipped ones.

    `turns` were said before the question, the oldest first; `today` is a date of ISO 8601.
    """

    question: str
    sources: Sequence[Source]
    style: AnswerStyle = "normal"
    system_prompt: str | None = None
    prompt_template: str | None = None
    turns: Sequence[Turn] = ()
    today: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages to send, and a hash of all templates that made them.

    `prefix` stands before the number of each source, and so in its marker: nothing that is shown holds such a marker.
    """

    messages: list[Message]
    version: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as a model that plans is shown it: its document, its rows, and lines that name its columns."""

    path: str
    rows: int
    columns: Sequence[str]


class Prompter(Protocol):
    """Renders the messages of a question from templates; retrieved text is data in them and cannot end itself."""

    def system(self, style: AnswerStyle, system_prompt: str | None = None, *, prefix: str = "") -> str:
        """The system message: the shipped prompt or *system_prompt*, the style, and the rules that always hold.

        The rules name markers with *prefix*.

        Raises InvalidParamsError: *system_prompt* does not render.
        """

    def render(self, request: PromptRequest) -> Prompt:
        """The system message, and the user message that holds sources and question.

        Raises InvalidParamsError: `system_prompt` or `prompt_template` does not render.
        """

    def plan(self, question: str, tables: Sequence[ShownTable], today: str) -> list[Message]:
        """The messages that ask for a plan over *tables*, which are numbered from 1; *today* is a date of ISO 8601."""

    def problem(self, template: str) -> str | None:
        """Why *template* cannot be rendered in place of a shipped one, in one line; None where it can."""


class ClaimVerifier(Protocol):
    """Judges what rules leave open.

    `reads_relations` says whether it can tell that a passage states a claim.  One that cannot never says `verified`,
    and is not asked about claims that have evidence already.  `decides` says whether it is asked about all but
    copies of a sentence, and overrules the rules.

    Raises EmbeddingServiceError, ReaderError or GenerationError, whichever service it asks, CircuitOpenError or
    DeadlineError.
    """

    reads_relations: bool
    decides: bool

    def judge(self, claims: Sequence[OpenClaim], deadline: Deadline) -> list[Opinion]:
        """One opinion a claim, in order: all *claims* are judged at once."""


class Receipts(Protocol):
    """Receipts, found by tenant and id, and by the documents they name; and threads, which name receipts.

    All methods raise DatabaseError.
    """

    def put_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt until its time has passed, and note it with each of its documents.  It is quick to fail."""

    def receipt(self, tenant: str, receipt_id: str, now_s: float) -> Receipt | None:
        """A receipt (consistent); None if there is none, or its time has passed at *now_s* (seconds since 1970)."""

    def put_feedback(self, receipt: Receipt, credential: str, feedback: Feedback) -> bool:
        """Keep what a credential says with the receipt, for as long; False if the receipt is gone."""

    def receipts_with_feedback(
        self, tenant: str, *, after: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        """Receipts of a tenant that have feedback, by id, behind the id *after*.

        Returns at most *limit* of them, and the id to continue behind, None at the end.
        """

    def chained_receipts(
        self, tenant: str, *, after: str, before: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        """Receipts with a link, by id, between *after* and *before*, and what a purge left of others.

        Returns at most *limit* of them, and the id to continue behind, None at the end.
        """

    def forget_receipts(self, key: DocumentKey) -> int:
        """Remove every receipt that names a document, but for its link: for a purge.  How many went."""

    def forget_all_receipts(self, tenant: str) -> int:
        """Remove every receipt and thread of a tenant.  How many receipts went."""

    def delete_receipt(self, receipt: Receipt) -> None:
        """Remove a receipt with all that names it; no error where it is gone."""

    def put_thread(self, thread: Thread) -> None:
        """Store a thread, in place of one with its id."""

    def thread(self, tenant: str, thread_id: str, now_s: float) -> Thread | None:
        """A thread (consistent); None if there is none, or its time has passed."""

    def threads_of(self, tenant: str, owner: str, now_s: float) -> list[Thread]:
        """The threads of a credential, the one that changed last first."""

    def add_to_thread(self, thread: Thread, answer_id: str, updated_at: str, expires_at_s: int) -> Thread | None:
        """Add an answer to a thread as it is now; None if it is gone, or full."""

    def change_thread(self, thread: Thread, *, name: str | None = None, shared: bool | None = None) -> Thread | None:
        """Name or share a thread as it is now; None if it is gone."""

    def delete_thread(self, thread: Thread) -> None:
        """Remove a thread and no receipt; no error where it is gone."""
