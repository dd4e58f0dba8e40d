"""Where a node's files lie, who owns them, and the settings it starts with."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localstack.opensearch.jdk import UnavailableError, reachable_by_all

NOBODY = 65534  # the user that a root user's node runs as: OpenSearch refuses to run as root
LOGGING = """status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1.} %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
"""


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one node; `programs` holds the assembled releases and is shared between nodes."""

    programs: Path
    node: Path

    @property
    def config(self) -> Path:
        """The node's settings."""
        return self.node / "config"

    @property
    def scratch(self) -> Path:
        """The node's folder for temporary files."""
        return self.node / "tmp"

    @property
    def log(self) -> Path:
        """What the node writes to its standard output."""
        return self.node / "node.log"

    @property
    def cluster(self) -> str:
        """The cluster's name: tells this node from any other that may answer on its port."""
        return "ragdrop-" + hashlib.sha256(str(self.node).encode()).hexdigest()[:12]


def is_root() -> bool:
    """Whether this process is root."""
    return os.geteuid() == 0


def folders(home: Path, programs: Path) -> Folders:
    """The folders of the node of *home*; below the system's folder for temporary files where another user cannot enter.

    A root user's node runs as `nobody`; a home folder that only root may enter would be closed to it.
    """
    home, programs = home.resolve(), programs.resolve()
    if not is_root() or (reachable_by_all(home) and reachable_by_all(programs)):
        return Folders(programs, home / "opensearch")
    open_to_all = Path(tempfile.gettempdir()).resolve() / "ragdrop-opensearch"
    name = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    _make_own(open_to_all)
    return Folders(open_to_all / "programs", open_to_all / name)


def prepare(place: Folders, port: int, transport_port: int) -> None:
    """Make the node's folders and settings; as root they become `nobody`'s."""
    place.node.mkdir(parents=True, exist_ok=True)
    for folder in (place.config, place.node / "data", place.scratch):
        folder.mkdir(exist_ok=True)
    settings = {
        "cluster.name": place.cluster,
        "node.name": "laptop",
        "discovery.type": "single-node",
        "network.host": "127.0.0.1",
        "http.port": port,
        "transport.port": transport_port,
        "path.data": place.node / "data",
        "path.logs": place.node / "logs",
        # a nearly full laptop disk must not turn the index read-only
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    lines = [f"{name}: {value}\n" for name, value in settings.items()]
    (place.config / "opensearch.yml").write_text("".join(lines))
    (place.config / "log4j2.properties").write_text(LOGGING)
    place.log.touch()
    if is_root():
        for path in (place.node, *place.node.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def _make_own(folder: Path) -> None:
    """Make a folder in a place where others may write too; refuse one that somebody else put there first."""
    folder.mkdir(mode=0o755, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise UnavailableError(f"{folder} belongs to somebody else: remove it, or set TMPDIR")
    folder.chmod(0o755)
