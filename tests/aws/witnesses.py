"""AWS's own DynamoDB Local and ElasticMQ: engines that neither moto nor the emulator had a part in.

Both come from Maven and run on a JDK 17 or newer, for the tests alone: the licence of DynamoDB Local forbids to pass
it on. They are started once in a process, on ports of their own, and hold everything in memory.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from localstack.opensearch.assembly import UnavailableError, copy_artifacts, find_java
from localstack.processes import HOST, choose_port
from tests.endings import AT_THE_END
from tests.stacks import REPOSITORY

ARTIFACTS = {
    "dynamodb": [("software.amazon.dynamodb:DynamoDBLocal:3.0.0", "jar")],
    "sqs": [("org.elasticmq:elasticmq-server_2.13:1.6.11", "jar")],
}
JAVA = 17
START_S = 60.0
POLL_S = 0.1
HOME = REPOSITORY / ".local/witnesses"


def endpoint_of(service: str) -> str:
    """The address of the witness of `dynamodb` or `sqs`, which runs until the process ends.

    Skips the test where there can be none, or fails it with RAGDROP_REQUIRE_TOOLS=1.
    """
    try:
        return _started(service)
    except UnavailableError as exc:
        if os.environ.get("RAGDROP_REQUIRE_TOOLS") == "1":
            pytest.fail(f"RAGDROP_REQUIRE_TOOLS=1 and {exc}", pytrace=False)
        pytest.skip(str(exc))


@functools.cache
def _started(service: str) -> str:
    """Raises UnavailableError where Maven or Java is missing, or the server does not come up."""
    java = find_java(JAVA, os.environ, any_user=False) / "bin/java"
    jars, port = _jars() / service / "jars", choose_port()
    ways = {
        "dynamodb": [
            f"-Dsqlite4java.library.path={jars}",
            *("-cp", f"{jars}/*", "software.amazon.dynamodb.services.local.main.ServerRunner"),
            *("-inMemory", "-disableTelemetry", "-port", str(port)),
        ],
        "sqs": [
            *(f"-Drest-sqs.bind-hostname={HOST}", f"-Drest-sqs.bind-port={port}", "-Drest-stats.enabled=false"),
            *(f"-Dnode-address.host={HOST}", f"-Dnode-address.port={port}"),
            *("-cp", f"{jars}/*", "org.elasticmq.server.Main"),
        ],
    }
    log = AT_THE_END.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it is left with the others
    process = subprocess.Popen(
        [str(java), "-Xmx512m", *ways[service]], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
    )
    AT_THE_END.callback(process.wait, 20)
    AT_THE_END.callback(process.kill)
    deadline = time.monotonic() + START_S
    while choose_port(port) == port:
        if process.poll() is not None or time.monotonic() > deadline:
            log.seek(0)
            told = log.read().decode(errors="replace")[-1_000:]
            raise UnavailableError(f"the witness of {service} did not come up:\n{told}")
        time.sleep(POLL_S)
    return f"http://{HOST}:{port}"


def _jars() -> Path:
    """A folder a service with what it runs from; fetched once, whoever comes first."""
    if not HOME.is_dir():
        HOME.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".witnesses-", dir=HOME.parent) as scratch:
            built = Path(scratch) / "all"
            built.mkdir()
            copy_artifacts(ARTIFACTS, built, "DynamoDB Local and ElasticMQ")
            try:
                built.rename(HOME)
            except OSError:
                if not HOME.is_dir():  # else another process was quicker, and its result is as good
                    raise
    return HOME
