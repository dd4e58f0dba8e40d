"""Imports of functions, each in a fresh process of this interpreter, with bytecode that an earlier process wrote."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cold_start.function_folders import Function

PROBE = Path(__file__).with_name("imported.py")
TIMEOUT_S = 120
ENVIRONMENT = {
    "INDEX_URL": "http://127.0.0.1:1",
    "EMBEDDING_URL": "http://127.0.0.1:1/v1",
    "EMBEDDING_MODEL": "none",
    "EMBEDDING_DIMENSION": "384",
    "CHAT_URL": "http://127.0.0.1:1/v1",
    "CHAT_MODELS": "none",
    **dict.fromkeys(("DOCUMENT_BUCKET", "STATE_BUCKET", "REGISTRY_TABLE", "VISITED_TABLE"), "none"),
    **dict.fromkeys(("TELEMETRY_TABLE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "none"),
    "QUEUE_URL": "http://127.0.0.1:1/queue",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
}
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|( +)(\S+)")


@dataclass(frozen=True)
class Dear:
    """A module of an import profile: microseconds of its own, and with what it imported."""

    module: str
    own_us: int
    whole_us: int


class Imports:
    """Measures functions; *runtime* is the folder of what Lambda's runtime has."""

    def __init__(self, runtime: Path) -> None:
        self._runtime = runtime

    def once(self, function: Function, modules: Sequence[str] | None = None) -> dict[str, Any]:
        """One import; of *modules* one by one instead of the function's where they are given."""
        done = self._run(function, modules, ())
        told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return told

    def rounds(self, functions: Sequence[Function], count: int) -> dict[str, dict[str, Any]]:
        """Medians over *count* rounds in which each function is imported once, after one round that is not counted.

        `alone_cpu_s` is the import of the same third-party modules without ragdrop's, of ragdrop's functions.
        """
        first = {each.name: self.once(each) for each in functions}
        others = {
            each.name: [name for name in first[each.name]["modules"] if not is_own(name)]
            for each in functions
            if each.part
        }
        found: dict[str, list[dict[str, Any]]] = {each.name: [] for each in functions}
        for _ in range(count):
            for each in functions:
                told = self.once(each)
                if each.name in others:
                    told["alone_cpu_s"] = self.once(each, others[each.name])["cpu_s"]
                    told["alone"] = told["cpu_s"] / told["alone_cpu_s"]
                found[each.name].append(told)
        return {name: _middle(tries) for name, tries in found.items()}

    def profile(self, function: Function, tries: int = 3) -> list[Dear]:
        """Modules of the import by their own time, the dearest first; of each the shortest of *tries*."""
        best: dict[str, Dear] = {}
        for _ in range(tries):
            for own, whole, _, name in _LINE.findall(self._run(function, None, ("-X", "importtime")).stderr):
                dear = Dear(name, int(own), int(whole))
                best[name] = min(best.get(name, dear), dear, key=lambda each: each.own_us)
        return sorted(best.values(), key=lambda each: -each.own_us)

    def _run(
        self, function: Function, modules: Sequence[str] | None, options: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        path = [*map(str, function.folders), str(self._runtime)]
        spec = {
            "path": path,
            "module": function.module,
            "part": function.part,
            "modules": modules,
        }
        command = [sys.executable, "-I", "-S", *options, str(PROBE), json.dumps(spec)]
        done = subprocess.run(  # noqa: S603 - our own
            command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
        if done.returncode:
            sys.exit(f"{function.name} could not be imported:\n{done.stderr[-2_000:]}")
        return done


def is_own(module: str) -> bool:
    """Whether a module is ragdrop's or the handler.

    >>> is_own("ragdrop.config"), is_own("pydantic")
    (True, False)
    """
    return module.partition(".")[0] in {"ragdrop", "app"}


def _middle(tries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians of the numbers; of the modules, their count."""
    numbers = {name: median(each[name] for each in tries) for name, value in tries[0].items() if name != "modules"}
    return numbers | {"modules": len(tries[0]["modules"])}
