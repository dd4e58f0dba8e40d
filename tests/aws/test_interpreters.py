"""The functions' locks install and import under each interpreter that the template offers, on both processors."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.architecture.cloudformation import read_template
from tests.stacks import REPOSITORY
from tests.world import ENVIRONMENT

UV = REPOSITORY / ".venv/bin/uv"
FUNCTIONS = ("ingest", "query", "generate", "mcp", "sweep")
LAYER = REPOSITORY / "layers/common/python"
VERSIONS = [each.removeprefix("python") for each in read_template()["Parameters"]["PythonRuntime"]["AllowedValues"]]
OLD_LINUX = {"3.11": "manylinux_2_17"}  # Amazon Linux 2 (glibc 2.26); the later ones run on Amazon Linux 2023 (2.34)
PROGRAM = "import sys; sys.path[:0] = {paths!r}; import app; app.app.{composed}; assert callable(app.handler)"
pytestmark = pytest.mark.long


def locks() -> list[str]:
    """The options that name the lock of the layer and of each function."""
    files = [LAYER / "requirements.txt", *(REPOSITORY / f"functions/{each}/requirements.txt" for each in FUNCTIONS)]
    return [word for file in files if file.exists() for word in ("-r", str(file))]


def uv(*arguments: str) -> None:
    done = subprocess.run([str(UV), *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_locked_package_has_a_wheel_for_the_runtime(version: str, processor: str, tmp_path: Path) -> None:
    platform = f"{processor}-{OLD_LINUX.get(version, 'manylinux_2_28')}"

    uv(
        *("pip", "install", "--dry-run", "--target", str(tmp_path / "packages"), "--no-deps", "--require-hashes"),
        *("--only-binary", ":all:", "--python-version", version, "--python-platform", platform, *locks()),
    )


class Empty(BaseHTTPRequestHandler):
    """A bucket without objects: a function reads its settings document when it starts."""

    def do_GET(self) -> None:
        body = b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>"
        self.send_response(404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def empty_bucket() -> Iterator[dict[str, str]]:
    """The variables that lead to it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        server.shutdown()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_function_imports(version: str, tmp_path: Path, empty_bucket: dict[str, str]) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no python{version} here")
    uv("venv", "--quiet", "--python", str(python), str(tmp_path / "env"))
    inside = str(tmp_path / "env/bin/python")
    uv("pip", "install", "--quiet", "--python", inside, "--require-hashes", *locks())
    uv("pip", "install", "--quiet", "--python", inside, "boto3")  # which every runtime brings along

    for function in FUNCTIONS:
        composed = {"ingest": "ingest.reconcile", "sweep": "operate.sweep"}.get(function, "query.search")
        program = PROGRAM.format(paths=[str(REPOSITORY / "functions" / function), str(LAYER)], composed=composed)
        done = subprocess.run(
            [inside, "-I", "-c", program],
            env={**ENVIRONMENT, **empty_bucket, "AWS_DEFAULT_REGION": "eu-central-1", "INDEX_URL": "s3://"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{function}: {done.stderr[-2_000:]}"


def interpreter(version: str) -> Path | None:
    """An interpreter of *version* that runs: on the PATH, or one of pyenv's."""
    pyenv = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    named = shutil.which(f"python{version}")
    for each in [Path(named), *pyenv] if named else pyenv:
        if subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
            return each
    return None
