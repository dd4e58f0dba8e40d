"""Count what one request walks through, over the World: modules of the layers that it enters, and frames deep.

How it is counted: a profiler sees every call of a Python function in a file of `layers/`, in every thread.  `modules`
are the distinct files of those functions; `frames` is the largest number of such functions on one stack at the same
time, comprehensions and generators not counted.  A search and an ask begin at the function's REST API, an ingest at
its reconciler.  Each is measured for its second run: what is built or imported at the first use does not count.

`python -m checks.walk` prints the figures; with names of requests also the modules and the deepest stack of each.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
LAYERS = str(ROOT / "layers/common/python") + "/"
COMPREHENSIONS = {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"}
KINDS = ("search", "ask", "ingest")


@dataclass(slots=True)
class Walk:
    """What one request entered: files of the layers, and the deepest stack, its innermost function last."""

    modules: set[str] = field(default_factory=set)
    deepest: list[str] = field(default_factory=list)

    @property
    def frames(self) -> int:
        """Functions of the layers on the deepest stack."""
        return len(self.deepest)


def measure() -> dict[str, Walk]:
    """Walk one search, one ask and one ingest over a new World."""
    before = sys.getprofile()
    profile = _Profile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        requests = import_module("tests.walks").requests()  # needs the World
        return {kind: _walked(profile, requests[kind]) for kind in KINDS}
    finally:
        threading.setprofile(None)
        sys.setprofile(before)


class _Profile:
    """A profile function for all threads that counts while it is given a walk."""

    def __init__(self) -> None:
        self.walk: Walk | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.walk is None or event != "call" or not _counts(frame):
            return
        self.walk.modules.add(_file(frame))
        stack = []
        each: FrameType | None = frame
        while each is not None:
            if _counts(each):
                stack.append(f"{_file(each)} {each.f_code.co_qualname}")
            each = each.f_back
        if len(stack) > self.walk.frames:
            self.walk.deepest = stack[::-1]


def _counts(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_filename.startswith(LAYERS) and code.co_name not in COMPREHENSIONS


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(LAYERS)


def _walked(profile: _Profile, request: Callable[[int], None]) -> Walk:
    request(1)
    sys.setprofile(profile)  # on Python 3.13 a thread that ends may switch it off
    profile.walk = walk = Walk()
    request(2)
    profile.walk = None
    return walk


def main(kinds: list[str]) -> None:
    """Print the figures, and of *kinds* every module and the deepest stack."""
    for kind, walk in measure().items():
        sys.stdout.write(f"{kind}: {len(walk.modules)} modules, {walk.frames} frames deep\n")
        if kind in kinds:
            lines = [*sorted(walk.modules), *(f"{depth:>2} {name}" for depth, name in enumerate(walk.deepest, start=1))]
            sys.stdout.write("".join(f"  {line}\n" for line in lines))


if __name__ == "__main__":
    sys.path[:0] = [LAYERS, str(ROOT / "cli"), str(ROOT)]
    main(sys.argv[1:])
