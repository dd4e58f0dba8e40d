"""The web page at `/app`: its files, and how a browser signs in.

Two files are made of those of `ragdrop/page/`, as each request may start a function: the page, which holds its styles
and so paints before anything else has come, and its script.  The page names the script under a digest of both, so a
browser may cache it for good and never mixes two releases.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping
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
MEDIA_TYPES: Mapping[str, str] = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
FOR_GOOD = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"  # cached, but asked for again with its ETag
FIXED_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_LOCAL = re.compile(r'(src=")app/')
SCRIPT = "main.js"
FIRST = "theme.js"  # runs before the first paint, and is no module
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_LATER = re.compile(r'\bimport\("\./([\w.]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function\*?|const|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^ *//.*\n|(?<=[;,{]) +// [^\"'`\n]*$", re.MULTILINE)


def content_security_policy(upload_origin: str, scripts: Iterable[str] = (), styles: Iterable[str] = ()) -> str:
    """The policy of the page: files and requests of the page's origin, uploads to the bucket, and pictures in it.

    Of inline *scripts* and *styles* it admits those alone that are given, each by its SHA-256.

    >>> "connect-src 'self' https://bucket.example;" in content_security_policy("https://bucket.example")
    True
    >>> content_security_policy("", styles=["a {}"]).split("; ")[2]
    "style-src 'self' 'sha256-mkSHzL7faOU7/U/v8Umg+058R69+vN2A2xmE3Fz1q98='"
    """
    rules = (
        "default-src 'none'",
        " ".join(("script-src 'self'", *map(_digest_source, scripts))),
        " ".join(("style-src 'self'", *map(_digest_source, styles))),
        f"img-src 'self' data: {upload_origin}".rstrip(),
        f"connect-src 'self' {upload_origin}".rstrip(),
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


def _digest_source(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


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
    """One script: the module SCRIPT when the page is read, and each other when it is first asked for."""
    modules = "".join(module_of(name, text) for name, text in scripts.items() if name != FIRST)
    return f""""use strict"; {{
const made = new Map();
const $load = (name) => made.get(name) ?? made.set(name, modules[name]()).get(name);
const $later = async (name) => $load(name);
const modules = {{
{modules}}};
document.addEventListener("DOMContentLoaded", () => $load("{SCRIPT}"));
}}
"""


@cache
def page_files() -> Mapping[str, bytes]:
    """The page and its script by name, made once."""
    files = {file.name: file.read_text("utf-8") for file in sorted(FOLDER.iterdir())}
    styles = "".join(text for name, text in files.items() if name.endswith(".css"))
    script = bundled({name: text for name, text in files.items() if name.endswith(".js")})
    html = files[INDEX].replace("<script></script>", f"<script>{files[FIRST]}</script>")
    html = html.replace("<style></style>", f"<style>{styles}</style>")
    return {INDEX: html.encode(), SCRIPT: script.encode()}


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
        inline = [found.groups() for found in _INLINE.finditer(page_files()[INDEX].decode())]
        texts = ([text for tag, text in inline if tag == each] for each in ("script", "style"))
        return {**FIXED_HEADERS, "content-security-policy": content_security_policy(origin_of(upload_url()), *texts)}

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
