"""A deployment with rules of access, and callers of several groups, to see what each is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, rest_event

HIDDEN = "Vjqzsalary"  # stands in names, texts and metadata of what only group hr may read, and in no request
OPEN = {"pump.md", "hr/open/news.md"}
ALL = OPEN | {"hr/pay.md", "secret.md", "beside.txt", "marked.txt", "tagged.txt"}
RULES = [{"path": "hr/**", "groups": ["hr"]}, {"path": "hr/open/**", "groups": ["*"]}]


class Ruled:
    """Vault `team` of tenant `demo`: a folder by a rule, one within it that is open, and files that state groups.

    Everything hidden is about the pump, like what is open, and is for group `hr`.
    """

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.answer = self.thread = ""  # of what only hr may read
        operator = deployment.handlers["query"].app.operate.operator

        def key(role: Any, *groups: str) -> str:
            return str(operator.create_key("demo", role, groups=groups)[0])

        self.keys = {
            "admin": key("admin"),
            "reader": key("reader"),
            "reader of `hr`": key("reader", "hr"),
            "reader of eng": key("reader", "eng"),
            "writer": key("writer"),
            "writer of `hr`": key("writer", "hr"),
            "delegate": key("delegate"),
            "delegate for `hr`": key("delegate"),
            "delegate of hr": key("delegate", "hr", "eng"),
        }
        self.rule(RULES)
        deployment.put_object("demo/team/pump.md", "# Pump\n\nThe pump is red. See [[secret]] and [pay](hr/pay.md).")
        self.plant()

    def plant(self) -> None:
        """Put what is hidden: by its folder, by front matter, a sidecar, object metadata and a tag."""
        put = self.deployment.put_object
        put("demo/team/hr/pay.md", f"---\ntags: [{HIDDEN}]\n---\n# Pump {HIDDEN}\n\nThe pump costs {HIDDEN} 7.")
        put("demo/team/hr/open/news.md", "# News\n\nThe pump of the news is green.")
        front = f"access: [hr, board]\npromotion_level: critical\ndoc_type: {HIDDEN}"
        put("demo/team/secret.md", f"---\n{front}\n---\n# Pump {HIDDEN}\n\nThe pump is secret, {HIDDEN}.")
        s3 = self.deployment.s3
        sidecar = json.dumps({"access": ["hr"], "summary": HIDDEN}).encode()
        s3.put_object(Bucket=EXAMPLE_BUCKET, Key="demo/team/beside.txt.metadata.json", Body=sidecar)
        put("demo/team/beside.txt", f"The pump beside, {HIDDEN}.")
        metadata = {"access": "hr", "title": HIDDEN}
        body = f"The pump marked, {HIDDEN}.".encode()
        s3.put_object(Bucket=EXAMPLE_BUCKET, Key="demo/team/marked.txt", Body=body, Metadata=metadata)
        body = f"The pump tagged, {HIDDEN}.".encode()
        tags = "ragdrop-access=hr%20board"
        s3.put_object(Bucket=EXAMPLE_BUCKET, Key="demo/team/tagged.txt", Body=body, Tagging=tags)
        self.deployment.reconcile("demo/team/marked.txt", "demo/team/tagged.txt")

    def tag(self, path: str, *groups: str) -> None:
        """Tag an object with these groups, without any take its tags off, and let the event arrive."""
        tags = [{"Key": "ragdrop-access", "Value": " ".join(groups)}] if groups else []
        key = f"demo/team/{path}"
        self.deployment.s3.put_object_tagging(Bucket=EXAMPLE_BUCKET, Key=key, Tagging={"TagSet": tags})
        self.deployment.reconcile(key)

    def rule(self, rules: Any, **others: Any) -> None:
        """Put the vault's settings file with these rules."""
        self.deployment.put_object("demo/team/.ragdrop.json", json.dumps({"access": rules, **others}))

    def send(
        self, who: str, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and body of a request of one of the callers."""
        sent = {"host": "api.example", "accept": "application/json", "content-type": "application/json"}
        sent |= {"x-api-key": self.keys[who], **(headers or {})}
        event = rest_event(method, path, sent, body)
        status, text = self.deployment.routed(event)
        return status, json.loads(text) if text.startswith(("{", "[")) else text

    def paths(self, who: str, query: str = "pump", **fields: Any) -> set[str]:
        """Paths of everything that a search shows, wherever it stands."""
        _, body = self.send(who, "POST", "/search", {"query": query, "limit": 20, "min_relevance": 0, **fields})
        return {each["path"] for found in body.values() if isinstance(found, list) for each in found if "path" in each}
