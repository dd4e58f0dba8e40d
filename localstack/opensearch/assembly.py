"""What an OpenSearch node runs on: a Java that is new enough, and programs from Maven artifacts (95 MB, once)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from localstack.processes import LaunchError

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


class UnavailableError(LaunchError):
    """There is no way to run OpenSearch here; the message says what is missing, one reason a line."""


def find_java(
    minimum: int, environ: Mapping[str, str], *, any_user: bool, places: Iterable[str] = USUAL_PLACES
) -> Path:
    """The home of a suitable JDK: `JAVA_HOME` first, then `java` on the PATH, then the usual places, newest first.

    *minimum* is a feature release, such as 21; *any_user*: every user must be able to run it, as the node of a root
    user runs as another one.  Raises UnavailableError if none will do; the message lists those that were found.
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
    """The feature release that a JDK's `release` file names."""
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


GROUP = "org.opensearch"
MODULE_GROUP = "org.opensearch.plugin"


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the server: the artifact it is published as, its plugin class, and whose classes it builds on."""

    name: str
    artifact: str
    plugin_class: str
    extends: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """One release.

    `server` are `group:artifact:version`; `needs_policy`: it still runs under a security manager; `more_plugins` are
    folder names and artifacts of plugins besides k-NN.
    """

    version: str
    java: int
    server: tuple[str, ...]
    modules: tuple[Module, ...]
    java_options: tuple[str, ...] = field(default=())
    needs_policy: bool = False
    more_plugins: tuple[tuple[str, str], ...] = ()

    @property
    def plugins(self) -> tuple[tuple[str, str], ...]:
        """Folder and artifact of each plugin, a zip: k-NN of exactly this version, and others."""
        return (("opensearch-knn", f"{MODULE_GROUP}:opensearch-knn:{self.version}.0"), *self.more_plugins)


def _server(version: str, log4j: str, *extra: str) -> tuple[str, ...]:
    own = ("opensearch", "opensearch-plugin-classloader", *extra)
    logging = tuple(f"org.apache.logging.log4j:{name}:{log4j}" for name in ("log4j-api", "log4j-core"))
    return tuple(f"{GROUP}:{name}:{version}" for name in own) + logging


def _modules(suffix: str) -> tuple[Module, ...]:
    base = "org.opensearch"
    return (
        Module("transport-netty4", "transport-netty4-client", f"{base}.transport.Netty4{suffix}"),
        Module("lang-painless", "lang-painless", f"{base}.painless.Painless{suffix}"),
        Module("analysis-common", "analysis-common", f"{base}.analysis.common.CommonAnalysis{suffix}", "lang-painless"),
        Module("mapper-extras", "mapper-extras-client", f"{base}.index.mapper.MapperExtras{suffix}"),
        Module("reindex", "reindex-client", f"{base}.index.reindex.Reindex{suffix}"),
    )


# The k-NN plugin must match the server's version exactly, and Maven has no k-NN zip after 3.6.0.0: so 3.6.0.
# log4j-core is not among the server's own dependencies; its version is the one that release's log4j-jul was built with.
RELEASES: dict[str, Release] = {
    "3.6.0": Release(
        version="3.6.0",
        java=21,
        server=_server("3.6.0", "2.25.3", "opensearch-agent-bootstrap"),
        # k-NN 3.x extends the gRPC transport, so that module has to be there although nothing uses it
        modules=(
            *_modules("ModulePlugin"),
            Module("transport-grpc", "transport-grpc", "org.opensearch.transport.grpc.GrpcPlugin"),
        ),
        java_options=("--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"),
    ),
    "2.19.0": Release(
        version="2.19.0",
        java=17,
        server=_server("2.19.0", "2.21.0"),
        modules=_modules("Plugin"),
        java_options=("--add-modules=jdk.incubator.vector", "-Djava.security.manager=allow"),
        needs_policy=True,
    ),
}
DEFAULT_RELEASE = "3.6.0"
# With the `hybrid` query that other frameworks use: for benchmarks beside them, ragdrop has no use for it.
HYBRID_RELEASE = "3.6.0-hybrid"
RELEASES[HYBRID_RELEASE] = replace(
    RELEASES["3.6.0"], more_plugins=(("opensearch-neural-search", f"{MODULE_GROUP}:neural-search:3.6.0.0"),)
)


MAVEN_TIMEOUT_S = 900
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ragdrop.local</groupId><artifactId>{name}</artifactId><version>1</version><packaging>pom</packaging>
  {body}
</project>
"""
# A security manager denies what is not listed; this node runs nothing but itself, so its own code may do all.
POLICY = "grant { permission java.security.AllPermission; };\n"


