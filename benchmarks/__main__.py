"""Run the benchmarks: `python -m benchmarks [NAME ...]`; without names the quick ones, each in its quick form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
_RUNNABLE = "def main() -> "
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py") if _RUNNABLE in path.read_text("utf-8"))
BY_NAME_ONLY = {"answers", "quality"}  # minutes of embedding the first time: `make bench-quality`


def main(wanted: list[str]) -> int:
    """Run each benchmark in a process of its own; the exit code of the worst."""
    unknown = set(wanted) - set(NAMES)
    if unknown:
        print(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    commands = [[sys.executable, "-m", f"benchmarks.{name}"] for name in wanted or sorted(set(NAMES) - BY_NAME_ONLY)]
    return max(subprocess.run(command, check=False).returncode for command in commands)  # noqa: S603 - our own modules


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
