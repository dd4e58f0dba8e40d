"""`GET /me`, `POST /app/links` and `POST /app/sign-in`: who a credential is, and how a browser gets it."""

from collections.abc import Callable, Collection
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from ragdrop import __version__
from ragdrop.api.http import Authenticate, GivenSecret
from ragdrop.documents.service import MAX_BODY_BYTES
from ragdrop.domain.tenants import Caller, Engine, Role
from ragdrop.domain.times import rfc3339
from ragdrop.ingest.index_revision import MAX_OBJECT_BYTES
from ragdrop.query.scopes import visible_vaults
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.sign_in import SignInCodes


class MeShape(BaseModel):
    """What a credential opens."""

    request_id: str
    version: str = Field(description="Of ragdrop.")
    tenant: str
    role: Role = Field(description="reader, writer or admin.")
    credential: str = Field(description="The id of the key, or the subject of the token; never the secret.")
    vaults: list[str] = Field(description="The vaults that it may see and that hold documents.")
    limited_to_vaults: bool = Field(description="Whether it is limited to some vaults.")
    doc_types: list[str] = Field(description="Types of the tenant's documents.")
    models: list[str] = Field(description="Chat models that `model` of `/ask` may name; the first is the default.")
    index: Engine = Field(description="The chunk index that answers: `bucket` or `opensearch`.")
    max_put_bytes: int = Field(description="The largest body of `PUT /documents`.")
    max_upload_bytes: int = Field(description="The largest file of `POST /uploads`.")


class SignInLink(BaseModel):
    """A code that opens the page once: `…/app#/sign-in/CODE`."""

    request_id: str
    code: str = Field(description="Works once.")
    expires_at: str = Field(description="RFC 3339.")


class SignInRequest(BaseModel):
    """A code of `POST /app/links`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    code: str = Field(min_length=1, max_length=100, description="As `POST /app/links` gave it.")


class SignedIn(BaseModel):
    """The credential that the code was made with."""

    request_id: str
    key: str = Field(description="The credential itself.")


def session_router(
    directory: TenantDirectory,
    codes: Callable[[], SignInCodes],
    caller: Authenticate,
    models: Collection[str],
) -> APIRouter:
    """The routes; *codes* is made at the first request."""
    router = APIRouter(tags=["page"])

    @router.get("/me", response_model=MeShape, summary="Ask what a credential opens")
    def get_me(request: Request, who: Annotated[Caller, Depends(caller)]) -> MeShape:
        """The tenant, role and vaults of the credential, and the limits of uploads."""
        tenant = directory.tenant(who.tenant)
        engine: Engine = tenant.active.engine if tenant else "bucket"
        vaults = visible_vaults(tenant.vaults, who.vaults) if tenant else ()
        return MeShape(
            request_id=request.state.request_id,
            version=__version__,
            tenant=who.tenant,
            role=who.role,
            credential=who.credential,
            vaults=list(vaults),
            limited_to_vaults=bool(who.vaults),
            doc_types=tenant.doc_types_in(vaults) if tenant else [],
            models=list(models),
            index=engine,
            max_put_bytes=MAX_BODY_BYTES,
            max_upload_bytes=MAX_OBJECT_BYTES,
        )

    @router.post("/app/links", response_model=SignInLink, status_code=201, summary="Make a sign-in link")
    def post_link(request: Request, _who: Annotated[Caller, Depends(caller)], secret: GivenSecret) -> SignInLink:
        """A code for the page that works once, within 60 seconds, and stands for the credential of this request."""
        code, expires_s = codes().make(secret or "")
        return SignInLink(request_id=request.state.request_id, code=code, expires_at=rfc3339(expires_s))

    @router.post("/app/sign-in", response_model=SignedIn, summary="Redeem a sign-in link")
    def post_sign_in(body: SignInRequest, request: Request) -> SignedIn:
        """The credential that the code was made with; the code is used up."""
        return SignedIn(request_id=request.state.request_id, key=codes().redeem(body.code))

    return router
