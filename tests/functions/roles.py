"""The functions' roles, held: what a function asks of AWS in a test must be allowed to it by the template."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from botocore.exceptions import ClientError
from botocore.handlers import BUILTIN_HANDLERS

from tests.architecture.cloudformation import allowed_statements, listed, read_template, roles_of
from tests.aws.call_shapes import SHAPES

S3_ACTIONS = {
    "HeadObject": "GetObject",
    "ListObjectsV2": "ListBucket",
    "HeadBucket": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
    "DeleteObjects": "DeleteObject",
}
BY_TRANSACTION = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
BY_BATCH = {"SendMessageBatch": "SendMessage", "DeleteMessageBatch": "DeleteMessage"}
SIGNING = "CreateBucket"  # what the SDK calls it while it signs a form: AWS is asked nothing
OF_A_VERSION = {"GetObject": "GetObjectVersion", "DeleteObject": "DeleteObjectVersion"}
OF_A_VERSION["GetObjectTagging"] = "GetObjectVersionTagging"

IN_FORCE: list[Roles] = []
"""The roles of the deployment under test, if there is one."""

Permission = tuple[str, re.Pattern[str]]
"""An action, and the resources that it is allowed on, by their logical names in the template."""


class Roles:
    """What each function may do, what one did (`used`: role, action, resource), and tried though it may not (`denied`).

    Args:
        names: The logical resource of the template for each name of a bucket, a table or a queue.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._allowed = permissions_of(read_template()["Resources"])
        self._acting: str | None = None
        self.denied: set[str] = set()
        self.used: set[tuple[str, str, str]] = set()

    def acting(self, function: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        """The handler, during whose calls AWS is asked in the function's role."""

        def called(event: Any, context: Any) -> Any:
            self._acting = f"{function.capitalize()}Role"
            try:
                return handler(event, context)
            finally:
                self._acting = None

        return called

    def look(self, params: Mapping[str, Any], model: Any) -> None:
        """Refuse a call that the acting function may not make, as AWS would."""
        role = self._acting
        if role is None:
            return
        service = model.service_model.service_name
        for action, resource in _required(service, model.name, params):
            path = self._located(resource)
            self.used.add((role, action.partition(":")[2], path.partition("/")[0]))
            if not allowed(self._allowed[role], action, path):
                self.denied.add(f"{role}: {action} on {path}")
                told = {"Code": "AccessDeniedException", "Message": f"{role} may not {action} on {path}"}
                raise ClientError({"Error": told}, model.name)
            SHAPES.need(role, action, place_of(path))

    def _located(self, resource: str) -> str:
        """`bucket/key`, `table` or `table/index/name` by the template's names."""
        name, slash, rest = resource.partition("/")
        return f"{self._names.get(name, name)}{slash}{rest}"


def _look(params: Mapping[str, Any], model: Any, **_: Any) -> None:
    for roles in IN_FORCE:
        roles.look(params, model)


# As moto does it, and when this module is read: a client is cached, with the handlers that its session had.
BUILTIN_HANDLERS.append(("provide-client-params", _look))


def _required(service: str, operation: str, params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The actions that a call needs and on what, as IAM names them."""
    if service == "s3" and operation == SIGNING:
        return
    if service == "s3" and operation == "CopyObject":
        source = params["CopySource"]
        yield "s3:GetObjectVersion", f"{source['Bucket']}/{source['Key']}"
        yield "s3:PutObject", f"{params['Bucket']}/{params['Key']}"
        if "Tagging" in params:
            yield "s3:PutObjectTagging", f"{params['Bucket']}/{params['Key']}"
    elif service == "s3":
        action = S3_ACTIONS.get(operation, operation)
        keys = (
            [params["Key"]]
            if "Key" in params
            else [each["Key"] for each in params.get("Delete", {}).get("Objects", ())]
        )
        versions = "VersionId" in params or any("VersionId" in e for e in params.get("Delete", {}).get("Objects", ()))
        action = OF_A_VERSION.get(action, action) if versions else action
        yield from ((f"s3:{action}", f"{params['Bucket']}/{key}") for key in keys)
        if not keys:
            yield f"s3:{action}", params["Bucket"]
    elif service == "dynamodb" and "TransactItems" in params:
        steps = {(kind, step["TableName"]) for item in params["TransactItems"] for kind, step in item.items()}
        yield from ((f"dynamodb:{BY_TRANSACTION[kind]}", table) for kind, table in sorted(steps))
    elif service == "dynamodb":
        tables = list(params["RequestItems"]) if "RequestItems" in params else [params["TableName"]]
        index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
        yield from ((f"dynamodb:{operation}", f"{table}{index}") for table in tables)
    elif service == "sqs":
        queue = params.get("QueueName") or params["QueueUrl"].rpartition("/")[2]
        yield f"sqs:{BY_BATCH.get(operation, operation)}", queue


def place_of(path: str) -> str:
    """Where a call goes, without what is of the data: a key is told by its first folder where that is ragdrop's own.

    >>> place_of("StateBucket/revisions/acme/7.json"), place_of("DocumentBucket/acme/a.md"), place_of("VisitedTable")
    ('StateBucket/revisions/*', 'DocumentBucket/*', 'VisitedTable')
    >>> place_of("DocumentBucket/.admitted/acme/team.json")
    'DocumentBucket/.admitted/*'
    """
    name, slash, key = path.partition("/")
    if not slash or name.endswith("Table"):  # a table's index
        return path
    folder = key.partition("/")[0]
    if folder == "config":  # one document
        return path
    return f"{name}/{folder}/*" if name == "StateBucket" or folder.startswith(".") else f"{name}/*"


def allowed(permissions: list[Permission], action: str, path: str) -> bool:
    """Whether one of *permissions* allows *action* on *path*."""
    return any(action == may and where.fullmatch(path) for may, where in permissions)


def permissions_of(resources: Mapping[str, Any]) -> dict[str, list[Permission]]:
    """By role, each action with where it is allowed."""
    found: dict[str, list[Permission]] = {}
    for name, statement in allowed_statements(dict(resources)):
        for role, action in product(roles_of(dict(resources), name), listed(statement["Action"])):
            found.setdefault(role, []).extend((action, pattern_of(each)) for each in listed(statement["Resource"]))
    return found


def pattern_of(resource: Any) -> re.Pattern[str]:
    """The resource as `_located` writes it; a star stands for anything."""
    text = resource.get("Fn::GetAtt") or resource.get("Fn::Sub") if isinstance(resource, dict) else resource
    text = str(text[0] if isinstance(text, list) else text)
    text = re.sub(r"^arn:.*-documents-\$\{AWS::AccountId\}-\$\{AWS::Region\}", "DocumentBucket", text)
    text = re.sub(r"\$\{(\w+)\.Arn\}|(\w+)\.Arn", lambda found: found[1] or found[2], text)
    return re.compile(re.escape(text).replace(r"\*", ".*"))
