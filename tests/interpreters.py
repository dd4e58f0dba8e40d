"""A program in an interpreter of its own: what is imported there, nothing else has imported."""

from __future__ import annotations

import os
import subprocess
import sys


def printed(program: str) -> str:
    """What *program* prints."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        text=True,
        env={"PYTHONPATH": path},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
