"""The processes in which the emulator runs the ingest function: their memory, and how they end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stacks import LocalStack

PROC = Path("/proc")
ALIAS = "live"  # what the queue calls
PATIENCE_S = 10  # of an invocation that ended without an answer: its message is shown again after so much more


class IngestWorkers:
    """The warm processes of one stack's ingest function."""

    def __init__(self, stack: LocalStack) -> None:
        self._emulator = int(stack.fields["pids"]["emulator"])
        self._peak_bytes: dict[int, int] = {}  # by worker, with the reader that it started

    def pids(self) -> list[int]:
        """Those that run now."""
        return [pid for pid in _children(self._emulator) if "IngestFunction" in _command(pid)]

    def peak_mb(self) -> float:
        """The most memory that one worker and its readers together had, of those seen at any call so far.

        Each process counts with its own peak, wherever in time that was: the true one is at most this.
        """
        for pid in self.pids():
            seen = _peak_bytes(pid) + sum(map(_peak_bytes, _children(pid)))
            self._peak_bytes[pid] = max(seen, self._peak_bytes.get(pid, 0))
        return max(self._peak_bytes.values(), default=0) / 2**20

    def kill(self) -> int:
        """End all of them at once, as a crash would; how many."""
        killed = self.pids()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        return len(killed)


@contextmanager
def limited_ingest(stack: LocalStack, *, timeout_s: int, memory_mb: int = 512) -> Iterator[IngestWorkers]:
    """Within the block ingest has this much time and memory, and a message whose worker died comes back soon after."""
    function, queue = stack.fields["outputs"]["IngestFunctionName"], stack.environment["QUEUE_URL"]
    lambda_, sqs = stack.client("lambda"), stack.client("sqs")
    before = lambda_.get_function_configuration(FunctionName=function)
    alias = lambda_.get_alias(FunctionName=function, Name=ALIAS)["FunctionVersion"]
    visible = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])["Attributes"]
    lambda_.update_function_configuration(FunctionName=function, Timeout=timeout_s, MemorySize=memory_mb)
    limited = lambda_.publish_version(FunctionName=function)["Version"]
    lambda_.update_alias(FunctionName=function, Name=ALIAS, FunctionVersion=limited)
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": str(timeout_s + PATIENCE_S)})
    try:
        yield IngestWorkers(stack)
    finally:
        sqs.set_queue_attributes(QueueUrl=queue, Attributes=visible)
        lambda_.update_alias(FunctionName=function, Name=ALIAS, FunctionVersion=alias)
        lambda_.update_function_configuration(
            FunctionName=function, Timeout=before["Timeout"], MemorySize=before["MemorySize"]
        )


def _children(pid: int) -> list[int]:
    """The processes that *pid* started; none where it has ended."""
    try:
        tasks = [task.joinpath("children").read_text("ascii") for task in (PROC / str(pid) / "task").iterdir()]
    except OSError:
        return []
    return [int(child) for line in tasks for child in line.split()]


def _command(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_text("utf-8").replace("\0", " ")
    except OSError:
        return ""


def _peak_bytes(pid: int) -> int:
    try:
        status = (PROC / str(pid) / "status").read_text("ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1_024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
