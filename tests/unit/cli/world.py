"""The command line on a fake API: no socket, no waiting, nothing patched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email import message_from_bytes
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import httpx
from typer.testing import CliRunner, Result

from ragdrop.client import RagdropClient
from ragdrop.config import Settings
from ragdrop.ports.message_queue import DeployedStack
from ragdrop.ports.registry import Registry
from ragdrop_cli.main import build
from ragdrop_cli.session import Session
from tests.world import World

API_URL, API_KEY = "http://api.example/prod", "rd_test"
BUCKET_HOST = "bucket.example"
NOON = datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=1)))
Answer = Callable[[httpx.Request], httpx.Response]


@dataclass
class FakeApi:
    """ragdrop's routes as far as the command line uses them.

    A file is indexed once it was looked at more than `polls_needed` times, in its record or in the list, which never
    shows the `unlisted`.
    """

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)
    routes: dict[tuple[str, str], Answer] = field(default_factory=dict)
    polls_needed: int = 0
    failing: dict[str, dict[str, str]] = field(default_factory=dict)
    unlisted: set[str] = field(default_factory=set)
    page_size: int = 1_000
    found: list[dict[str, str]] = field(default_factory=list)
    max_bytes: int = 50 * 1024 * 1024

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        route = request.url.path.removeprefix("/prod")
        answer = self.routes.get((request.method, route))
        if answer is not None:
            return answer(request)
        if request.url.host == BUCKET_HOST:
            return self._posted(request)
        if route == "/documents":
            return self._listing(request)
        if route == "/uploads":
            return self._form(json.loads(request.content))
        if route == "/search":
            return httpx.Response(200, json={"results": self.found, "request_id": "r1"})
        if request.method == "POST" and route.endswith("/retry"):
            return self._retry(unquote(route).removeprefix("/documents/").removesuffix("/retry"))
        name = unquote(request.url.raw_path.decode().partition("?")[0]).removeprefix("/prod/documents/")
        return {"PUT": self._put, "GET": self._get, "DELETE": self._delete}[request.method](name, request)

    def _put(self, name: str, request: httpx.Request) -> httpx.Response:
        url = f"https://other.example/documents/{request.url.raw_path.decode().partition('/documents/')[2]}?version=v1"
        fields = self._keep(name, request.content)
        return httpx.Response(202, json=fields | {"status_url": url, "request_id": "r1"})

    def _keep(self, name: str, body: bytes) -> dict[str, Any]:
        vault, _, path = name.partition("/")
        self.bodies[name] = body
        fields = {"vault": vault, "path": path, "key": f"demo/{name}", "version_id": "v1", "status": "pending"}
        etag = hashlib.md5(body, usedforsecurity=False).hexdigest()
        self.documents[name] = fields | {"polls": 0, "etag": etag, "sidecar_etag": None}
        return fields

    def _form(self, asked: dict[str, str]) -> httpx.Response:
        name = f"{asked['vault']}/{asked['path']}"
        form = {"vault": asked["vault"], "path": asked["path"], "key": f"demo/{name}", "max_bytes": self.max_bytes}
        form |= {"url": f"http://{BUCKET_HOST}/", "fields": {"key": name, "Content-Type": asked["media_type"]}}
        return httpx.Response(201, json=form)

    def _posted(self, request: httpx.Request) -> httpx.Response:
        message = b"content-type: " + request.headers["content-type"].encode() + b"\n\n" + request.read()
        fields = {
            part.get_param("name", header="content-disposition"): part for part in message_from_bytes(message).walk()
        }
        self._keep(str(fields["key"].get_payload()), cast("bytes", fields["file"].get_payload(decode=True)))
        return httpx.Response(204, headers={"x-amz-version-id": "v1"})

    def _get(self, name: str, request: httpx.Request) -> httpx.Response:
        record = self.documents.get(name)
        if record is None:
            return refused(404, "DOCUMENT_NOT_FOUND", f"no document {name}")
        self._ingest(name, record)
        return httpx.Response(200, json=record)

    def _ingest(self, name: str, record: dict[str, Any]) -> None:
        record["polls"] += 1
        if name in self.failing:
            record |= {"status": "failed", "error": self.failing[name]}
        elif record["polls"] > self.polls_needed:
            record |= {"status": "indexed", "live_version_id": record["version_id"]}

    def _retry(self, name: str) -> httpx.Response:
        record = self.documents.get(name)
        if record is None:
            return refused(404, "DOCUMENT_NOT_FOUND", f"no document {name}")
        record |= {"status": "pending"}
        return httpx.Response(202, json=record | {"status_url": f"/documents/{name}?version=v1"})

    def _delete(self, name: str, request: httpx.Request) -> httpx.Response:
        if self.documents.pop(name, None) is None:
            return refused(404, "DOCUMENT_NOT_FOUND", f"no document {name}")
        receipt: dict[str, Any] = {"key": f"demo/{name}", "version_id": "v2", "status": "deleted"}
        if "purge" in request.url.params:
            counts = {"versions": 3, "derived": 4, "chunks": 5, "registry_items": 2, "receipts": 1}
            receipt |= {"restorable_until": None, "chunks_removed": 5, "purged": counts}
            return httpx.Response(200, json=receipt)
        return httpx.Response(200, json=receipt | {"restorable_until": "2030-01-01T00:00:00Z", "chunks_removed": None})

    def _listing(self, request: httpx.Request) -> httpx.Response:
        first = int(request.url.params.get("cursor", "0"))
        start = request.url.params.get("prefix", "")
        records = [self.documents[name] for name in sorted(self.documents) if self._listed(name)]
        records = [record for record in records if str(record.get("path", "")).startswith(start)]
        after = first + min(self.page_size, int(request.url.params.get("limit", self.page_size)))
        cursor = str(after) if after < len(records) else None
        return httpx.Response(200, json={"documents": records[first:after], "cursor": cursor, "request_id": "r1"})

    def _listed(self, name: str) -> bool:
        self._ingest(name, self.documents[name])
        return name not in self.unlisted


def refused(status: int, code: str, message: str, **details: object) -> httpx.Response:
    """A response with ragdrop's error body."""
    error = {"code": code, "message": message, "details": details, "request_id": "r-7"}
    return httpx.Response(status, json={"error": error})


