"""An emulator that was started by hand, on another port: `make up` uses it, and nothing of ragdrop stops it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from localstack.deploy import Emulated
from localstack.processes import Process, await_health, choose_port, start_time
from localstack.services import aws_environment
from tests.integration.commands import Tenant, within
from tests.interpreters import printed
from tests.stacks import REPOSITORY, LocalStack, run_launcher

MINISTACK = REPOSITORY / ".local/env/ministack/bin/ministack"
START_TIMEOUT_S = 90


@contextmanager
def started_by_hand(folder: Path, **named: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """MiniStack as its own documentation starts it, but for the port; its address and its process."""
    port = choose_port()
    kept = {name: os.environ[name] for name in ("PATH", "SSL_CERT_FILE") if name in os.environ}
    # The servers of SFTP and IoT would listen on ports of their own, which another test may use.
    quiet = {"SFTP_ENABLED": "0", "IOT_MTLS_ENABLED": "0", "LOG_LEVEL": "WARNING"}
    environment = {**kept, **quiet, "HOME": str(folder), "TMPDIR": str(folder), "GATEWAY_PORT": str(port), **named}
    log = folder / "ministack.log"
    with log.open("wb") as output:
        process = subprocess.Popen([str(MINISTACK)], env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        noted = Process("ministack", process.pid, start_time(process.pid) or "", port)
        await_health(noted, f"http://127.0.0.1:{port}/_ministack/health", log=log, timeout_s=START_TIMEOUT_S)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait(30)


def test_what_an_emulator_lacks_is_named_before_anything_is_built(tmp_path: Path) -> None:
    with started_by_hand(tmp_path, SERVICES="s3,sqs,dynamodb,iam,sts") as (url, _process):
        refused = run_launcher("up", tmp_path / "home", AWS_ENDPOINT_URL=url)

    assert refused.returncode == 1
    assert "lacks apigateway, cloudformation, cloudwatch, events, lambda, logs." in refused.stderr
    assert "sam build" not in refused.stdout


# In an interpreter that ends with it: the launcher leaves what it started to its next call.
STARTED_THREE_TIMES = """
import json, socket
from pathlib import Path
from localstack.home import Home
from localstack.launch_options import read_launch_options
from localstack.launcher import Launcher, down, read_processes
from localstack.home import Progress
from localstack.services import emulator

def reached(address, port):
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0

home, quiet, found = Home(Path({folder!r}), "bucket"), Progress(quiet=True), []
home.make()
try:
    for named in ({{}}, {{"RAGDROP_BIND": "0.0.0.0"}}, {{}}):
        launcher = Launcher(home, read_launch_options(named, index="bucket"), "demo", quiet)
        launcher.processes = read_processes(home)
        port = launcher.start("emulator", emulator).port
        found.append([port, reached("127.0.0.1", port), reached("127.0.0.2", port)])
finally:
    down(home, quiet)
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of the machine")
def test_an_emulator_is_started_again_where_containers_are_to_reach_it(tmp_path: Path) -> None:
    found = json.loads(printed(STARTED_THREE_TIMES.format(folder=str(tmp_path))))

    assert [each[1:] for each in found] == [[True, False], [True, True], [True, False]]
    assert len({port for port, *_ in found}) == 1


@pytest.mark.long
def test_a_stack_comes_up_on_it_answers_and_leaves_it_running_with_its_data(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started_by_hand(tmp_path) as (url, process):
        port = url.rpartition(":")[2]
        started = run_launcher("up", home, AWS_ENDPOINT_URL=url)
        assert started.returncode == 0, started.stderr
        assert f"Attached to MiniStack 1.5.33 at {url}" in started.stdout
        assert "/app" in started.stdout
        first = json.loads((home / "stack.json").read_text("utf-8"))
        assert first["endpoint_url"] == url
        assert "emulator" not in first["pids"]

        with closing(LocalStack(home, first)) as stack:
            tenant = Tenant.created(stack, "attached")
            tenant.put("cellar/pump.md", "# Pump\n\nThe code of the pump is QX-5521.\n")
            within(90, lambda: tenant.listed("cellar", "indexed"))
            asked = tenant.ragdrop("ask", "What is the code of the pump?", "--vault", "cellar", "--json")
            assert "QX-5521" in json.loads(asked.stdout)["answer"]

        again = run_launcher("up", home, EDGE_PORT=port)
        assert again.returncode == 0, again.stderr
        assert json.loads((home / "stack.json").read_text("utf-8"))["api_key"] == first["api_key"]
        shown = run_launcher("status", home)
        assert shown.returncode == 0
        assert f"attached: MiniStack at http://localhost:{port}" in shown.stdout

        ended = run_launcher("down", home)
        assert ended.returncode == 0
        assert "left running" in ended.stdout
        assert process.poll() is None
        emulated = Emulated(url, aws_environment(url))
        assert emulated.outputs() == first["outputs"]
        with closing(emulated.client("s3")) as objects:
            listed = objects.list_objects_v2(Bucket=first["bucket"], Prefix=f"{tenant.name}/")
        assert [each["Key"] for each in listed["Contents"]] == [f"{tenant.name}/cellar/pump.md"]
        assert run_launcher("status", home).returncode == 1
