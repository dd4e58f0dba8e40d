"""The shapes of the calls that ragdrop makes of AWS: noted by engine while tests run, and known by call_shapes.json.

A shape is an operation with the form of its parameters: the expressions of a DynamoDB call with their attribute
names, the options of any other call. Values do not count. A test in which ragdrop makes a call of an unknown shape
fails, so that no call goes unseen by the table of docs/evidence/parity.md and by the permissions of the roles.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from botocore.handlers import BUILTIN_HANDLERS

KNOWN = Path(__file__).with_name("call_shapes.json")
ROOT = Path(__file__).parents[2]
PRODUCT = (f"{ROOT / 'layers/common/python'}{os.sep}", f"{ROOT / 'functions'}{os.sep}")
SDK = ("botocore", "boto3", "s3transfer")
RECORDING = "RAGDROP_CALL_SHAPES"  # the folder that `collected` reads
NOTED = "ragdrop-call-shape"
MOTO = "aws"  # as the contract suites name it
VALUE_NAMES = {"TableName", "Bucket", "Key", "QueueUrl", "Body", "Item", "ExclusiveStartKey", "VersionId"}
EXPRESSION = re.compile(r"Expression$")
NAME = r"(?:[\w./*]+)"
REMOVED = re.compile(rf"REMOVE {NAME}")
SIMILAR = re.compile(rf"((?:{NAME} = \?|{NAME} \?|(?<=REMOVE ){NAME}))(?:, {NAME}(?: = \?| \?)?(?![\w(]| =))+")

Noted = dict[str, dict[str, set[str]]]
"""By shape and engine, how the calls ended: `ok` with the members of the answer, or the code of the error."""


class CallShapes:
    """What was called in this process, and on which engine; `unknown` is what the file does not have.

    Args:
        known: The file's shapes (`calls`), and what each role needs (`permissions`).
    """

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.calls = set(known["calls"])
        self.permissions = {role: set(needs) for role, needs in known["permissions"].items()}
        self.noted: Noted = {}
        self.needed: dict[str, set[str]] = {}
        self.unknown: set[str] = set()
        self.engines: dict[str, str] = {}

    def begin(self, params: Mapping[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        """A call begins: keep its shape with it, if it is ragdrop's own."""
        if _is_of_ragdrop(sys._getframe(1)):
            shape = shape_of(model.service_model.service_name, model.name, params)
            context[NOTED] = [shape, ""]

    def send(self, params: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
        """It is about to be sent: to whom."""
        if NOTED in context:
            context[NOTED][1] = self.engines.get(urlsplit(params["url"]).netloc, MOTO)
            if context[NOTED][0] not in self.calls:
                self.unknown.add(context[NOTED][0])

    def end(self, parsed: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
        """It was answered."""
        if NOTED in context:
            shape, engine = context[NOTED]
            if engine:
                self.noted.setdefault(shape, {}).setdefault(engine, set()).add(_outcome(parsed))

    def need(self, role: str, action: str, place: str) -> None:
        """A function made a call for which its role needs *action* on *place*."""
        told = f"{action} {place}"
        self.needed.setdefault(role, set()).add(told)
        if told not in self.permissions.get(role, ()):
            self.unknown.add(f"{role}: {told}")

    def write(self, folder: Path) -> None:
        """Keep what this process noted, for `collected`."""
        noted = {shape: {engine: sorted(ends) for engine, ends in each.items()} for shape, each in self.noted.items()}
        needed = {role: sorted(each) for role, each in self.needed.items()}
        path = folder / f"{os.getpid()}.json"
        path.write_text(json.dumps({"noted": noted, "needed": needed}), "utf-8")


def collected(folder: Path) -> tuple[Noted, dict[str, set[str]]]:
    """What the processes of a test run noted, and what the roles needed."""
    noted: Noted = {}
    needed: dict[str, set[str]] = {}
    for path in folder.glob("*.json"):
        found = json.loads(path.read_text("utf-8"))
        for shape, engines in found["noted"].items():
            for engine, ends in engines.items():
                noted.setdefault(shape, {}).setdefault(engine, set()).update(ends)
        for role, needs in found["needed"].items():
            needed.setdefault(role, set()).update(needs)
    return noted, needed


def keep(noted: Iterable[str], needed: Mapping[str, Iterable[str]]) -> None:
    """Write the file anew."""
    told = {"calls": sorted(noted), "permissions": {role: sorted(needed[role]) for role in sorted(needed)}}
    KNOWN.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")


def shape_of(service: str, operation: str, params: Mapping[str, Any]) -> str:
    """The shape of a call as one line.

    >>> names = {"ExpressionAttributeNames": {"#n": "name"}, "ExpressionAttributeValues": {":a": 1, ":b": 2}}
    >>> shape_of("dynamodb", "Query", {"TableName": "t", "KeyConditionExpression": "#n = :a", "Limit": 3, **names})
    'dynamodb Query KeyConditionExpression(name = ?) Limit'
    >>> shape_of("s3", "PutObject", {"Bucket": "b", "Key": "k", "Body": b"", "IfNoneMatch": "*"})
    's3 PutObject IfNoneMatch'
    """
    told = [f"{service} {operation}"]
    if "TransactItems" in params:
        told += sorted({_step(kind, step) for item in params["TransactItems"] for kind, step in item.items()})
    elif "RequestItems" in params:
        told += sorted(_batch(params["RequestItems"]))
    else:
        told += _options(params)
    return " ".join(told)


def _step(kind: str, params: Mapping[str, Any]) -> str:
    return f"[{' '.join([kind, *_options(params)])}]"


def _batch(tables: Mapping[str, Any]) -> set[str]:
    """What a batch does to its tables: kinds of writes, or options of reads."""
    if any(isinstance(each, list) for each in tables.values()):
        return {kind for requests in tables.values() for request in requests for kind in request}
    return {option for each in tables.values() for option in _options(each) if option != "Keys"}


def _options(params: Mapping[str, Any]) -> list[str]:
    names = params.get("ExpressionAttributeNames", {})
    skipped = VALUE_NAMES | {"ExpressionAttributeNames", "ExpressionAttributeValues"}
    return [_option(name, params[name], names) for name in sorted(params) if name not in skipped]


def _option(name: str, value: Any, names: Mapping[str, str]) -> str:
    if EXPRESSION.search(name):
        text = re.sub(r"#\w+", lambda found: _attribute(names[found[0]]), str(value))
        text = re.sub(r":\w+", "?", text)
        return f"{name}({_without_repeats(text)})"
    return f"{name}={value}" if name in {"ReturnValues", "IndexName", "Select", "ConsistentRead"} else name


def _attribute(name: str) -> str:
    """An attribute's name; a star for what is not of the code but of the data, such as a path or a minute.

    >>> [_attribute(each) for each in ("title", "P/notes/a.md", "c/x", "index.opened_at", "error?|search", "x.c.100")]
    ['title', 'P/*', 'c/*', '*.opened_at', '*', '*.*.*']
    """
    head, slash, _ = name.partition("/")
    if slash and len(head) == 1:
        return f"{head}/*"
    parts = name.split(".")
    ours = [re.fullmatch(r"[A-Za-z_]{2,}", each) is not None for each in parts]
    if len(parts) > 1:
        ours[0] = False  # the dependency that a breaker is of
    return ".".join(each if known else "*" for each, known in zip(parts, ours, strict=True))


def _without_repeats(text: str) -> str:
    """One element stands for all of its form: how many there are, and what is removed, makes no other call.

    >>> _without_repeats("SET status = ?, title = ?, n = if_not_exists(n, ?) REMOVE error, lease ADD c/* ?, d ?")
    'SET status = ?, n = if_not_exists(n, ?) REMOVE … ADD c/* ?'
    """
    return REMOVED.sub("REMOVE …", SIMILAR.sub(r"\1", text))


def _is_of_ragdrop(frame: FrameType | None) -> bool:
    """Whether the nearest caller that is not the SDK is ragdrop's own code."""
    while frame is not None:
        path = frame.f_code.co_filename
        if not any(f"{os.sep}{name}{os.sep}" in path for name in SDK) and path != __file__:
            return path.startswith(PRODUCT)
        frame = frame.f_back
    return False


def _outcome(parsed: Mapping[str, Any]) -> str:
    error = parsed.get("Error")
    return str(error["Code"]) if error else "ok"


SHAPES = CallShapes(json.loads(KNOWN.read_text("utf-8")))
# As moto does it, and when this module is read: a client is cached, with the handlers that its session had.
BUILTIN_HANDLERS.extend(
    [("provide-client-params", SHAPES.begin), ("before-call", SHAPES.send), ("after-call", SHAPES.end)]
)
