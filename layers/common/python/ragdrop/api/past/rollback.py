"""`POST /vaults/{vault}/rollback`: documents back to what they were."""

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.http import Authenticate, RequestDeadline
from ragdrop.domain.keys import check_name
from ragdrop.domain.tenants import Caller
from ragdrop.past.rollback import RollBack, RollbackStep, WayBack


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
    cursor: str | None = Field(default=None, max_length=900, description="The `cursor` of the part before.")
    dry_run: bool = Field(default=False, description="Say what would be done, and do nothing.")
    allow_mass_delete: bool = Field(
        default=False, description="Delete also where over 20 documents, and over 20 % of the vault, would go."
    )


class RollbackStepShape(BaseModel):
    """What was done to one document, in a dry run what would be."""

    vault: str
    path: str
    action: Literal["restore", "delete", "done", "lost"] = Field(
        description="Its version was put back; it was deleted; it was so already; its version is not kept any more."
    )
    version_id: str | None = Field(description="The S3 version of then; null where there was none.")
    new_version_id: str | None = Field(description="The S3 version that stands on top now; null in a dry run.")


class RollbackResponse(BaseModel):
    """One part of a rollback, by path; `cursor` asks for the next one, null ends."""

    request_id: str
    vault: str
    dry_run: bool
    steps: list[RollbackStepShape]
    total: int = Field(description="Documents that changed since then, of all parts.")
    deletions: int = Field(description="Documents that were not there then, of all parts.")
    cursor: str | None


def rollback_router(roll_back: Callable[[], RollBack], writer: Authenticate) -> APIRouter:
    """The route over a use case that is made at the first request."""
    router = APIRouter(tags=["history"])

    @router.post("/vaults/{vault}/rollback", response_model=RollbackResponse, summary="Take documents back")
    def post_rollback(
        vault: str,
        body: RollbackRequest,
        request: Request,
        who: Annotated[Caller, Depends(writer)],
        deadline: RequestDeadline,
    ) -> RollbackResponse:
        """Put the versions of a moment back as new versions, and delete what was not there.

        Up to 200 documents a call; the same call again does what is left.  Nothing is embedded again.
        """
        name = check_name("vault", vault)
        found = roll_back()(who, name, WayBack(**body.model_dump()), deadline)
        return RollbackResponse(
            request_id=request.state.request_id,
            vault=name,
            dry_run=body.dry_run,
            steps=[_step(each) for each in found.steps],
            total=found.documents,
            deletions=found.deletions,
            cursor=found.cursor,
        )

    return router


def _step(found: RollbackStep) -> RollbackStepShape:
    return RollbackStepShape(
        vault=found.key.vault,
        path=found.key.path,
        action=found.action,
        version_id=found.version_id,
        new_version_id=found.new_version_id,
    )
