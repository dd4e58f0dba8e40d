"""`python -m checks.dependency_audit`: no locked package has a known vulnerability, or it says that it cannot know.

pip-audit asks the package index's own advisories for each locked version.  Where the index has none to give, or cannot
be reached, pip-audit says "no known vulnerabilities": here that is NOT AUDITED, loudly.  It is no error, as a build
without a network must not fail for it; RAGDROP_REQUIRE_AUDIT=1 makes it one, for CI that has a network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / ".local/env/audit/bin/pip-audit"
TIMEOUT_S = 300  # of all locks together
SHOWN = 5


@dataclass(slots=True)
class Audit:
    """What is known of the packages: how many were looked up, which were not, which are vulnerable."""

    audited: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    vulnerable: set[str] = field(default_factory=set)

    def add(self, report: dict[str, Any]) -> None:
        """Take over pip-audit's report as JSON.

        >>> audit = Audit()
        >>> audit.add({"dependencies": [{"name": "a", "skip_reason": "not found"}, {"name": "b", "version": "1",
        ...     "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}]})
        >>> audit.verdict()
        (1, 'VULNERABLE: b 1 has PYSEC-1, fixed in 2; NOT AUDITED: 1 of 2 packages: a')
        """
        for each in report["dependencies"]:
            if "skip_reason" in each:
                self.skipped.add(each["name"])
                continue
            self.audited.add(each["name"])
            for found in each["vulns"]:
                fixed = f", fixed in {', '.join(found['fix_versions'])}" if found["fix_versions"] else ""
                self.vulnerable.add(f"{each['name']} {each['version']} has {found['id']}{fixed}")

    def verdict(self, *, required: bool = False) -> tuple[int, str]:
        """The exit code and what to say; *required* makes a package that could not be looked up an error.

        >>> Audit(skipped={"a"}).verdict()
        (0, 'NOT AUDITED: 1 of 1 packages: a')
        >>> Audit(audited={"a"}).verdict(required=True)
        (0, 'audited 1 packages: no known vulnerability')
        """
        parts = []
        if self.vulnerable:
            parts.append(f"VULNERABLE: {'; '.join(sorted(self.vulnerable))}")
        if self.skipped:
            names = sorted(self.skipped)
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            total = len(self.audited | self.skipped)
            parts.append(f"NOT AUDITED: {len(names)} of {total} packages: {', '.join(names[:SHOWN])}{more}")
        failed = bool(self.vulnerable or (required and self.skipped))
        return int(failed), "; ".join(parts) or f"audited {len(self.audited)} packages: no known vulnerability"


def locks() -> list[Path]:
    """Every lock of the repository that holds packages: requirements with hashes."""
    places = [*ROOT.glob("layers/*/*/requirements.txt"), *ROOT.glob("functions/*/requirements.txt")]
    return sorted(lock for lock in [*places, *ROOT.glob("requirements/*.txt")] if "--hash=" in lock.read_text("utf-8"))


def pins(files: Iterable[Path]) -> list[list[str]]:
    """Every `name==version` of the locks, in as few lists as have no name twice."""
    lists: list[dict[str, str]] = []
    required = {line.split()[0] for file in files for line in file.read_text("utf-8").splitlines() if "==" in line[:80]}
    for pin in sorted(required):
        name = pin.partition("==")[0]
        group = next((each for each in lists if name not in each), None)
        if group is None:
            lists.append(group := {})
        group[name] = pin
    return [list(each.values()) for each in lists]


def report_of(packages: list[str]) -> dict[str, Any] | None:
    """pip-audit's report of pinned packages, None where it could not make one."""
    with TemporaryDirectory() as folder:
        required = Path(folder) / "requirements.txt"
        required.write_text("\n".join(packages), encoding="utf-8")
        command = [str(TOOL), "--disable-pip", "--no-deps", "--progress-spinner", "off", "-f", "json", "--timeout", "5"]
        try:
            done = subprocess.run(  # noqa: S603 - a fixed command
                [*command, "-r", str(required)], capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
            found: dict[str, Any] = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            return None
    return found


def main() -> int:
    """Audit every lock."""
    audit = Audit()
    for packages in pins(locks()):
        report = report_of(packages)
        if report is None:
            audit.skipped.update(pin.partition("==")[0] for pin in packages)
        else:
            audit.add(report)
    code, text = audit.verdict(required=os.environ.get("RAGDROP_REQUIRE_AUDIT") == "1")
    sys.stdout.write(f"dependencies: {text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
