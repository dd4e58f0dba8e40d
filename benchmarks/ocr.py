"""How many characters the laptop's recogniser reads right, by language, on 20 pages of known text, clean and noisy.

    python -m benchmarks.ocr [--write]            # ten minutes; `make demo MODEL=ocr` makes the environment

Fonts for Chinese and Japanese are not in the repository.  These languages are measured where they lie in a folder:
`.venv/bin/uv pip install --no-deps --target .local/fonts mplfonts matplotlib-fontja` brings them from PyPI.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks.grids import Grid, tell
from benchmarks.ocr_pages import known_pages
from ragdrop.domain.deadlines import Deadline
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.text_recognizers import HttpTextRecognizer

PYTHON = Path(".local/env/ocr/bin/python")
START_TIMEOUT_S, PAGE_TIMEOUT_S = 60.0, 300.0
GOALS = {"clean": 0.98, "noisy": 0.90}


def main() -> int:
    """Measure and print, and keep the record if asked to; 2 without the recogniser's environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the record")
    parser.add_argument("--fonts", type=Path, default=Path(".local/fonts"), help="where fonts of eastern scripts lie")
    options = parser.parse_args()
    if not PYTHON.exists():
        sys.stderr.write("`make demo MODEL=ocr` makes the environment of the recogniser\n")
        return 2
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seconds = []
    with _server() as url:
        recognizer = HttpTextRecognizer(OpenAiHttp(url, api_key=lambda: None, timeout_s=PAGE_TIMEOUT_S))
        for page in known_pages(options.fonts):
            for kind, picture in (("clean", page.clean), ("noisy", page.noisy)):
                begun_s = time.monotonic()
                found = recognizer.recognize(picture, Deadline.after(PAGE_TIMEOUT_S))
                seconds.append(time.monotonic() - begun_s)
                share = right_share(page.text, found.text)
                shares[page.language][kind].append(share)
                print(f"{page.language}, {page.look}, {kind}: {share:.1%}, {seconds[-1]:.0f} s", file=sys.stderr)
    rows = [
        (language, str(len(kinds["clean"])), *(f"{_mean(kinds[kind]):.1%} ({min(kinds[kind]):.1%})" for kind in GOALS))
        for language, kinds in shares.items()
    ]
    every = {kind: [share for kinds in shares.values() for share in kinds[kind]] for kind in GOALS}
    rows.append(("all", str(len(every["clean"])), *(f"{_mean(every[kind]):.1%}" for kind in GOALS)))
    met = {
        kind: "met" if all(_mean(kinds[kind]) >= goal for kinds in shares.values()) else "not met by all languages"
        for kind, goal in GOALS.items()
    }
    note = (
        f"In brackets the worst page. Goals: {GOALS['clean']:.0%} clean ({met['clean']}), {GOALS['noisy']:.0%} noisy "
        f"({met['noisy']}). A page takes {_mean(seconds):.0f} s on average, {max(seconds):.0f} s at most."
    )
    grid = Grid(("language", "pages", "clean", "noisy"), rows, note)
    tell("ocr", [grid], write=options.write, rapidocr=_version("rapidocr"), onnxruntime=_version("onnxruntime"))
    return 0


def right_share(wanted: str, found: str) -> float:
    r"""The share of characters that are right, in [0, 1]: one minus the edits to *wanted* by its length.

    White space counts nothing: how a page is broken into lines is no error.

    >>> right_share("It leaks.", "lt leaks"), right_share("one two", "one\ntwo")
    (0.75, 1.0)
    """
    a, b = "".join(wanted.split()), "".join(found.split())
    above = list(range(len(b) + 1))
    for at, letter in enumerate(a, start=1):
        row = [at]
        for place, other in enumerate(b):
            row.append(min(above[place] + (letter != other), above[place + 1] + 1, row[-1] + 1))
        above = row
    return max(0.0, 1 - above[-1] / max(len(a), 1))


def _mean(shares: list[float]) -> float:
    return sum(shares) / len(shares)


def _version(package: str) -> str:
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


@contextmanager
def _server() -> Iterator[str]:
    """The recogniser as `make demo MODEL=ocr` starts it, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [str(PYTHON), "-m", "localstack.models.ocr_server", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(os.environ))  # noqa: S603 - our own
    try:
        until_s = time.monotonic() + START_TIMEOUT_S
        while not _answers(url):
            if time.monotonic() > until_s or process.poll() is not None:
                sys.exit("the recogniser did not start")
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def _answers(url: str) -> bool:
    try:
        httpx.get(url, timeout=5.0, trust_env=False)
    except httpx.HTTPError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
