"""An emulator that somebody else started: `up` attaches to it, a question is answered, `down` leaves it running."""

from __future__ import annotations

from pathlib import Path

import httpx

from localstack.home import Home, Progress
from localstack.launch_options import home_for
from localstack.launcher import down, up
from localstack.processes import choose_port, stop
from localstack.seed import QUESTION, push
from localstack.services import await_service, emulator, launch
from tests.faults.harness import SAMPLE, TENANT, VAULT

NAME = "emulator: attach to a foreign one"
EXPECTED = "attached; ask 200; running after down"
TIMEOUT_S = 60.0


def attached(folder: Path, progress: Progress) -> str:
    """What came of it, in the words of EXPECTED.

    Raises:
        LaunchError: A part did not come up.
    """
    foreign, port = Home(folder / "foreign", "emulator"), choose_port()
    foreign.make()
    service = emulator(foreign, port)
    process = launch(service, foreign, port)
    try:
        await_service(service, process, foreign)
        environment = {"EDGE_PORT": str(port)}
        home = home_for(folder / "attached", environment, index="bucket")
        try:
            stack = up(home, environment, index="bucket", tenant=TENANT, progress=progress)
            push(home, SAMPLE, vault=VAULT)
            reply = httpx.post(
                f"{stack['api_url']}/ask",
                json={"query": QUESTION, "vaults": [VAULT]},
                headers={"x-api-key": stack["api_key"]},
                timeout=TIMEOUT_S,
                trust_env=False,
            )
        finally:
            down(home, progress)
        where = "attached" if stack["endpoint_url"] == f"http://localhost:{port}" else "NOT attached"
        left = "running" if process.running else "NOT running"
        return f"{where}; ask {reply.status_code}; {left} after down"
    finally:
        stop(process)
