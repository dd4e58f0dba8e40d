"""`python -m checks.secret_scan [FILE ...]`: no file of the repository holds a secret that is not known to be none.

detect-secrets looks for the forms of keys and passwords of many services and for ragdrop's own keys. What it finds in
examples and tests is listed in checks/known_secrets.json, by the hash of its text, with the reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / ".local/env/audit/bin/detect-secrets"
KNOWN = ROOT / "checks/known_secrets.json"
LEFT_OUT = r"requirements.*\.txt$|\.svg$|\.jsonl$|^checks/known_secrets\.json$"  # hashes, pictures, questions
# Every digest of a test is of high entropy, and every `api_key=` of one a keyword; ruff's S105 to S107 look for those.
TOO_LOUD = ("Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector")


def found_secrets(files: Sequence[str] = ()) -> dict[str, Any]:
    """What the tool finds in *files*, or without any in those that git knows, by file."""
    command = [str(TOOL), "scan", "--no-verify", "--exclude-files", LEFT_OUT, "-p", "checks/ragdrop_keys.py"]
    command += [word for plugin in TOO_LOUD for word in ("--disable-plugin", plugin)]
    command += files
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - a fixed command
    results: dict[str, Any] = json.loads(done.stdout)["results"]
    return results


def unknown(found: Mapping[str, Sequence[Mapping[str, Any]]], known: Mapping[str, Mapping[str, str]]) -> list[str]:
    """One line for each secret that is not known; never the secret itself.

    >>> entry = {"type": "Private Key", "line_number": 3, "hashed_secret": "ab12"}
    >>> unknown({"a.py": [entry]}, {"a.py": {"cd34": "an example"}})
    ['a.py:3: Private Key (ab12)']
    """
    return [
        f"{name}:{each['line_number']}: {each['type']} ({each['hashed_secret']})"
        for name, entries in sorted(found.items())
        for each in entries
        if each["hashed_secret"] not in known.get(name, {})
    ]


def main() -> int:
    """Scan; 1 where a secret was found that is not known."""
    lines = unknown(found_secrets(sys.argv[1:]), json.loads(KNOWN.read_text("utf-8")))
    for line in lines:
        sys.stdout.write(f"a secret? {line}\n")
    if lines:
        sys.stdout.write("take it out and replace it at its service; if it is none: checks/known_secrets.json\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
