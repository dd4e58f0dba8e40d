"""A local stack of a benchmark's own, and the memory and processor time of its processes from /proc (Linux)."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localstack import opensearch
from localstack.home import Home, Progress
from localstack.launcher import down, read_processes, up
from localstack.seed import push

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
FUNCTION = b"AWS_LAMBDA_FUNCTION_NAME="
VAULT = "handbook"
FOREIGN = ("EMBEDDING_", "CHAT_", "INDEX_", "OPENSEARCH_", "AWS_", "RAGDROP_", "LOCALSTACK_", "EDGE_PORT")


@dataclass(frozen=True)
class ProcessUsage:
    """One process at one moment: what it is, resident megabytes, processor seconds so far."""

    role: str
    memory_mb: float
    cpu_s: float


@dataclass
class Watch:
    """What was seen: at each moment (seconds since 1970) the usage of every process by pid."""

    seen: list[tuple[float, dict[int, ProcessUsage]]] = field(default_factory=list)

    def memory(self, role: str) -> list[tuple[float, float, int]]:
        """(time, megabytes of all processes of the role, how many they are), in order."""
        return [
            (at_s, sum(each.memory_mb for each in found), len(found))
            for at_s, usages in self.seen
            if (found := [each for each in usages.values() if each.role == role])
        ]

    def cpu_s(self, first_s: float, last_s: float) -> dict[str, float]:
        """Processor seconds by role between two moments; of a process that was new, all of them."""
        between = [usages for at_s, usages in self.seen if first_s <= at_s <= last_s]
        spent: dict[str, float] = {}
        for pid in {pid for usages in between for pid in usages}:
            series = [usages[pid] for usages in between if pid in usages]
            before = series[0].cpu_s if pid in between[0] else 0.0
            spent[series[0].role] = spent.get(series[0].role, 0.0) + series[-1].cpu_s - before
        return spent


@contextmanager
def watched(roots: Mapping[str, int], *, every_s: float = 1.0) -> Iterator[Watch]:
    """Sample the processes of *roots* (pid by role) while the block runs; functions are found below the emulator."""
    watch, over = Watch(), threading.Event()

    def look() -> None:
        while not over.is_set():
            watch.seen.append((time.time(), usages(roots)))
            over.wait(every_s)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


@dataclass
class Cores:
    """The share of the time that all cores of the machine together were at work, whoever they worked for."""

    share: float = 0.0


@contextmanager
def cores_watched() -> Iterator[Cores]:
    cores, before = Cores(), _ticks()
    try:
        yield cores
    finally:
        all_ticks, idle = (now - then for now, then in zip(_ticks(), before, strict=True))
        cores.share = 1 - idle / all_ticks if all_ticks else 0.0


def _ticks() -> tuple[int, int]:
    """Ticks of all cores so far: all, and those in which they waited."""
    fields = [int(each) for each in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4]


def usages(roots: Mapping[str, int]) -> dict[int, ProcessUsage]:
    """Every process of *roots* and below, with its role: the root's, or `query function` and the like."""
    parents = {int(path.name): _stat(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found: dict[int, ProcessUsage] = {}
    for role, root in roots.items():
        below = {root}
        while more := {pid for pid, stat in parents.items() if stat and stat[0] in below and pid not in below}:
            below |= more
        for pid in below - found.keys():  # what started the servers comes last, and they are not its own work
            if stat := parents.get(pid):
                found[pid] = ProcessUsage(_role(pid, role), stat[1], stat[2])
    return found


def cpu_s_of(pid: int) -> float:
    """Processor seconds of one process so far, in steps of 10 ms; 0 where it has ended."""
    stat = _stat(Path(f"/proc/{pid}"))
    return stat[2] if stat else 0.0


def _stat(path: Path) -> tuple[int, float, float] | None:
    with suppress(OSError):
        fields = (path / "stat").read_text("ascii", errors="replace").rpartition(")")[2].split()
        return int(fields[1]), int(fields[21]) * PAGE / 1e6, (int(fields[11]) + int(fields[12])) / TICKS
    return None


def _role(pid: int, role: str) -> str:
    with suppress(OSError):
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(FUNCTION):
                return role_of_function(variable.removeprefix(FUNCTION).decode())
    return role


def role_of_function(name: str) -> str:
    """Which of ragdrop's functions has this *name*, whether the template or the emulator gave it.

    >>> role_of_function("ragdrop-IngestFunction-AF8AF93E1948E"), role_of_function("ragdrop-query")
    ('ingest function', 'query function')
    """
    part = re.search(r"(query|ingest|generate|mcp|sweep|models)(?=function|$)", name, re.IGNORECASE)
    return f"{part[0].lower()} function" if part else f"function {name}"


@dataclass(frozen=True)
class LiveStack:
    """A running stack: its home, what its stack.json says, and the pids of its servers by role."""

    home: Home
    fields: Mapping[str, Any]
    pids: Mapping[str, int]

    @property
    def api_url(self) -> str:
        return str(self.fields["api_url"])

    @property
    def key(self) -> str:
        return str(self.fields["api_key"])

    def push(self, folder: Path) -> None:
        """Push *folder* as the vault, and wait until it is indexed."""
        push(self.home, folder, vault=VAULT)


@contextmanager
def live_stack(*, index: str = "opensearch", tenant: str = "bench") -> Iterator[LiveStack]:
    """The real template on a private emulator, with local models and its own index; stopped at the end.

    Raises:
        LaunchError: A part did not come up.
    """
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        if name not in {"RAGDROP_EVAL_DATA", "OPENSEARCH_JAVA_HOME"}:
            del os.environ[name]
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        Path(folder).chmod(0o755)  # a root user's node runs as another one
        home = Home(Path(folder), index)
        try:
            fields = up(home, os.environ, index=index, tenant=tenant, progress=progress)
            pids = {name: process.pid for name, process in read_processes(home).items()}
            node = opensearch.find(home.root)
            if node is not None and node.pid is not None:
                pids["index"] = node.pid
            yield LiveStack(home, fields, pids | {"load": os.getpid()})
        finally:
            down(home, progress)
            sys.stdout.flush()
