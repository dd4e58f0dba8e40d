"""One OpenSearch node: its folders, its start as a process or in Docker, its health, its end."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localstack.opensearch.assembly import DEFAULT_RELEASE, RELEASES, Release, assemble
from localstack.opensearch.jdk import UnavailableError, find_java, reachable_by_all

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


POLL_S = 0.2


def wait_healthy(
    url: str, *, timeout_s: float, alive: Callable[[], bool] = lambda: True, cluster: str | None = None
) -> None:
    """Return once the node at *url* is at least yellow (all primary shards answer).

    Raises UnavailableError if it ended, another cluster answers there, or *timeout_s* seconds passed.
    """
    give_up_s = time.monotonic() + timeout_s
    while time.monotonic() < give_up_s:
        if not alive():
            raise UnavailableError("OpenSearch ended while it started")
        health = _get(f"{url}/_cluster/health?wait_for_status=yellow&timeout=5s")
        if health is not None:
            if cluster is not None and health["cluster_name"] != cluster:
                raise UnavailableError(f"another OpenSearch, {health['cluster_name']!r}, answers at {url}")
            if health["status"] in {"yellow", "green"}:
                return
        time.sleep(POLL_S)
    raise UnavailableError(f"OpenSearch was not healthy after {timeout_s:.0f} s")


def cluster_name(url: str) -> str | None:
    """The name of the cluster that answers at *url*; None where none does."""
    health = _get(f"{url}/_cluster/health")
    return None if health is None else str(health["cluster_name"])


def _get(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 the URL is our own node's
            body: dict[str, Any] = json.load(answer)
            return body
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError):
        return None


def is_running(pid: int, *, marker: str) -> bool:
    """Whether process *pid* runs and has *marker* in its command line (ids are used again by the system)."""
    listing = subprocess.run(
        ["ps", "-o", "stat=,args=", "-ww", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    line = listing.stdout.strip()
    return bool(line) and not line.startswith("Z") and marker in line


def stop_process(pid: int, *, marker: str, timeout_s: float) -> None:
    """Ask the process to end, and after *timeout_s* seconds end it."""
    for how, wait_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, 5.0)):
        if not is_running(pid, marker=marker):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
        give_up_s = time.monotonic() + wait_s
        while time.monotonic() < give_up_s and is_running(pid, marker=marker):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)  # a child of ours stays a zombie until it is waited for
            time.sleep(0.1)


COMPOSE_FILE = Path(__file__).with_name("compose.yaml")


def docker_answers() -> bool:
    """Whether there is a Docker engine to talk to."""
    if shutil.which("docker") is None:
        return False
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=15, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def compose_up(port: int, version: str, timeout_s: int) -> str:
    """Start the service on *port*; the project's name, by which `compose_down` finds it.

    Raises UnavailableError if Compose failed; the message carries what it said.
    """
    project = f"ragdrop-opensearch-{port}"
    environment = os.environ | {"OPENSEARCH_PORT": str(port), "OPENSEARCH_VERSION": version}
    command = [*_compose(project), "compose_up", "--detach", "--wait", "--wait-timeout", str(timeout_s)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UnavailableError(f"Docker Compose could not start OpenSearch:\n{run.stderr.strip()[-1000:]}")
    return project


def compose_down(project: str) -> None:
    """Stop the service; its data stay in a volume."""
    environment = os.environ | {"OPENSEARCH_PORT": "9200", "OPENSEARCH_VERSION": "unused"}
    subprocess.run([*_compose(project), "compose_down"], env=environment, capture_output=True, check=False)


def _compose(project: str) -> list[str]:
    return ["docker", "compose", "--project-name", project, "--file", str(COMPOSE_FILE)]


USUAL_PORT = 9200
PROGRAMS = Path(__file__).resolve().parents[2] / ".local" / "opensearch"
_children: list[subprocess.Popen[bytes]] = []  # kept, as a Popen that is collected warns of its running process
HEAP = "512m"  # half of it is for k-NN and caches; a laptop's index has some 10,000 chunks
START_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Node:
    """A node that answers.  `pid` and `log` are None where this package did not start a process of its own."""

    url: str
    pid: int | None = None
    log: Path | None = None
    compose_project: str | None = None


def start(
    home: Path,
    port: int | None = None,
    *,
    release: str = DEFAULT_RELEASE,
    environ: Mapping[str, str] | None = None,
    programs: Path = PROGRAMS,
) -> Node:
    """The node of *home*: the one of `OPENSEARCH_URL`, or one from Maven artifacts, or one in Docker.

    A node of *home* that still runs is given back.  Its data lie in `<home>/opensearch` and outlive it.

    Args:
        home: The folder of the stack that the node belongs to.
        port: The port on the loopback interface; None takes 9200 or, where that is taken, a free one.
        release: A key of RELEASES.
        environ: The environment; None takes the process's own.
        programs: Where the assembled releases lie, shared by all nodes.

    Raises:
        UnavailableError: There is no way to run one here; the message says what is missing.
    """
    environ = os.environ if environ is None else environ
    if environ.get("OPENSEARCH_URL"):
        return Node(environ["OPENSEARCH_URL"].rstrip("/"))
    place = folders(home, programs)
    running = _running(place)
    if running is not None:
        return running
    wanted = RELEASES[release]
    try:
        java = find_java(wanted.java, environ, any_user=is_root())
        program = assemble(wanted, place.programs / wanted.folder)
    except UnavailableError as no_java:
        if not docker_answers():
            reasons = f"- {no_java}\n- `docker info` does not succeed\n- OPENSEARCH_URL is not set"
            raise UnavailableError(f"OpenSearch cannot run here:\n{reasons}") from no_java
        chosen = port or _port(USUAL_PORT)
        project = compose_up(chosen, wanted.version, START_TIMEOUT_S)
        wait_healthy(f"http://127.0.0.1:{chosen}", timeout_s=START_TIMEOUT_S)
        return Node(f"http://127.0.0.1:{chosen}", compose_project=project)
    return _launch(place, program, java, wanted, port or _port(USUAL_PORT))


def stop(node: Node, *, timeout_s: float = 30) -> None:
    """Stop what `start` started, and only that; one that is gone already is no error."""
    if node.compose_project is not None:
        compose_down(node.compose_project)
    if node.pid is not None and node.log is not None:
        stop_process(node.pid, marker=str(node.log.parent), timeout_s=timeout_s)
        for child in _children:
            if child.pid == node.pid:
                child.wait(timeout_s)  # its last threads may outlive what `ps` calls the end
        (node.log.parent / "node.json").unlink(missing_ok=True)


def _launch(place: Folders, program: Path, java: Path, release: Release, port: int) -> Node:
    prepare(place, port, _port(0))
    command = [
        *(str(java / "bin" / "java"), f"-Xms{HEAP}", f"-Xmx{HEAP}", f"-Djava.io.tmpdir={place.scratch}"),
        *("-Djava.awt.headless=true", "-Djna.nosys=true", "-Dlog4j2.disable.jmx=true"),
        *("-Dlog4j.shutdownHookEnabled=false", "-XX:-HeapDumpOnOutOfMemoryError", "-XX:+ExitOnOutOfMemoryError"),
        *(
            "-Dio.netty.noUnsafe=true",
            "-Dio.netty.noKeySetOptimization=true",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
        ),
        *release.java_options,
        *(f"-Dopensearch.path.home={program}", f"-Dopensearch.path.conf={place.config}"),
        *("-cp", str(program / "lib" / "*"), "org.opensearch.bootstrap.OpenSearch"),
    ]
    root = is_root()
    environment = {"JAVA_HOME": str(java), "PATH": os.defpath, "LANG": "C.UTF-8"}
    with place.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=place.node,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C in the terminal is not meant for the node
            user=NOBODY if root else None,
            group=NOBODY if root else None,
            extra_groups=() if root else None,
        )
    _children.append(process)
    url = f"http://127.0.0.1:{port}"
    healthy = False
    try:
        wait_healthy(url, timeout_s=START_TIMEOUT_S, alive=lambda: process.poll() is None, cluster=place.cluster)
        healthy = True
    except UnavailableError as exc:
        tail = "\n".join(place.log.read_text(errors="replace").splitlines()[-15:])
        raise UnavailableError(f"{exc}; the end of its log {place.log}:\n{tail}") from exc
    finally:
        if not healthy:  # whatever ended the waiting, a Ctrl-C too
            process.kill()
            process.wait()
    (place.node / "node.json").write_text(json.dumps({"url": url, "pid": process.pid}))
    return Node(url, process.pid, place.log)


def find(home: Path, *, programs: Path = PROGRAMS) -> Node | None:
    """The node of *home* that this package started, if it runs."""
    return _running(folders(home, programs))


def _running(place: Folders) -> Node | None:
    try:
        noted = json.loads((place.node / "node.json").read_text())
    except (OSError, ValueError):
        return None
    if not is_running(noted["pid"], marker=str(place.node)):
        return None
    if cluster_name(noted["url"]) != place.cluster:
        return None
    return Node(noted["url"], noted["pid"], place.log)


def _port(preferred: int) -> int:
    """*preferred* if it is free on the loopback interface, else any free one."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise UnavailableError("no port is free on the loopback interface")


def forget(home: Path, *, programs: Path = PROGRAMS) -> None:
    """Remove the data of *home*'s node, which must not be running."""
    shutil.rmtree(folders(home, programs).node, ignore_errors=True)
