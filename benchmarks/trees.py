"""The code of an earlier commit, for benchmarks that compare this tree with it."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from localstack.home import REPOSITORY


def tree_of(commit: str, folder: Path, *parts: str) -> Path:
    """The code of *commit*, unpacked below *folder*; only these *parts*, where there are any."""
    command = ["git", "archive", commit, *parts]
    packed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout  # noqa: S603 - our own
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder / commit, filter="data")
    return folder / commit
