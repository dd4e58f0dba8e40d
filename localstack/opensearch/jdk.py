"""Finds a Java that can run OpenSearch: new enough, whole, and readable by the user that the node runs as."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/usr/local/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
# Without the locale data the first index fails (an analyzer for Thai is made at start-up).
NEEDED_MODULES = ("jdk.localedata",)


class UnavailableError(RuntimeError):
    """There is no way to run OpenSearch here; the message says what is missing, one reason a line."""


def find_java(
    minimum: int, environ: Mapping[str, str], *, any_user: bool, places: Iterable[str] = USUAL_PLACES
) -> Path:
    """The home of a suitable JDK: `JAVA_HOME` first, then `java` on the PATH, then the usual places, newest first.

    Args:
        minimum: The feature release that is needed, such as 21.
        environ: The environment.
        any_user: Every user has to be able to run it (the node of a root user runs as another one).
        places: Patterns of folders to look into.

    Raises:
        UnavailableError: None will do; the message lists those that were found and why not.
    """
    rejected: list[str] = []
    for home in _candidates(environ, places):
        problem = _problem(home, minimum, any_user=any_user)
        if problem is None:
            return home
        rejected.append(f"{home}: {problem}")
    found = "; found " + "; ".join(rejected) if rejected else "; none was found"
    raise UnavailableError(f"a full JDK {minimum} or newer is needed (set JAVA_HOME or install one){found}")


def feature_release(release_file: str) -> int | None:
    """The feature release that a JDK's `release` file names.

    >>> feature_release('JAVA_VERSION="25.0.1"'), feature_release('JAVA_VERSION="1.8.0_392"')
    (25, 8)
    """
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release_file, re.MULTILINE)
    return int(match.group(1)) if match else None


def _candidates(environ: Mapping[str, str], places: Iterable[str]) -> Iterator[Path]:
    first = [Path(environ["JAVA_HOME"])] if environ.get("JAVA_HOME") else []
    on_path = shutil.which("java", path=environ.get("PATH"))
    if on_path:
        first.append(Path(on_path).resolve().parents[1])
    usual: list[Path] = []
    for pattern in places:
        expanded = Path(pattern).expanduser()
        root = Path(expanded.anchor)
        usual.extend(root.glob(str(expanded.relative_to(root))))
    usual = [home for home in usual if (home / "bin" / "java").exists()]
    usual.sort(key=lambda home: _release(home) or 0, reverse=True)
    seen: set[Path] = set()
    for home in [*first, *usual]:
        if home.resolve() not in seen:
            seen.add(home.resolve())
            yield home


def _release(home: Path) -> int | None:
    try:
        return feature_release((home / "release").read_text())
    except OSError:
        return None


def _problem(home: Path, minimum: int, *, any_user: bool) -> str | None:
    if not os.access(home / "bin" / "java", os.X_OK):
        return "has no bin/java"
    try:
        text = (home / "release").read_text()
    except OSError:
        return "has no release file that says what it is"
    release = feature_release(text)
    if release is None or release < minimum:
        return f"is Java {release}" if release else "is of an unknown version"
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    missing = [name for name in NEEDED_MODULES if modules and name not in modules.group(1).split()]
    if missing:
        return f"is cut down ({', '.join(missing)} is missing)"
    if any_user and not reachable_by_all(home):
        return "lies in a folder that only its owner may enter, and root's node runs as another user"
    return None


def reachable_by_all(folder: Path) -> bool:
    """Whether every user may enter *folder* and all the folders above it (those that exist)."""
    folder = folder.resolve()
    return all(not part.exists() or part.stat().st_mode & 0o001 for part in (folder, *folder.parents))
