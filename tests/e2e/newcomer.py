"""Somebody who has just cloned the repository: a folder, a home with own notes, and a terminal to type into."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.documented import ROOT

PATIENCE_S = 600.0
NOTES = {
    "house/keys.md": "# Keys\n\nI put the spare key under the blue flower pot on the balcony.\n",
    "house/boiler.md": "# Boiler\n\nThe boiler wants 1.5 bar; refill it in October. See [keys](keys.md).\n",
    "garden.txt": "The apple tree was grafted in March 2021. Water it twice a week in summer.\n",
}
FOREIGN = (
    "RAGDROP_",
    "AWS_",
    "EMBEDDING_",
    "CHAT_",
    "INDEX_",
    "OPENSEARCH_",
    "PYTHON",
    "PYTEST",
    "VIRTUAL_ENV",
    "MAKE",
)


@dataclass(frozen=True)
class Typed:
    """A line that was typed, and what came of it; `seconds` is how long it took."""

    line: str
    exit_code: int
    printed: str
    seconds: float

    def worked(self) -> str:
        """What was printed, by a line that must have worked."""
        assert self.exit_code == 0, f"$ {self.line}\n{self.printed}"
        return self.printed


@dataclass(frozen=True)
class Newcomer:
    """What is typed here meets the clone's own environment and stack, and none of the settings of these tests."""

    clone: Path
    home: Path

    def __post_init__(self) -> None:
        for name, text in NOTES.items():
            path = self.home / "notes" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    @classmethod
    def cloned(cls, folder: Path) -> Newcomer:
        """One with a clone of what is committed here, in an empty folder."""
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / "ragdrop")], check=True, timeout=60)
        return cls(folder / "ragdrop", folder / "home")

    def types(self, line: str, *, program: str = "bash", **named: str) -> Typed:
        """Type *line*, in bash unless another *program* of the clone is to read it from its standard input."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        cached = Path.home() / ".cache"  # a package is fetched once, not once a test
        caches = {"UV_CACHE_DIR": str(cached / "uv"), "PIP_CACHE_DIR": str(cached / "pip")}
        environment = caches | kept | {"HOME": str(self.home), "NO_PROXY": "127.0.0.1,localhost", **named}
        start = time.monotonic()
        with (self.home / "typed.log").open(
            "w+", encoding="utf-8"
        ) as log:  # a pipe would wait for what continues to run
            done = subprocess.run(
                [program, *(["-e", "-u", "-o", "pipefail"] if program == "bash" else ["-"])],
                input=line,
                cwd=self.clone,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            log.seek(0)
            return Typed(line, done.returncode, log.read(), time.monotonic() - start)

    @property
    def stack(self) -> dict[str, Any]:
        """What the running stack's file says."""
        said: dict[str, Any] = json.loads((self.clone / ".local/stack.json").read_text("utf-8"))
        return said
