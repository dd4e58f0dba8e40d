"""What the routes of the past and of stages take and reply."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.shapes.fields import (
    At,
    Cursor,
    InVault,
    Placed,
    Question,
    Replied,
    SizeBytes,
    VersionIdOrNull,
    placed,
    shaped,
)
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.history import LiveChange
from ragdrop.past.record import DocumentVersion, RollbackStep, VersionStatus
from ragdrop.past.stages import GoldenResult, StageOfVault


class VersionShape(BaseModel):
    """One version of a document, or its deletion."""

    version_id: str | None = Field(description="The S3 version; null of a deletion.")
    modified_at: str = Field(description="When it began to answer, failed, or was deleted.")
    size_bytes: SizeBytes
    status: VersionStatus = Field(description="`live`, `replaced`, `pending`, `failed` or `deleted`.")
    revision: int | None = Field(description="The last attempt to index it, counted up.")
    written_by: str | None = Field(description="The label or id of the key that wrote it; null where nobody knows.")
    change_id: str | None = Field(description="What `ragdrop rollback --to` and the cursor of a feed take.")
    added: list[str] | None = Field(default=None, description="Passages that it brought; with `changes=1`.")
    removed: list[str] | None = Field(default=None, description="Passages that went with it; with `changes=1`.")
    cut: bool | None = Field(default=None, description="Whether there are more, or longer ones; with `changes=1`.")


class HistoryResponse(Placed, Replied):
    """Versions of a document, the newest first; `cursor` asks for those before, null ends."""

    versions: list[VersionShape] = Field(description="Versions of the object.")
    cursor: Cursor


class ChangeShape(Placed):
    """What happened to one document."""

    id: str = Field(description="Its id.")
    at: At
    kind: Literal["activated", "failed", "deleted"] = Field(description="It went live, failed, or was deleted.")
    revision: int = Field(description="The last attempt to index it, counted up.")
    live_revision: int | None = Field(description="The revision that answers from then on.")
    version_id: VersionIdOrNull
    previous_version_id: str | None = Field(description="The S3 version that answered until then.")
    size_bytes: SizeBytes
    written_by: str | None = Field(description="The label or id of the key that did it; null where nobody knows.")


class ChangesResponse(Replied):
    """Changes of a vault in the order asked for; `cursor` asks for those behind it, `more` if there are some now."""

    changes: list[ChangeShape] = Field(description="Changes, in the order asked for.")
    cursor: str = Field(description="Asks for the changes behind these, those to come too.")
    more: bool = Field(description="Whether more changes wait already.")


def version_shape(found: DocumentVersion) -> VersionShape:
    """A version as the history shows it."""
    text = {}
    if found.text is not None:
        text = {"added": list(found.text.added), "removed": list(found.text.removed), "cut": found.text.cut}
    return shaped(VersionShape, found, modified_at=rfc3339(found.at_ms / 1_000, precision="milliseconds"), **text)


def change_shape(found: LiveChange) -> ChangeShape:
    """A change as the feed shows it."""
    more = {"live_revision": found.after, "previous_version_id": found.before_version_id}
    return shaped(ChangeShape, found, **placed(found.key), **more)


class RollbackRequest(BaseModel):
    """Back to when, and how far this call goes; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    to: str = Field(
        min_length=1,
        max_length=60,
        description="RFC 3339 within 30 days, or the id of the last change that stays.",
        examples=["2026-01-31T10:00:00Z"],
    )
    prefix: str = Field(default="", max_length=900, description="Only paths that begin so.")
    path: str | None = Field(default=None, max_length=900, description="Only the document of this path.")
    cursor: str | None = Field(default=None, max_length=900, description="The `cursor` of the part before.")
    dry_run: bool = Field(default=False, description="Say what would be done, and do nothing.")
    allow_mass_delete: bool = Field(
        default=False, description="Delete also where over 20 documents, and over 20 % of the vault, would go."
    )


class RollbackStepShape(Placed):
    """What was done to one document, in a dry run what would be."""

    action: Literal["restore", "delete", "done", "lost"] = Field(
        description="Its version was put back; it was deleted; it was so already; its version is no longer stored."
    )
    version_id: str | None = Field(description="The S3 version of then; null where there was none.")
    new_version_id: str | None = Field(description="The S3 version that stands on top now; null in a dry run.")


class RollbackResponse(InVault, Replied):
    """One part of a rollback, by path; `cursor` asks for the next one, null ends."""

    dry_run: bool = Field(description="Whether this only says what would be done.")
    steps: list[RollbackStepShape] = Field(description="What was done to each document, by path.")
    total: int = Field(description="Documents that changed since then, of all parts.")
    deletions: int = Field(description="Documents that were not there then, of all parts.")
    cursor: Cursor


def step_shape(found: RollbackStep) -> RollbackStepShape:
    """A step of a rollback."""
    return shaped(RollbackStepShape, found, **placed(found.key))


MAX_SHOWN = 1_000  # paths of a stage


class StageShape(InVault):
    """A stage of a vault."""

    name: str = Field(description="Its name; `waiting` is that of files without one.")
    waiting: list[str] = Field(description="Paths of the documents that wait in it, at most 1,000.")
    total: int = Field(description="How many documents wait in it.")
    pending: int = Field(description="Documents that are still being indexed for it.")
    promoted: bool = Field(description="Whether it counts for every search already.")


class StagesResponse(Replied):
    """The stages of a vault, by name."""

    stages: list[StageShape] = Field(description="Stages, by name.")


class CheckShape(BaseModel):
    """A golden question: whether what it expects is among the first three documents, now and with the stage."""

    question: Question
    expected: str = Field(description="The document or the text that it expects.")
    live: bool = Field(description="Whether it is answered now.")
    staged: bool = Field(description="Whether it is answered with the stage.")


class StageResponse(InVault, Replied):
    """What was done to a stage."""

    name: str = Field(description="Its name.")
    total: int = Field(description="Documents that went live, or were discarded.")
    checks: list[CheckShape] = Field(default=[], description="The golden questions that were asked.")


def stage_shape(found: StageOfVault) -> StageShape:
    """A stage in the list of a vault's stages."""
    paths = [key.path for key in found.waiting[:MAX_SHOWN]]
    return shaped(StageShape, found, waiting=paths, total=len(found.waiting))


def check_shapes(checks: Sequence[GoldenResult]) -> list[CheckShape]:
    """Golden questions that were asked with a stage."""
    return [shaped(CheckShape, each) for each in checks]
