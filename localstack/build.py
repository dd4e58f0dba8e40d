"""``sam build`` of the real template, left out where nothing it reads has changed; and `make build`, for AWS."""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from localstack.home import BUILD, REPOSITORY, SHARED, TEMPLATE, Home
from localstack.launch_options import architecture, python_runtime
from localstack.processes import LaunchError, tail
from localstack.trim import trim

STAMP = BUILD / "built.sha256"
SAM = SHARED / "env/sam/bin/sam"
BUILD_TIMEOUT_S = 600


def build_digest() -> str:
    """SHA-256 over all that the build reads: templates, functions, layers, interpreter, processor."""
    digest = hashlib.sha256(f"{python_runtime()} {architecture()}".encode())
    for path in _inputs():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(REPOSITORY)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _inputs() -> Iterator[Path]:
    yield TEMPLATE
    for folder in ("functions", "layers", "templates"):
        for path in sorted((REPOSITORY / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def is_built(digest: str) -> bool:
    """Whether the build folder holds the build of *digest*."""
    return STAMP.exists() and STAMP.read_text() == digest and (BUILD / "build/template.yaml").exists()


def build(home: Home, digest: str) -> None:
    """Build functions and layer for this interpreter.

    Raises:
        LaunchError: sam failed; the message has the end of its output.
    """
    STAMP.unlink(missing_ok=True)
    log = home.logs / "sam-build.log"
    overrides = [f"PythonRuntime={python_runtime()}", f"Architecture={architecture()}"]
    run_sam(["build", "--cached", "--parallel", "--parameter-overrides", *overrides], log=log, environment={})
    folder = BUILD / "build"
    trim(folder)
    with ThreadPoolExecutor() as pool:
        list(pool.map(archive, (each for each in folder.iterdir() if each.is_dir())))
    STAMP.write_text(digest)


def archive(folder: Path) -> None:
    """Pack *folder* into `NAME.zip` beside it: sam would pack it again at each deployment, three times as slowly."""
    with zipfile.ZipFile(folder.with_name(f"{folder.name}.zip"), "w") as packed:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(
                path.relative_to(folder).as_posix()
            )  # without times: the same files, the same bytes
            entry.external_attr = path.stat().st_mode << 16
            packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=1)


def run_sam(arguments: list[str], *, log: Path, environment: dict[str, str]) -> None:
    """Run sam on the repository, its output into *log*.

    Raises:
        LaunchError: It failed or took longer than ten minutes.
    """
    # Without compiled files sam compiles itself at each call, which takes it ten seconds.
    left_out = ("AWS_", "SAM_CLI_", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environment = inherited | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",  # sam looks for pythonX.Y
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.5",  # seconds between two looks at a deployment; its own are five
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "NO_PROXY": "127.0.0.1,localhost",
        "PYTHONWARNINGS": "ignore",
        **environment,
    }
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                [str(SAM), *arguments],
                cwd=REPOSITORY,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=BUILD_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise LaunchError(f"sam {arguments[0]} took longer than {BUILD_TIMEOUT_S} s; see {log}") from exc
    if done.returncode != 0:
        raise LaunchError(f"sam {arguments[0]} failed. The end of {log}:\n{tail(log, 25)}")


def main(arguments: list[str] | None = None) -> int:
    """Build for AWS by a profile of samconfig.toml; sam's own options may follow."""
    parser = argparse.ArgumentParser(prog="make build", description=__doc__)
    parser.add_argument("environment", help="an environment of samconfig.toml, such as dev")
    options, rest = parser.parse_known_args(arguments)
    BUILD.mkdir(exist_ok=True)
    STAMP.unlink(missing_ok=True)  # what lies there is no longer the local stack's
    try:
        run_sam(["build", "--config-env", options.environment, *rest], log=BUILD / "build.log", environment={})
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    trim(BUILD / "build")
    return 0


if __name__ == "__main__":
    sys.exit(main())
