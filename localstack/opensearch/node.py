"""Starts one OpenSearch node, waits until it is healthy, stops it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localstack.opensearch import compose
from localstack.opensearch.assembly import assemble
from localstack.opensearch.folders import NOBODY, Folders, folders, is_root, prepare
from localstack.opensearch.health import cluster_name, wait_healthy
from localstack.opensearch.jdk import UnavailableError, find_java
from localstack.opensearch.processes import is_running, stop_process
from localstack.opensearch.releases import DEFAULT_RELEASE, RELEASES, Release

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
        if not compose.docker_answers():
            reasons = f"- {no_java}\n- `docker info` does not succeed\n- OPENSEARCH_URL is not set"
            raise UnavailableError(f"OpenSearch cannot run here:\n{reasons}") from no_java
        chosen = port or _port(USUAL_PORT)
        project = compose.up(chosen, wanted.version, START_TIMEOUT_S)
        wait_healthy(f"http://127.0.0.1:{chosen}", timeout_s=START_TIMEOUT_S)
        return Node(f"http://127.0.0.1:{chosen}", compose_project=project)
    return _launch(place, program, java, wanted, port or _port(USUAL_PORT))


def stop(node: Node, *, timeout_s: float = 30) -> None:
    """Stop what `start` started, and only that; one that is gone already is no error."""
    if node.compose_project is not None:
        compose.down(node.compose_project)
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
