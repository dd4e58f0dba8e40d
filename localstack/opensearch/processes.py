"""Finds and stops a process by its id, if it is still the one that was started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time


def is_running(pid: int, *, marker: str) -> bool:
    """Whether process *pid* runs and has *marker* in its command line (ids are used again by the system)."""
    listing = subprocess.run(
        ["ps", "-o", "stat=,args=", "-ww", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    line = listing.stdout.strip()
    return bool(line) and not line.startswith("Z") and marker in line


def stop_process(pid: int, *, marker: str, timeout_s: float) -> None:
    """Ask the process to end, and after *timeout_s* seconds end it."""
    for how, wait_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, 5.0)):
        if not is_running(pid, marker=marker):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
        give_up_s = time.monotonic() + wait_s
        while time.monotonic() < give_up_s and is_running(pid, marker=marker):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)  # a child of ours stays a zombie until it is waited for
            time.sleep(0.1)
