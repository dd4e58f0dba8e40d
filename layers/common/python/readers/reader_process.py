"""The child process that reads documents: limit itself, then serve one document after the other."""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from pathlib import Path
from typing import IO, Any

from readers.errors import ReadError, UnsafeFileError
from readers.isolated_reader import receive, send
from readers.registry import Kind, read_here

DOCUMENTS = 200  # then a new process, in case the libraries leak
_PROGRAMS = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"})
PEAK_SHARE = 0.5  # of the memory allowed: over it a new process, so that the next document has all of it again


def main(memory_bytes: int, timeout_s: float) -> None:
    """Serve until the pipe closes.  An exception that is no ReadError ends the process, on purpose."""
    sys.setrecursionlimit(3_000)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the answers
    if sys.platform != "darwin":  # macOS refuses this limit
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(refuse_connections)
    for number in range(1, DOCUMENTS + 1):
        request = receive(sys.stdin.buffer)
        if request is None:
            return
        _limit_cpu(timeout_s)
        asked = json.loads(request[0])
        if "page" in asked:
            _picture(answers, request[1], asked["page"])
        else:
            _answer(answers, asked["kind"], request[1], asked["name"], memory_bytes, last=number == DOCUMENTS)


def refuse_connections(event: str, _arguments: object) -> None:
    """End what opens a connection or starts a program: no document may make its reader do so.

    Raises:
        UnsafeFileError: It is such an event of Python's audit hooks.
    """
    if event.startswith("socket.") or event in _PROGRAMS:
        raise UnsafeFileError(f"its reader was about to open a connection or to start a program ({event})")


def _answer(answers: IO[bytes], kind: Kind, body: bytes, name: str, memory_bytes: int, *, last: bool) -> None:
    head: dict[str, Any]
    text = b""
    try:
        document = read_here(kind, body, name)
        head, text = {"document": {**document.fields(), "text": ""}}, document.text.encode()
    except ReadError as exc:
        head = _failure(exc)
    except (MemoryError, RecursionError) as exc:
        last = True
        head = _failure(UnsafeFileError(f"reading the {kind} needs too much of it: {type(exc).__name__}"))
    head["last"] = last or _peak_bytes() > memory_bytes * PEAK_SHARE
    send(answers, json.dumps(head).encode(), text)


def _picture(answers: IO[bytes], body: bytes, page: int) -> None:
    """Answer with the picture of a page; an empty one where it shows none or cannot be drawn."""
    from readers.pages.page_pictures import picture_of

    try:
        picture = picture_of(body, page)
    except MemoryError:
        picture = None
    send(answers, json.dumps({"last": False}).encode(), picture or b"")


def _failure(error: ReadError) -> dict[str, Any]:
    return {"error": type(error).__name__, "message": error.message, "details": error.details}


def _peak_bytes() -> int:
    """The most memory that this process has had: of the kernel's own page, as getrusage inherits the parent's peak."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:  # not Linux
        return 0
    return next((int(line.split()[1]) * 1_024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def _limit_cpu(timeout_s: float) -> None:
    """Should the parent die, the child still ends."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + timeout_s + 5)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
