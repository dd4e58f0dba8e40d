"""One OpenSearch node: its folders, its start as a process or in Docker, its health, its end."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from localstack.opensearch.assembly import (
    DEFAULT_RELEASE,
    RELEASES,
    Release,
    UnavailableError,
    assemble,
    find_java,
    reachable_by_all,
)
from localstack.processes import HOST, Process, choose_port, read_process, tail
from localstack.processes import start as start_process
from localstack.processes import stop as stop_process

NOBODY = 65534  # the user that a root user's node runs as: OpenSearch refuses to run as root
LOGGING = """status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1.} %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
"""
COMPOSE_FILE = Path(__file__).with_name("compose.yaml")
USUAL_PORT = 9200
PROGRAMS = Path(__file__).resolve().parents[2] / ".local" / "opensearch"
HEAP = "512m"  # half of it is for k-NN and caches; a laptop's index has some 10,000 chunks
START_TIMEOUT_S = 120
POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Node:
    """A node that answers: a process, a project of Docker Compose, or (with neither) one that the caller runs.

    `folder` has its files and the note that finds it again.
    """

    url: str
    process: Process | None = None
    compose_project: str | None = None
    folder: Path | None = None

    @property
    def pid(self) -> int | None:
        """The process's id; None where this package started none."""
        return None if self.process is None else self.process.pid


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one node; `programs` has the assembled releases and is shared between nodes."""

    programs: Path
    node: Path

    @property
    def log(self) -> Path:
        """What the node writes to its standard output."""
        return self.node / "node.log"

    @property
    def note(self) -> Path:
        """How the node was started last."""
        return self.node / "node.json"

    @property
    def cluster(self) -> str:
        """The cluster's name, which no other node that may answer on its port has."""
        return "ragdrop-" + hashlib.sha256(str(self.node).encode()).hexdigest()[:12]


def is_root() -> bool:
    """Whether this process is root."""
    return os.geteuid() == 0


def folders(home: Path, programs: Path = PROGRAMS) -> Folders:
    """The folders of the node of *home*; below the system's folder for temporary files where another user cannot enter.

    A root user's node runs as `nobody`; a home folder that only root may enter would be closed to it.
    """
    home, programs = home.resolve(), programs.resolve()
    if not is_root() or (reachable_by_all(home) and reachable_by_all(programs)):
        return Folders(programs, home / "opensearch")
    open_to_all = Path(tempfile.gettempdir()).resolve() / "ragdrop-opensearch"
    open_to_all.mkdir(mode=0o755, exist_ok=True)
    if open_to_all.is_symlink() or open_to_all.stat().st_uid != os.geteuid():  # others may write there too
        raise UnavailableError(f"{open_to_all} belongs to somebody else: remove it, or set TMPDIR")
    open_to_all.chmod(0o755)
    return Folders(open_to_all / "programs", open_to_all / hashlib.sha256(str(home).encode()).hexdigest()[:12])


def start(
    home: Path,
    port: int | None = None,
    *,
    release: str = DEFAULT_RELEASE,
    environ: Mapping[str, str] | None = None,
    programs: Path = PROGRAMS,
) -> Node:
    """The node of *home*: the one of `OPENSEARCH_URL`, or one from Maven artifacts, or one in Docker.

    A node of *home* that still runs is returned.  Its data are in `<home>/opensearch` and outlive it.
    Without *port* it listens on 9200 or, where that is taken, on a free port.  *release* is a key of RELEASES.

    Raises UnavailableError if there is no way to run one here; the message names what is missing.
    """
    environ = os.environ if environ is None else environ
    if environ.get("OPENSEARCH_URL"):
        return Node(environ["OPENSEARCH_URL"].rstrip("/"))
    if (running := find(home, programs=programs)) is not None:
        return running
    place, chosen = folders(home, programs), RELEASES[release]
    try:
        java = find_java(chosen.java, environ, any_user=is_root())
        program = assemble(chosen, place.programs / release)
    except UnavailableError as no_java:
        if not docker_answers():
            reasons = f"- {no_java}\n- `docker info` does not succeed\n- OPENSEARCH_URL is not set"
            raise UnavailableError(f"OpenSearch cannot run here:\n{reasons}") from no_java
        node = _compose_up(place, chosen.version, port or choose_port(USUAL_PORT))
    else:
        node = _launch(place, program, java, chosen, port or choose_port(USUAL_PORT))
    note = {"url": node.url, "process": node.process and asdict(node.process), "compose_project": node.compose_project}
    place.note.write_text(json.dumps(note))
    return node


def noted(home: Path, *, programs: Path = PROGRAMS) -> Node | None:
    """The node of *home* that was started last and not stopped; it need not run any more."""
    place = folders(home, programs)
    try:
        fields = json.loads(place.note.read_text())
        process = read_process(fields["process"]) if fields["process"] else None
    except (OSError, ValueError, KeyError):
        return None
    return Node(fields["url"], process, fields["compose_project"], place.node)


def find(home: Path, *, programs: Path = PROGRAMS) -> Node | None:
    """The node of *home* that this package started, if it runs."""
    node = noted(home, programs=programs)
    if node is None or (node.process is not None and not node.process.running):
        return None
    health = _health(node.url)
    is_own = health is not None and health["cluster_name"] == folders(home, programs).cluster
    return node if is_own or (health is not None and node.compose_project is not None) else None


