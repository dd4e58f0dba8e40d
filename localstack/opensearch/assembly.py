"""Puts an OpenSearch node together from Maven artifacts: 95 MB, half a minute, once."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from localstack.opensearch.jdk import UnavailableError
from localstack.opensearch.releases import MODULE_GROUP, Release

MAVEN_TIMEOUT_S = 900
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ragdrop.local</groupId><artifactId>{name}</artifactId><version>1</version><packaging>{packaging}</packaging>
  {body}
</project>
"""
# A security manager denies what is not listed; this node runs nothing but itself, so its own code may do all.
POLICY = "grant { permission java.security.AllPermission; };\n"


def assemble(release: Release, target: Path) -> Path:
    """Make the folder *target* (lib, modules, plugins) unless it is there; several processes may try at once.

    Raises:
        UnavailableError: Maven is not installed, or could not fetch the artifacts; the message carries its last lines.
    """
    if (target / "lib").is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".assembling-", dir=target.parent) as scratch:
        _fetch(release, Path(scratch))
        built = Path(scratch) / "node"
        _lay_out(release, Path(scratch), built)
        try:
            built.rename(target)
        except OSError:
            if not (target / "lib").is_dir():  # else another process was quicker, and its result is as good
                raise
    return target


def _fetch(release: Release, scratch: Path) -> None:
    """Each module's artifacts end in its own `jars` folder."""
    parts = {"server": [(coordinates, "jar") for coordinates in release.server]}
    parts |= {name: [(artifact, "zip")] for name, artifact in release.plugins}
    for module in release.modules:
        parts[module.name] = [(f"{MODULE_GROUP}:{module.artifact}:{release.version}", "jar")]
    copy_artifacts(parts, scratch, f"OpenSearch {release.version}")


def copy_artifacts(parts: Mapping[str, list[tuple[str, str]]], scratch: Path, what: str) -> None:
    """One Maven run: `scratch/PART/jars` holds the artifacts (coordinates and kind) of each part, with what they need.

    Raises:
        UnavailableError: Maven is not installed, or could not fetch *what*; the message carries its first lines.
    """
    if shutil.which("mvn") is None:
        raise UnavailableError(f"`mvn` (Maven) is needed to fetch {what} and is not on the PATH")
    for name, artifacts in parts.items():
        (scratch / name).mkdir()
        (scratch / name / "pom.xml").write_text(_part(name, artifacts))
    modules = "".join(f"<module>{name}</module>" for name in parts)
    project = PROJECT.format(name="all", packaging="pom", body=f"<modules>{modules}</modules>")
    (scratch / "pom.xml").write_text(project)
    run = subprocess.run(
        ["mvn", "--quiet", "--batch-mode", COPY_GOAL],
        cwd=scratch,
        capture_output=True,
        text=True,
        timeout=MAVEN_TIMEOUT_S,
        check=False,
    )
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
    body = f"{properties}<dependencies>{dependencies}</dependencies>"
    return PROJECT.format(name=name, packaging="pom", body=body)


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
    _open_to_all(built)


def _artifact(jar: Path) -> str:
    return jar.name.rsplit("-", 1)[0]


def _open_to_all(folder: Path) -> None:
    """Everyone may read it: a root user's node runs as somebody else.  Nobody but the owner may change it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
