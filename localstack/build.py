"""``sam build`` of the real template, left out where nothing it reads has changed; and `make build`, for AWS."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from localstack.home import BUILD, REPOSITORY, SHARED, TEMPLATE, Home
from localstack.launch_options import architecture, python_runtime
from localstack.processes import LaunchError, tail

TIMEOUT_S = 600
STRIPPERS = ("strip", "llvm-strip")  # the first knows its own processor, the second every one
STRIPPED_FROM_BYTES = 1_000_000  # symbols of smaller modules are not worth a changed file
LOAD = 1  # the kind of a segment that is mapped into memory
FOR_COMPILERS = {".c", ".pyx", ".pxd", ".pxi", ".pyi"}
FOR_INSTALLERS = {"README.md", "pyproject.toml"}  # of the layer's packages that can be installed alone
PYTHON_2 = r"[/\\]olefile2\.py$"  # a module that olefile 0.47 brings along


def trim(folder: Path) -> None:
    """Do what `sam build` leaves undone: strip symbols, drop sources for compilers, compile modules; safe to repeat.

    Lambda's folders are read-only: without compiled files each new execution environment compiles all that it imports.
    """
    for path in _files(folder):
        if path.suffix in FOR_COMPILERS or path.name in FOR_INSTALLERS:
            path.unlink()
    strip(folder, [found for name in STRIPPERS if (found := shutil.which(name))])
    compile_modules(folder)


def strip(folder: Path, strippers: Sequence[str]) -> None:
    """Remove from native modules below *folder* what only debuggers and linkers read.

    Of each module the first of *strippers* that succeeds is used.  Without one the module stays as it is.
    """
    large = [path for path in _files(folder) if ".so" in path.suffixes and path.stat().st_size >= STRIPPED_FROM_BYTES]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda path: any(_stripped(path, stripper) for stripper in strippers), large))


def loadable(module: bytes) -> bool:
    """Whether the segments of a 64-bit ELF file lie in it as a loader maps them, page by page.

    Strippers move the segments of a module that another tool has edited, so that nothing can load it.
    """
    if module[:6] != b"\x7fELF\x02\x01":
        return False
    [start] = struct.unpack_from("<Q", module, 0x20)
    size, count = struct.unpack_from("<HH", module, 0x36)
    for place in range(start, start + size * count, size):
        kind, _, offset, address, _, _, _, page = struct.unpack_from("<2I6Q", module, place)
        if kind == LOAD and (address - offset) % max(page, 1):
            return False
    return True


def _stripped(path: Path, stripper: str) -> bool:
    draft = path.with_name(f"{path.name}.draft")
    command = [stripper, "--strip-unneeded", "-o", str(draft), str(path)]
    subprocess.run(command, check=False, timeout=TIMEOUT_S, capture_output=True)
    done = draft.exists() and loadable(draft.read_bytes())
    if done:
        draft.chmod(path.stat().st_mode)
        draft.replace(path)
    draft.unlink(missing_ok=True)
    return done


def compile_modules(folder: Path) -> None:
    """Compile all modules below *folder* for this interpreter.

    Packing gives sources new times, so the compiled files must not depend on these.
    """
    command = [sys.executable, "-m", "compileall", "-q", "-f", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, "-s", str(folder), "-x", PYTHON_2, str(folder)], check=True, timeout=TIMEOUT_S)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


STAMP = BUILD / "built.sha256"
SAM = SHARED / "env/sam/bin/sam"
BUILD_TIMEOUT_S = 600


def build_digest() -> str:
    """SHA-256 over all that the build reads: templates, functions, layers, interpreter, processor."""
    digest = hashlib.sha256(f"{python_runtime()} {architecture()}".encode())
    folders = [_files(REPOSITORY / folder) for folder in ("functions", "layers", "templates")]
    for path in (TEMPLATE, *(each for each in chain(*folders) if "__pycache__" not in each.parts)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(REPOSITORY)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_built(digest: str) -> bool:
    """Whether the build folder has the build of *digest*."""
    return STAMP.exists() and STAMP.read_text() == digest and (BUILD / "build/template.yaml").exists()


def build(home: Home, digest: str) -> None:
    """Build functions and layer for this interpreter.

    Raises LaunchError if sam failed; the message has the end of its output.
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
    """Run sam on the repository, its output into *log*; LaunchError if it failed or took longer than ten minutes."""
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
