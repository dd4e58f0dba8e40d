"""The function `models` as its Makefile builds it, under AWS's runtime client with nothing else on the path."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.aws.runtime_api import RuntimeApi
from tests.served import handled_by
from tests.stacks import REPOSITORY

OF_THE_CLIENT = ("awslambdaric", "runtime_client", "snapshot_restore_py", "simplejson")
PROGRAM = "import sys; sys.path[:0] = {paths!r}; from awslambdaric.__main__ import main; main(['', 'app.handler'])"
LAYER = REPOSITORY / "layers/common/python"


def built(processor: str, folder: Path) -> Path:
    """What functions/models/Makefile makes for *processor*, in *folder*."""
    folder.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "ARTIFACTS_DIR": str(folder),
        "MODELS_FOR": processor,
    }
    done = subprocess.run(
        ["make", "--silent", "build-ModelsFunction"],
        cwd=REPOSITORY / "functions/models",
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return folder


def runtime_client(folder: Path) -> Path:
    """A folder in *folder* with AWS's runtime client and what it imports, and nothing else."""
    client = folder / "client"
    client.mkdir(exist_ok=True)
    for name in OF_THE_CLIENT:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        path = Path(spec.origin)
        path = path.parent if path.name == "__init__.py" else path
        link = client / path.name
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    return client


@contextmanager
def under_the_client(
    folder: Path, client: Path, *, before: str = "", command: Sequence[str] = ()
) -> Iterator[tuple[RuntimeApi, int]]:
    """The build in *folder* as it starts, and the process.

    *before* is Python that runs first; *command* is what runs the interpreter.
    """
    api = RuntimeApi()
    program = before + PROGRAM.format(paths=[str(folder), str(LAYER), str(client)])
    environment = {"AWS_LAMBDA_RUNTIME_API": api.address, "LAMBDA_TASK_ROOT": str(folder)}
    process = subprocess.Popen([*command, sys.executable, "-I", "-S", "-c", program], env=environment, cwd=folder)
    api.pids.append(process.pid)
    try:
        yield api, process.pid
    finally:
        process.kill()
        process.wait(10)
        api.close()


@contextmanager
def invoked_over_http(api: RuntimeApi) -> Iterator[str]:
    """The address of an endpoint of Lambda whose one function is behind *api*; what is invoked at once waits."""
    turn = threading.Lock()

    class Invoke(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with turn:
                body = api.invoke(event).body
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with handled_by(Invoke) as address:
        yield address