def stop(node: Node, *, timeout_s: float = 30) -> None:
    """Stop what `start` started, and only that; one that is gone already is no error."""
    if node.compose_project is not None:
        environment = os.environ | {"OPENSEARCH_PORT": "9200", "OPENSEARCH_VERSION": "unused"}
        subprocess.run([*_compose(node.compose_project), "down"], env=environment, capture_output=True, check=False)
    if node.process is not None:
        stop_process(node.process, patience_s=timeout_s)
    if node.folder is not None:
        (node.folder / "node.json").unlink(missing_ok=True)


def forget(home: Path, *, programs: Path = PROGRAMS) -> None:
    """Stop *home*'s node, if there is one, and remove its data."""
    if (node := noted(home, programs=programs)) is not None:
        stop(node)
    shutil.rmtree(folders(home, programs).node, ignore_errors=True)


def _prepare(place: Folders, port: int) -> None:
    """Make the node's folders and settings; as root they become `nobody`'s."""
    place.node.mkdir(parents=True, exist_ok=True)
    for name in ("config", "data", "tmp"):
        (place.node / name).mkdir(exist_ok=True)
    settings = {
        "cluster.name": place.cluster,
        "node.name": "laptop",
        "discovery.type": "single-node",
        "network.host": HOST,
        "http.port": port,
        "transport.port": choose_port(),
        "path.data": place.node / "data",
        "path.logs": place.node / "logs",
        # a nearly full laptop disk must not turn the index read-only
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    lines = [f"{name}: {value}\n" for name, value in settings.items()]
    (place.node / "config/opensearch.yml").write_text("".join(lines))
    (place.node / "config/log4j2.properties").write_text(LOGGING)
    place.log.touch()
    if is_root():
        for path in (place.node, *place.node.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def _launch(place: Folders, program: Path, java: Path, release: Release, port: int) -> Node:
    _prepare(place, port)
    command = [
        *(str(java / "bin" / "java"), f"-Xms{HEAP}", f"-Xmx{HEAP}", f"-Djava.io.tmpdir={place.node / 'tmp'}"),
        *("-Djava.awt.headless=true", "-Djna.nosys=true", "-Dlog4j2.disable.jmx=true"),
        *("-Dlog4j.shutdownHookEnabled=false", "-XX:-HeapDumpOnOutOfMemoryError", "-XX:+ExitOnOutOfMemoryError"),
        *("-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true"),
        *("--add-opens=java.base/java.nio=ALL-UNNAMED", *release.java_options),
        *(f"-Dopensearch.path.home={program}", f"-Dopensearch.path.conf={place.node / 'config'}"),
        *("-cp", str(program / "lib" / "*"), "org.opensearch.bootstrap.OpenSearch"),
    ]
    user = NOBODY if is_root() else None
    environment = {"JAVA_HOME": str(java), "PATH": os.defpath, "LANG": "C.UTF-8"}
    where: dict[str, Any] = {"port": port, "environment": environment, "folder": place.node, "log": place.log}
    groups = None if user is None else ()
    process = start_process("opensearch", command, **where, user=user, group=user, extra_groups=groups)
    url = f"http://{HOST}:{port}"
    try:
        _await_healthy(url, process, cluster=place.cluster)
    except BaseException as exc:  # whatever ended the waiting, a Ctrl-C too
        stop_process(process)
        if isinstance(exc, UnavailableError):
            raise UnavailableError(f"{exc}; the end of its log {place.log}:\n{tail(place.log)}") from exc
        raise
    return Node(url, process, folder=place.node)


def docker_answers() -> bool:
    """Whether there is a Docker engine to talk to."""
    if shutil.which("docker") is None:
        return False
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=15, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _compose_up(place: Folders, version: str, port: int) -> Node:
    """Start the official image on *port*, for machines that have Docker and no JDK; its data stay in a volume.

    Raises UnavailableError if Compose failed; the message has what it printed.
    """
    project = f"ragdrop-opensearch-{port}"
    environment = os.environ | {"OPENSEARCH_PORT": str(port), "OPENSEARCH_VERSION": version}
    command = [*_compose(project), "up", "--detach", "--wait", "--wait-timeout", str(START_TIMEOUT_S)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UnavailableError(f"Docker Compose could not start OpenSearch:\n{run.stderr.strip()[-1000:]}")
    url = f"http://{HOST}:{port}"
    _await_healthy(url)
    place.node.mkdir(parents=True, exist_ok=True)
    return Node(url, compose_project=project, folder=place.node)


def _compose(project: str) -> list[str]:
    return ["docker", "compose", "--project-name", project, "--file", str(COMPOSE_FILE)]


def _await_healthy(url: str, process: Process | None = None, *, cluster: str | None = None) -> None:
    """Return once the node at *url* is at least yellow (all primary shards answer).

    Raises UnavailableError if it ended, another cluster answers there, or START_TIMEOUT_S passed.
    """
    give_up_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < give_up_s:
        if process is not None and not process.running:
            raise UnavailableError("OpenSearch ended while it started")
        health = _health(url, "?wait_for_status=yellow&timeout=5s")
        if health is not None:
            if cluster is not None and health["cluster_name"] != cluster:
                raise UnavailableError(f"another OpenSearch, {health['cluster_name']!r}, answers at {url}")
            if health["status"] in {"yellow", "green"}:
                return
        time.sleep(POLL_S)
    raise UnavailableError(f"OpenSearch was not healthy after {START_TIMEOUT_S} s")


def _health(url: str, query: str = "") -> dict[str, Any] | None:
    """The health of the cluster at *url*; None where none answers."""
    try:
        response = httpx.get(f"{url}/_cluster/health{query}", timeout=10, trust_env=False)
        health: dict[str, Any] | None = response.json() if response.is_success else None
    except (httpx.TransportError, ValueError):
        return None
    return health
