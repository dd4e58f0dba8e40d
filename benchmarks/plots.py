"""Plots are drawn by an environment of their own, as matplotlib would weigh on all others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".local/env/plots/bin/python"


def draw(module: str, *arguments: str) -> None:
    """Run a *module* that draws, where there is that environment; else say how to make it."""
    if not PYTHON.exists():
        print(f"{module}: no plot, make .local/env/plots/.ready first", file=sys.stderr)
        return
    subprocess.run([PYTHON, "-m", module, *arguments], cwd=ROOT, check=True)  # noqa: S603 - our own modules
