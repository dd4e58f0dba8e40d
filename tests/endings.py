"""What must end with a test run: a worker of pytest-xdist does not run what `atexit` was told."""

from __future__ import annotations

from contextlib import ExitStack

AT_THE_END = ExitStack()
