"""What `/threads` takes and replies (docs/api.md)."""

from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.shapes.fields import AnswerId, Cursor, Replied
from ragdrop.api.shapes.receipt_shapes import ReceiptShape
from ragdrop.domain.answers import MAX_NAME, Thread
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.tenants import Caller
from ragdrop.generate.threads import is_own


class ThreadSummary(BaseModel):
    """A thread without its answers."""

    thread_id: str = Field(description="Its id, which opens it if it is shared.")
    name: str | None = Field(description="As its owner called it, else its first question, which is null to others.")
    own: bool = Field(description="Whether the key that asks began it.")
    shared: bool = Field(description="Whether others of the tenant may open it by its id.")
    answers_total: int = Field(description="How many answers it has.")
    created_at: str = Field(description="When it was begun.")
    updated_at: str = Field(description="When its last answer was added.")
    expires_at: str = Field(description="When its last answer is no longer stored.")


class ThreadList(Replied):
    """The threads of a key."""

    threads: list[ThreadSummary] = Field(description="The one that changed last first, 100 at most.")


class ThreadReply(Replied, ThreadSummary):
    """A thread that was begun or changed."""


class ThreadShape(ThreadReply):
    """A thread with answers that the key may read now."""

    answers: list[ReceiptShape] = Field(description="Receipts, the oldest first, ten at most.")
    left_out: int = Field(description="Answers of this page that the key may not read, or that are gone.")
    cursor: Cursor


class ThreadMarkdown(Replied):
    """A thread as Markdown."""

    thread_id: str = Field(description="Its id.")
    markdown: str = Field(description="Questions and answers, each citation a footnote.")


class ThreadRequest(BaseModel):
    """A thread to begin."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer_id: AnswerId
    name: str = Field(default="", max_length=MAX_NAME, description="What to call it; else its first question.")


class ThreadAnswer(BaseModel):
    """An answer to add."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer_id: AnswerId


class ThreadChange(BaseModel):
    """What to change of a thread."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = Field(default=None, max_length=MAX_NAME, description="What to call it.")
    shared: bool | None = Field(default=None, description="Whether others of the tenant may open it by its id.")


class ThreadDeleted(Replied):
    """What was removed for good."""

    thread_id: str = Field(description="The thread that is gone.")
    receipts: int = Field(description="Receipts that are gone with it.")


def thread_fields(thread: Thread, who: Caller) -> dict[str, object]:
    """The fields of ThreadSummary, as *who* is shown them."""
    own = is_own(thread, who)
    return {
        "thread_id": thread.id,
        "name": thread.name if own or thread.named else None,
        "own": own,
        "shared": thread.shared,
        "answers_total": len(thread.answers),
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "expires_at": rfc3339(thread.expires_at_s),
    }
