"""The template as CloudFormation sees it: transformed by SAM's own translator, then with its conditions decided."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from localstack.artifact import transformed as transformed_by_sam
from localstack.home import TEMPLATE

NOTHING = {"Ref": "AWS::NoValue"}
FUNCTIONS = tuple(f"{name}Function" for name in ("Ingest", "Query", "Generate", "Mcp", "Sweep"))
HASH = re.compile(r"(?<=Layer)[0-9a-f]{10}|(?<=Deployment)[0-9a-f]{10}|(?<=Version)[0-9a-f]{10}")
NEW_EACH_TIME = re.compile(r"ApiDeployment|ApiStage.DeploymentId")
DEPTH = 5  # of a path that is reported


def transformed(parameters: Sequence[Mapping[str, str]], template: str = "") -> list[dict[str, Any]]:
    """The template for each set of values, by the translator; *template* is a text in place of the repository's."""
    return transformed_by_sam(template or TEMPLATE.read_text("utf-8"), parameters)


def leaves(template: Mapping[str, Any], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Every value that the resources have with *parameters*, by its path.

    >>> condition = {"IsBig": {"Fn::Equals": [{"Ref": "Size"}, "big"]}}
    >>> bucket = {"Type": "T", "Properties": {"Name": {"Fn::If": ["IsBig", "large", {"Ref": "AWS::NoValue"}]}}}
    >>> leaves({"Conditions": condition, "Resources": {"A": bucket}}, {"Size": "big"})
    {'A.Type': 'T', 'A.Name': 'large'}
    """
    decide = _Decided(template.get("Conditions", {}), parameters)
    kept = {
        name: each
        for name, each in template["Resources"].items()
        if "Condition" not in each or decide.holds(each["Condition"])
    }
    return {path.replace(".Properties", "", 1): value for path, value in _flat("", decide.value(kept))}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Where two sets of leaves differ: whole resources by their name, else paths to a depth that a reader can take in.

    >>> changes({"A.Type": "T", "A.Name": "x"}, {"A.Type": "T", "A.Name": "y", "B.Type": "T", "B.Size": 1})
    ['A.Name', 'B is added']
    """
    missing = object()
    differ = {path for path in before.keys() | after.keys() if before.get(path, missing) != after.get(path, missing)}
    told = {_reported(path, before, after) for path in differ}
    of_all = [
        path for path in (each.partition(".")[2] for each in told) if {f"{name}.{path}" for name in FUNCTIONS} <= told
    ]
    for path in of_all:
        told = (told - {f"{name}.{path}" for name in FUNCTIONS}) | {f"every function: {path}"}
    return sorted(each for each in told if not NEW_EACH_TIME.match(each))


def _reported(path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    name = path.partition(".")[0]
    for here, there, word in ((after, before, "added"), (before, after, "removed")):
        if f"{name}.Type" in here and f"{name}.Type" not in there:
            return f"{HASH.sub('', name)} is {word}"
    return ".".join(re.sub(r"\[\d+\]", "", HASH.sub("", path)).split(".")[:DEPTH])


class _Decided:
    """Conditions and references with the values of parameters in them."""

    def __init__(self, conditions: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        self._conditions, self._parameters = conditions, parameters
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.holds,
            "Fn::If": self._if,
            "Fn::Sub": self._sub,
            "Fn::Join": self._join,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::Equals": self._equals,
            "Fn::Not": lambda inner: not self.value(inner[0]),
            "Fn::And": lambda inner: all(map(self.value, inner)),
            "Fn::Or": lambda inner: any(map(self.value, inner)),
        }

    def holds(self, name: str) -> bool:
        return bool(self.value(self._conditions[name]))

    def value(self, found: Any) -> Any:
        """*found* with everything decided that parameters decide."""
        if isinstance(found, list):
            return [value for value in map(self.value, found) if value != NOTHING]
        if not isinstance(found, dict):
            return found
        if len(found) == 1:
            [(name, inner)] = found.items()
            if name in self._functions:
                return self._functions[name](inner)
        made = {name: self.value(value) for name, value in found.items()}
        return {name: value for name, value in made.items() if value != NOTHING}

    def _ref(self, name: str) -> Any:
        return self._parameters.get(name, {"Ref": name})

    def _if(self, inner: list[Any]) -> Any:
        return self.value(inner[1] if self.holds(inner[0]) else inner[2])

    def _sub(self, inner: Any) -> Any:
        text = inner[0] if isinstance(inner, list) else inner
        known = {**self._parameters, **(self.value(inner[1]) if isinstance(inner, list) else {})}
        return re.sub(r"\$\{([\w:.]+)\}", lambda each: str(known.get(each[1], each[0])), text)

    def _join(self, inner: list[Any]) -> Any:
        parts = self.value(inner[1])
        return inner[0].join(map(str, parts)) if isinstance(parts, list) else parts

    def _split(self, inner: list[Any]) -> Any:
        text = self.value(inner[1])
        return text.split(inner[0]) if isinstance(text, str) else {"Fn::Split": [inner[0], text]}

    def _select(self, inner: list[Any]) -> Any:
        parts = self.value(inner[1])
        return parts[inner[0]] if isinstance(parts, list) else {"Fn::Select": [inner[0], parts]}

    def _equals(self, inner: list[Any]) -> bool:
        return bool(self.value(inner[0]) == self.value(inner[1]))


def _flat(path: str, found: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(found, dict) and found:
        for name, value in found.items():
            yield from _flat(f"{path}.{name}".lstrip("."), value)
    elif isinstance(found, list):
        for number, value in enumerate(found):
            yield from _flat(f"{path}[{number}]", value)
    else:
        yield path, found