def assemble(release: Release, target: Path) -> Path:
    """Make the folder *target* (lib, modules, plugins) unless it is there; several processes may try at once.

    Raises UnavailableError if Maven is not installed, or could not fetch the artifacts.
    """
    if (target / "lib").is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".assembling-", dir=target.parent) as scratch:
        parts = {"server": [(coordinates, "jar") for coordinates in release.server]}
        parts |= {name: [(artifact, "zip")] for name, artifact in release.plugins}
        for module in release.modules:
            parts[module.name] = [(f"{MODULE_GROUP}:{module.artifact}:{release.version}", "jar")]
        copy_artifacts(parts, Path(scratch), f"OpenSearch {release.version}")
        built = Path(scratch) / "node"
        _lay_out(release, Path(scratch), built)
        try:
            built.rename(target)
        except OSError:
            if not (target / "lib").is_dir():  # else another process was quicker, and its result is as good
                raise
    return target


def copy_artifacts(parts: Mapping[str, list[tuple[str, str]]], scratch: Path, what: str) -> None:
    """One Maven run: `scratch/PART/jars` has the artifacts (coordinates and kind) of each part, with what they need.

    Raises UnavailableError if Maven is not installed, or could not fetch *what*; the message carries its first lines.
    """
    if shutil.which("mvn") is None:
        raise UnavailableError(f"`mvn` (Maven) is needed to fetch {what} and is not on the PATH")
    for name, artifacts in parts.items():
        (scratch / name).mkdir()
        (scratch / name / "pom.xml").write_text(_part(name, artifacts))
    modules = "".join(f"<module>{name}</module>" for name in parts)
    project = PROJECT.format(name="all", body=f"<modules>{modules}</modules>")
    (scratch / "pom.xml").write_text(project)
    command = ["mvn", "--quiet", "--batch-mode", COPY_GOAL]
    run = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_S, check=False)
    if run.returncode:
        tail = "\n".join((run.stdout + run.stderr).splitlines()[:5])
        raise UnavailableError(f"Maven could not fetch {what}:\n{tail}")


def _part(name: str, artifacts: list[tuple[str, str]]) -> str:
    dependencies = ""
    for coordinates, kind in artifacts:
        group, artifact, version = coordinates.split(":")
        dependencies += (
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version><type>{kind}</type></dependency>"
        )
    properties = "<properties><outputDirectory>${project.basedir}/jars</outputDirectory></properties>"
    return PROJECT.format(name=name, body=f"{properties}<dependencies>{dependencies}</dependencies>")


def _lay_out(release: Release, scratch: Path, built: Path) -> None:
    shutil.copytree(scratch / "server" / "jars", built / "lib")
    in_server = {_artifact(jar) for jar in (built / "lib").iterdir()}
    for module in release.modules:
        folder = built / "modules" / module.name
        folder.mkdir(parents=True)
        for jar in (scratch / module.name / "jars").iterdir():
            if _artifact(jar) not in in_server:  # the server refuses to start when a jar is there twice
                shutil.copy(jar, folder)
        descriptor = {
            "name": module.name,
            "description": f"OpenSearch's module {module.name}",
            "version": release.version,
            "opensearch.version": release.version,
            "java.version": str(release.java),
            "classname": module.plugin_class,
            "extended.plugins": module.extends,
            "has.native.controller": "false",
        }
        lines = [f"{key}={value}\n" for key, value in descriptor.items()]
        (folder / "plugin-descriptor.properties").write_text("".join(lines))  # the published jars come without it
        if release.needs_policy:
            (folder / "plugin-security.policy").write_text(POLICY)
    for name, _ in release.plugins:
        plugin = built / "plugins" / name
        plugin.mkdir(parents=True)
        with zipfile.ZipFile(next((scratch / name / "jars").glob("*.zip"))) as content:
            content.extractall(plugin)
    for name in ("bin", "extensions"):  # the server insists on them, and its user may not make them here
        (built / name).mkdir()
    # Everyone may read it: a root user's node runs as somebody else.  Nobody but the owner may change it.
    for path in (built, *built.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _artifact(jar: Path) -> str:
    return jar.name.rsplit("-", 1)[0]
