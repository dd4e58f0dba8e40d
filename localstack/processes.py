"""Processes that outlive the launcher, known again by pid and start time; ports and addresses that they listen on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

POLL_S = 0.05
_children: list[subprocess.Popen[bytes]] = []  # referenced here, as a Popen that is collected warns of its process


class LaunchError(Exception):
    """A part of the local stack did not come up; the message says which, and the end of its log."""


@dataclass(frozen=True)
class Process:
    """A started process.  A pid alone may be another's by now; with the start time it is ours or nobody's."""

    name: str
    pid: int
    started: str
    port: int
    made_by: str = ""  # its command and environment

    @property
    def running(self) -> bool:
        """Whether it still runs, and is the one that was started."""
        return start_time(self.pid) == self.started


def read_process(fields: Mapping[str, Any]) -> Process:
    """The process of the *fields* that were noted, maybe by an earlier version."""
    return Process(**{name: value for name, value in fields.items() if name in Process.__dataclass_fields__})


def start_time(pid: int) -> str | None:
    """When *pid* started, as the system reports it; None where it does not run (a zombie does not)."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else fields[19]
    listed = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listed.stdout.strip() or None


def start(
    name: str, command: Sequence[str], *, port: int, environment: Mapping[str, str], folder: Path, log: Path, **how: Any
) -> Process:
    """Start *command* in its own session, to outlive the launcher and stop with its children; *how* is Popen's."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **how,
        )
    _children.append(child)
    return Process(name, child.pid, start_time(child.pid) or "", port)


def stop(process: Process, *, patience_s: float = 20) -> bool:
    """End *process* and its children, in order where it obeys within *patience_s*.  False where it did not run."""
    if not process.running:
        return False
    os.kill(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while process.running and time.monotonic() < deadline:
        _reap(process.pid)
        time.sleep(POLL_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # its children, and itself where it did not obey
    _reap(process.pid)
    return True


def _reap(pid: int) -> None:
    """Let the system forget a child of ours that ended."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def await_health(process: Process, url: str, *, log: Path, timeout_s: float, status: int = httpx.codes.OK) -> None:
    """Wait until *url* answers with *status*. Raises LaunchError if the process ended, or did not answer in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=2, trust_env=False).status_code == status:
                return
        except httpx.TransportError:
            pass
        if not process.running:
            raise LaunchError(f"{process.name} ended while starting. The end of {log}:\n{tail(log)}")
        time.sleep(POLL_S)
    raise LaunchError(f"{process.name} was not ready after {timeout_s:.0f} s. The end of {log}:\n{tail(log)}")


def tail(log: Path, lines: int = 15) -> str:
    """The last *lines* of *log*."""
    if not log.exists():
        return "(empty)"
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


HOST = "127.0.0.1"
CONTAINER_HOST = "host.docker.internal"  # what a container calls the machine that it runs on
EVERYWHERE = "0.0.0.0"  # noqa: S104 - by choice: containers on Linux do not reach the loopback address
BIND = "RAGDROP_BIND"


def bind_address(environment: Mapping[str, str]) -> str:
    """The address on which emulator and model servers listen; callers on this machine use the loopback either way.

    Raises LaunchError if it is another address: the emulator's own functions call it on the loopback.
    """
    address = environment.get(BIND) or HOST
    if address not in {HOST, EVERYWHERE}:
        raise LaunchError(
            f"{BIND} is {address!r}; it must be {HOST}, or {EVERYWHERE} so that containers reach the servers too"
        )
    return address


def choose_port(*preferred: int | None) -> int:
    """The first of *preferred* that a server could listen on now, else one that the system gives."""
    for port in (*filter(None, preferred), 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((HOST, port))
                return int(probe.getsockname()[1])
    raise LaunchError("no port is free on the loopback interface")