@dataclass
class FakeDeployment:
    """ragdrop's own composition root over fakes, with another `reindexer` where one is given."""

    world: World = field(default_factory=World)
    reindexer: Any = None

    @property
    def settings(self) -> Settings:
        return self.world.app.ports.settings

    @property
    def operator(self) -> Any:
        return self.world.app.operate.operator

    @property
    def registry(self) -> Registry:
        return self.world.app.ports.registry

    @property
    def delete_tenant(self) -> Any:
        return self.world.app.operate.delete_tenant

    @property
    def sweep_tenants(self) -> Any:
        return self.world.app.operate.sweep_tenants

    @property
    def restore(self) -> Any:
        return self.world.app.operate.restore

    @property
    def calibrate(self) -> Any:
        return self.world.app.operate.calibrate

    @property
    def examine(self) -> Any:
        return self.world.app.operate.examine

    @property
    def queue(self) -> Any:
        return self.world.queue

    @property
    def reindex(self) -> Any:
        return self.reindexer or self.world.app.operate.reindex

    @property
    def planned_reindex(self) -> Any:
        return self.world.app.operate.planned_reindex


@dataclass
class CommandLine:
    """`ragdrop` in its own folder; `run` gives the exit code and what was printed.  Time passes by sleeping."""

    api: FakeApi
    folder: Path
    deployment: FakeDeployment = field(default_factory=FakeDeployment)
    environ: dict[str, str] = field(default_factory=lambda: {"RAGDROP_API_URL": API_URL, "RAGDROP_API_KEY": API_KEY})
    slept_s: list[float] = field(default_factory=list)
    stacks: dict[str, DeployedStack] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    browser_starts: bool = True
    clients: dict[str, Any] = field(default_factory=dict)
    key: str = API_KEY

    def browse(self, url: str) -> bool:
        """Note what a browser would open."""
        if self.browser_starts:
            self.opened.append(url)
        return self.browser_starts

    def connect(self, url: str, key: str) -> RagdropClient:
        return RagdropClient(url, key, transport=httpx.MockTransport(self.api), sleep=self.slept_s.append)

    def run(self, *arguments: str, terminal: bool = False, no_color: bool = False) -> Result:
        session = Session(
            environ=self.environ,
            folder=self.folder,
            connect=self.connect,
            deploy=lambda _environ: cast("Any", self.deployment),
            find=self.stacks.__getitem__,
            aws=lambda service, _region: self.clients[service],
            sleep=self.slept_s.append,
            clock=lambda: sum(self.slept_s),
            now=lambda: NOON,
            browse=self.browse,
        )
        seen_as = {
            "FORCE_COLOR": "1" if terminal else None,
            "NO_COLOR": "1" if no_color else None,
            "TERM": "xterm",
            "COLUMNS": "120",
        }
        return CliRunner(env=seen_as).invoke(build(), list(arguments), obj=session)

    def write(self, name: str, text: str = "words") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_stack(self, **fields: object) -> Path:
        return self.write(".local/stack.json", json.dumps(fields))
