"""Read documents in a child process with limits of time and memory."""

import json
import math
import os
import resource
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from readers import read_errors
from readers.formats import Kind, read_here
from readers.parsed import DrawnPage, ParsedDocument, document_of
from readers.read_errors import CorruptFileError, ReadError, UnsafeFileError

TIMEOUT_S = 20.0
DRAW_TIMEOUT_S = 8.0  # of a page; most take 50 ms
EXIT_S = 1.0
MEMORY_BYTES = 512 * 1024 * 1024
_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from readers.isolated_reader import main
main(int(sys.argv[2]), float(sys.argv[3]))
"""


class IsolatedReader:
    """A Reader over one child process, started at first use and again after it had to be stopped.

    The child is a fresh interpreter, not a fork: the parent may have threads, and its memory must not count.  Both talk
    over pipes, as Lambda has no shared memory.  One document at a time; other threads wait.

    Args:
        timeout_s: Wall time a document may take.
        memory_bytes: Address space of the child, libraries included.
    """

    def __init__(self, *, timeout_s: float = TIMEOUT_S, memory_bytes: int = MEMORY_BYTES) -> None:
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, kind: Kind, body: bytes, name: str) -> ParsedDocument:
        """Read *body*; past the limits that is an UnsafeFileError."""
        head, text = self._asked({"kind": kind, "name": name}, kind, body)
        _raise_error(head)
        return document_of({**head["document"], "text": text.decode()})

    def picture(self, body: bytes, page: int) -> bytes | None:
        """A PNG of a page of a PDF, by its number from 0; None if it shows no picture or cannot be drawn."""
        return self._asked({"page": page}, "pdf", body)[1] or None

    def draw(self, body: bytes, number: int, text: str, start: int, end: int) -> DrawnPage:
        """A page of a PDF as `draw_page` gives it; past the limits that is an UnsafeFileError."""
        head, picture = self._asked({"draw": (number, text, start, end)}, "pdf", body)
        _raise_error(head)
        return DrawnPage(**{**head["page"], "picture": picture, "marks": tuple(map(tuple, head["page"]["marks"]))})

    def _asked(self, asked: dict[str, Any], kind: Kind, body: bytes) -> tuple[dict[str, Any], bytes]:
        with self._lock:
            process = self._running()
            timer = threading.Timer(self._timeout_s, process.kill)
            timer.start()
            try:
                reply = _exchange(process, asked, body)
            finally:
                in_time = timer.is_alive()
                timer.cancel()
            if reply is None:
                raise self._died(process, kind, in_time=in_time)
            if reply[0].get("last"):
                self.close()
            return reply

    def close(self) -> None:
        """Stop the child; the next document starts a new one."""
        if self._process is not None:
            _stop(self._process)
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            limits = (str(self._memory_bytes), str(self._timeout_s))
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-S", "-c", _PROGRAM, json.dumps(sys.path), *limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            weakref.finalize(self, _stop, self._process)
        return self._process

    def _died(self, process: subprocess.Popen[bytes], kind: Kind, *, in_time: bool) -> ReadError:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=EXIT_S)  # it may have closed its pipe a moment before it ends
        _stop(process)
        self._process = None
        if not in_time:
            message = f"reading the {kind} took longer than {self._timeout_s:g} s and was stopped; split it"
            return UnsafeFileError(message, limit_s=self._timeout_s)
        if process.returncode < 0:
            return UnsafeFileError(
                f"reading the {kind} took too much memory or broke its reader (signal {-process.returncode}); "
                "save it again in its program, or split it"
            )
        return CorruptFileError(
            f"the {kind} is damaged in a way that its reader does not know; save it again in its program"
        )


def _raise_error(head: dict[str, Any]) -> None:
    """Raise the ReadError that the child reported, if it did."""
    if "error" in head:
        known: type[ReadError] = getattr(read_errors, head["error"])
        raise known(head["message"], **head["details"])


def _exchange(
    process: subprocess.Popen[bytes], asked: dict[str, Any], body: bytes
) -> tuple[dict[str, Any], bytes] | None:
    """Send a document and wait for the reply, a head and the text; None if the process ended."""
    if process.stdin is None or process.stdout is None:
        return None
    try:
        send(process.stdin, json.dumps(asked).encode(), body)
    except BrokenPipeError:
        return None
    reply = receive(process.stdout)
    return None if reply is None else (json.loads(reply[0]), reply[1])


def send(pipe: IO[bytes], *parts: bytes) -> None:
    """Write parts to a pipe, each after its length."""
    for part in parts:
        pipe.write(len(part).to_bytes(8, "big"))
        pipe.write(part)
    pipe.flush()


def receive(pipe: IO[bytes]) -> tuple[bytes, bytes] | None:
    """Read two parts from a pipe; None at its end."""
    parts: list[bytes] = []
    for _ in range(2):
        size = int.from_bytes(pipe.read(8).ljust(8, b"\0"), "big")
        part = pipe.read(size)
        if len(part) < size or (not parts and size == 0):
            return None
        parts.append(part)
    return parts[0], parts[1]


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue


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
        used = resource.getrusage(resource.RUSAGE_SELF)  # a child whose parent dies still ends
        soft_s = math.ceil(used.ru_utime + used.ru_stime + timeout_s + 5)
        resource.setrlimit(resource.RLIMIT_CPU, (soft_s, resource.RLIM_INFINITY))
        asked = json.loads(request[0])
        if "page" in asked:
            _picture(answers, request[1], asked["page"])
        elif "draw" in asked:
            _drawing(answers, request[1], *asked["draw"])
        else:
            _answer(answers, asked["kind"], request[1], asked["name"], memory_bytes, last=number == DOCUMENTS)


def refuse_connections(event: str, _arguments: object) -> None:
    """Raise UnsafeFileError on an audit event that opens a connection or starts a program."""
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
    from readers.pages.pdf import picture_of

    try:
        picture = picture_of(body, page)
    except MemoryError:
        picture = None
    send(answers, json.dumps({"last": False}).encode(), picture or b"")


def _drawing(answers: IO[bytes], body: bytes, number: int, text: str, start: int, end: int) -> None:
    """Answer with a page as it looks."""
    from readers.pages.page_drawing import draw_page

    head: dict[str, Any] = {"last": False}
    picture = b""
    try:
        page = draw_page(body, number, text, start, end)
        head |= {"page": {**asdict(replace(page, picture=b"")), "picture": ""}}
        picture = page.picture
    except ReadError as exc:
        head |= _failure(exc)
    except (MemoryError, RecursionError) as exc:
        head |= _failure(UnsafeFileError(f"drawing the page needs too much of it: {type(exc).__name__}")) | {
            "last": True
        }
    send(answers, json.dumps(head).encode(), picture)


def _failure(error: ReadError) -> dict[str, Any]:
    return {"error": type(error).__name__, "message": error.message, "details": error.details}


def _peak_bytes() -> int:
    """Peak memory of this process, as the kernel reports it: getrusage inherits the parent's peak."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:  # not Linux
        return 0
    return next((int(line.split()[1]) * 1_024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
