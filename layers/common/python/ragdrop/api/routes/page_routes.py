"""The web page at `/app`: its files, and how a browser signs in.

The files are made of those of `ragdrop/page/`: one script and one style sheet, as each request may start a function.
The page names them under a digest of all of them, so a browser may cache them for good and never mixes two releases.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from ragdrop import __version__
from ragdrop.api.edge import Authenticate, GivenSecret
from ragdrop.api.routes.document_headers import not_modified
from ragdrop.api.shapes.fields import base_of
from ragdrop.api.shapes.operation_shapes import MeShape, SignedIn, SignInLink, SignInRequest
from ragdrop.documents.service import MAX_BODY_BYTES
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.tenants import Caller, Engine
from ragdrop.errors import ForbiddenError, NotFoundError
from ragdrop.ingest.index_revision import MAX_OBJECT_BYTES
from ragdrop.query.understand import visible_vaults
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.sign_in import SignInCodes

FOLDER = Path(__file__).parents[2] / "page"
INDEX = "index.html"
MEDIA_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOR_GOOD = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"  # cached, but asked for again with its ETag
FIXED_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_LOCAL = re.compile(r'((?:href|src)=")app/')
SCRIPT, STYLES = "main.js", "page.css"
FIRST = "theme.js"  # runs before the first paint, and is no module
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_LATER = re.compile(r'\bimport\("\./([\w.]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function\*?|const|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^ *//.*\n|(?<=[;,{]) +// [^\"'`\n]*$", re.MULTILINE)


def content_security_policy(upload_origin: str) -> str:
    """The policy of the page: files and requests of the page's origin, uploads to the bucket, and pictures in it.

    >>> "connect-src 'self' https://bucket.example;" in content_security_policy("https://bucket.example")
    True
    """
    rules = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        f"img-src 'self' data: {upload_origin}".rstrip(),
        f"connect-src 'self' {upload_origin}".rstrip(),
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


def origin_of(url: str) -> str:
    """Scheme and host of *url*, as a policy names them.

    >>> origin_of("https://docs.s3.eu-west-1.amazonaws.com/")
    'https://docs.s3.eu-west-1.amazonaws.com'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def with_release(html: str, release: str) -> str:
    """The page with its files named under *release*.

    >>> with_release('<script src="app/main.js">', "ab12")
    '<script src="app/ab12/main.js">'
    """
    return _LOCAL.sub(rf"\g<1>app/{release}/", html)


def module_of(name: str, text: str) -> str:
    r"""A module as an entry of the script: a function that gives what it exports.

    >>> module_of("a.js", 'import { b } from "./b.js";\nexport const a = () => import("./c.js");\n')
    '"a.js"() {\nconst { b } = $load("b.js");\nconst a = () => $later("c.js");\nreturn { a };\n},\n'
    """
    plain = _COMMENT.sub("", _LATER.sub(r'$later("\1")', _IMPORT.sub(r'const \1 = $load("\2");', text)))
    names = ", ".join(found[1] for found in _EXPORT.finditer(plain))
    return f'"{name}"() {{\n{_EXPORT.sub("", plain)}return {{ {names} }};\n}},\n'


def bundled(scripts: Mapping[str, str]) -> str:
    """One script: FIRST at once, the module SCRIPT when the page is read, and each other when it is first asked for."""
    modules = "".join(module_of(name, text) for name, text in scripts.items() if name != FIRST)
    return f""""use strict"; {{
{scripts[FIRST]}const made = new Map();
const $load = (name) => made.get(name) ?? made.set(name, modules[name]()).get(name);
const $later = async (name) => $load(name);
const modules = {{
{modules}}};
document.addEventListener("DOMContentLoaded", () => $load("{SCRIPT}"));
}}
"""


@cache
def page_files() -> Mapping[str, bytes]:
    """The files of the page by name, made once."""
    files = {file.name: file.read_text("utf-8") for file in sorted(FOLDER.iterdir()) if file.suffix in MEDIA_TYPES}
    styles = "".join(text for name, text in files.items() if name.endswith(".css"))
    script = bundled({name: text for name, text in files.items() if name.endswith(".js")})
    return {INDEX: files[INDEX].encode(), SCRIPT: script.encode(), STYLES: styles.encode()}


