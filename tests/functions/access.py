"""A deployment with two tenants and a credential of every kind, to try each request of docs/access.md on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from starlette.routing import Mount

from pages.access import Row
from ragdrop.domain.tenants import Role
from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, rest_event

SEEN, HIDDEN = "Wxqmine", "Vjqztheirs"  # stand in the texts of the caller's tenant, and of the other one


class Access:
    """Tenant `acme` asks; tenant `other` has what it must not see; tenant `closed` is disabled."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        operator = self.deployment.handlers["query"].app.operate.operator
        for tenant in ("acme", "other", "closed"):
            operator.create_tenant(tenant)

        def key(tenant: str, role: Role, *vaults: str, lifetime_s: int | None = None) -> str:
            return str(operator.create_key(tenant, role, vaults, lifetime_s=lifetime_s)[0])

        revoked, kept = operator.create_key("acme", "admin")
        operator.revoke_key("acme", kept.id)
        self.secrets = {
            "no key": None,
            "unknown": "rd_a_key_that_nobody_made",
            "expired": key("acme", "admin", lifetime_s=0),
            "revoked": revoked,
            "disabled": key("closed", "admin"),
            "reader": key("acme", "reader"),
            "writer": key("acme", "writer"),
            "admin": key("acme", "admin"),
            "writer of `team`": key("acme", "writer", "team"),
            "admin of `side`": key("acme", "admin", "side"),
        }
        operator.set_enabled("closed", enabled=False)
        self._others_key = key("other", "admin")
        for tenant, vault, word in (("acme", "team", SEEN), ("other", "theirs", HIDDEN)):
            for name in ("plan.md", "keep/plan.md"):
                self.deployment.put_object(f"{tenant}/{vault}/{name}", f"# The plan\n\nThe plan is {word}.")
        self.deployment.put_object("acme/side/plan.md", "# Another plan\n\nIt stands aside.")
        self.answers = {
            "acme": self._answer(self.secrets["admin"], "team"),
            "other": self._answer(self._others_key, "theirs"),
        }
        self.threads = {
            "acme": self._thread(key("acme", "admin"), "team"),
            "other": self._thread(self._others_key, "theirs"),
        }

    def routes(self) -> set[str]:
        """Every method and path of every function, as the apps spell them."""
        return spelled_routes(self.deployment)

    def renew(self) -> None:
        """Put back what a row may have removed, and remove what it may have put."""
        self.deployment.handlers["query"].app.ports.documents.delete_prefix("acme/theirs/")
        self.deployment.put_object("acme/team/gone.md", f"# Gone\n\nThis goes. {SEEN}")

    def send(self, row: Row, credential: str) -> tuple[int, str]:
        """Status and body of a row's request."""
        whose = "other" if "another" in row.aim else "acme"
        named = {"{answer}": self.answers[whose], "{thread}": self.threads[whose]}
        path, body = row.path, json.dumps(row.body)
        for name, id_ in named.items():
            path, body = path.replace(name, id_), body.replace(name, id_)
        return self._send(self.secrets[credential], replace(row, body=json.loads(body)), path)

    def others_things(self) -> Any:
        """All that is kept of the other tenant in buckets and tables."""
        listed = self.deployment.s3.list_object_versions(Bucket=EXAMPLE_BUCKET, Prefix="other/")
        app = self.deployment.handlers["query"].app
        return (
            [(each["Key"], each["VersionId"]) for each in listed.get("Versions", [])],
            listed.get("DeleteMarkers", []),
            app.ports.registry.page("other", vault=None, prefix="", status=None, cursor=None, limit=100),
            app.ports.receipts.receipt("other", self.answers["other"], time.time()),
        )

    def _answer(self, secret: str | None, vault: str) -> str:
        body = {"query": "plan", "vaults": [vault], "folders": [f"{vault}/keep"]}
        row = Row("POST /ask", "", (200,) * 5, "/ask", body)
        return str(json.loads(self._send(secret, row, row.path)[1])["answer_id"])

    def _thread(self, secret: str | None, vault: str) -> str:
        """A shared thread."""
        body = {"answer_id": self._answer(secret, vault)}
        row = Row("POST /threads", "", (201,) * 5, "/threads", body)
        thread = str(json.loads(self._send(secret, row, row.path)[1])["thread_id"])
        row = Row("PATCH /threads/{thread_id}", "", (200,) * 5, f"/threads/{thread}", {"shared": True})
        assert self._send(secret, row, row.path)[0] == 200
        return thread

    def _send(self, secret: str | None, row: Row, path: str) -> tuple[int, str]:
        headers = {"host": "api.example", "accept": "application/json", "content-type": "application/json"} | (
            {"x-api-key": secret} if secret else {}
        )
        event = rest_event(row.route.partition(" ")[0], path, headers, row.body)
        return self.deployment.routed(event)


def spelled_routes(deployment: Deployment) -> set[str]:
    """Every method and path of every function, as the apps spell them."""
    apis = [module.served() for module in deployment.handlers.values() if hasattr(module, "serve")]
    whole = [getattr(api, "rest", api) for api in apis]  # of an API in two halves the one with all
    found = {spelled for api in whole for spelled in _spelled(api.routes)}
    return {route for route in found if not route.startswith(("HEAD ", "OPTIONS "))}  # as GET, without a body


def _spelled(routes: Iterable[Any]) -> Iterator[str]:
    """Method and path of each route, those of included routers too."""
    for route in routes:
        if hasattr(route, "original_router"):  # how FastAPI keeps a router that was included
            yield from _spelled(route.original_router.routes)
        elif isinstance(route, Mount):
            yield f"ANY {route.path}"
        else:
            path = route.path.replace(":path}", "}")  # a path of several segments
            yield from (f"{method} {path}" for method in route.methods)