@cache
def release_of_page() -> str:
    """A digest of all files: 16 hex digits."""
    digest = hashlib.sha256()
    for name, body in page_files().items():
        digest.update(f"{name}\0{len(body)}\0".encode())
        digest.update(body)
    return digest.hexdigest()[:16]


def page_router(upload_url: Callable[[], str]) -> APIRouter:
    """The routes; *upload_url* is where forms of `POST /uploads` are posted, asked for once."""
    router = APIRouter(tags=["page"], include_in_schema=False)

    @cache
    def headers() -> Mapping[str, str]:
        return {**FIXED_HEADERS, "content-security-policy": content_security_policy(origin_of(upload_url()))}

    @router.get("/")
    def get_root(request: Request, accept: Annotated[str | None, Header()] = None) -> Response:
        """The page for a browser; for others where the page, the documentation and the OpenAPI document are."""
        base = base_of(request)
        if "text/html" in (accept or ""):
            return RedirectResponse(f"{base}/app", 307)
        return JSONResponse({"name": "ragdrop"} | {each: f"{base}/{each}" for each in ("app", "docs", "openapi.json")})

    @router.get("/app")
    def get_page(if_none_match: Annotated[str | None, Header()] = None) -> Response:
        """The page itself."""
        release = release_of_page()
        known = not_modified(release, if_none_match)
        if known is not None:
            return known
        html = with_release(page_files()[INDEX].decode(), release)
        shown = {**headers(), "cache-control": ASK_AGAIN, "etag": f'"{release}"'}
        return Response(html, headers=shown, media_type=MEDIA_TYPES[".html"])

    @router.get("/app/")
    def get_page_with_slash(request: Request) -> Response:
        """The page's own address has no slash at its end: its files are named relative to it."""
        return RedirectResponse("../app" if not request.url.query else f"../app?{request.url.query}", 307)

    @router.get("/app/{release}/{name}")
    def get_file(release: str, name: str) -> Response:
        """A file of the page; that of another release is the present one, and is not cached."""
        body = page_files().get(name)
        if body is None or name == INDEX:
            raise NotFoundError(f"the page has no file {name[:80]!r}", field="name", value=name[:80])
        caching = FOR_GOOD if release == release_of_page() else "no-store"
        return Response(
            body, headers={**headers(), "cache-control": caching}, media_type=MEDIA_TYPES[Path(name).suffix]
        )

    return router


def session_router(
    directory: TenantDirectory, codes: Callable[[], SignInCodes], caller: Authenticate, models: Collection[str]
) -> APIRouter:
    """The routes; *codes* is made at the first request."""
    router = APIRouter(tags=["page"])

    @router.get("/me", summary="Ask what a credential opens")
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
            groups=list(who.groups),
            doc_types=tenant.doc_types_for(who) if tenant else [],
            models=list(models),
            index=engine,
            max_put_bytes=MAX_BODY_BYTES,
            max_upload_bytes=MAX_OBJECT_BYTES,
        )

    @router.post("/app/links", status_code=201, summary="Make a sign-in link")
    def post_link(request: Request, who: Annotated[Caller, Depends(caller)], secret: GivenSecret) -> SignInLink:
        """A code for the page that works once, within 60 seconds, and stands for the credential of this request.

        A delegate has none: its key never belongs into a browser.
        """
        if who.role == "delegate":
            raise ForbiddenError("a delegate's key opens no page", role=who.role, needed="reader")
        code, expires_s = codes().make(secret or "")
        return SignInLink(request_id=request.state.request_id, code=code, expires_at=rfc3339(expires_s))

    @router.post("/app/sign-in", summary="Redeem a sign-in link")
    def post_sign_in(body: SignInRequest, request: Request) -> SignedIn:
        """The credential that the code was made with; the code is used up."""
        return SignedIn(request_id=request.state.request_id, key=codes().redeem(body.code))

    return router
