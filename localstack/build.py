"""``sam build`` of the real template, left out where nothing it reads has changed; and `make build`, for AWS."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from localstack.home import BUILD, REPOSITORY, SHARED, TEMPLATE, Home
from localstack.launch_options import CONFIG, architecture, parameters_of, python_runtime
from localstack.processes import LaunchError, tail

TIMEOUT_S = 600
STRIPPERS = ("strip", "llvm-strip")  # the first knows its own processor, the second every one
STRIPPED_FROM_BYTES = 1_000_000  # symbols of smaller modules are not worth a changed file
LOAD = 1  # the kind of a segment that is mapped into memory
FOR_COMPILERS = {".c", ".pyx", ".pxd", ".pxi", ".pyi"}
FOR_INSTALLERS = {"README.md", "pyproject.toml"}  # of the layer's packages that can be installed alone
DEFAULTS = {"PythonRuntime": "python3.13", "Architecture": "arm64"}  # as in the template; a test compares them
MACHINES = {"x86_64": 62, "arm64": 183}  # of an ELF file, by Lambda's name of the processor
NATIVE = re.compile(r"\.cpython-(\d)(\d+)-")
PYTHON_2 = r"[/\\]olefile2\.py$"  # a module that olefile 0.47 brings along


def trim(folder: Path, python: str = sys.executable) -> None:
    """Do what `sam build` leaves undone: strip symbols, drop sources for compilers, compile modules; safe to repeat.

    Lambda's folders are read-only: without compiled files each new execution environment compiles all that it imports.
    """
    for path in _files(folder):
        if path.suffix in FOR_COMPILERS or path.name in FOR_INSTALLERS:
            path.unlink()
    strip(folder, [found for name in STRIPPERS if (found := shutil.which(name))])
    compile_modules(folder, python)


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


def compile_modules(folder: Path, python: str = sys.executable) -> None:
    """Compile all modules below *folder* for the interpreter *python*, which must be of the functions' runtime.

    Packing gives sources new times, so the compiled files must not depend on these.
    """
    command = [python, "-m", "compileall", "-q", "-f", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, "-s", str(folder), "-x", PYTHON_2, str(folder)], check=True, timeout=TIMEOUT_S)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


RELEASE = re.compile(r"^( +RELEASE: ).*$", re.MULTILINE)
STAMP = BUILD / "built.sha256"
FOR_AWS = BUILD / "built-for-aws.sha256"
SAM = SHARED / "env/sam/bin/sam"
BUILD_TIMEOUT_S = 600
RELEASE_CHARACTERS = 32


MODELS_FOR = "MODELS_FOR"  # the variable that functions/models/Makefile reads: a processor, native or none
MODELS_PYTHON = "python3.13"  # the runtime of the function models
NO_MODELS = "none"
NATIVE_MODELS = "native"  # for this machine's interpreter, which emulators run functions with
READER_CARD = REPOSITORY / "models/reader/reader.json"  # it has the checksum of the model


def build_digest(runtime: str = "", processor: str = "", models: str = "") -> str:
    """SHA-256 over all that the build reads: templates, functions, layers, runtime and processor (this machine's).

    *models* is what the function models is built for: the processor, `native` or `none`.
    """
    digest = hashlib.sha256(f"{runtime or python_runtime()} {processor or architecture()} {models}".encode())
    folders = [_files(REPOSITORY / folder) for folder in ("functions", "layers", "templates")]
    for path in (TEMPLATE, READER_CARD, *(each for each in chain(*folders) if "__pycache__" not in each.parts)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(REPOSITORY)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_built(digest: str) -> bool:
    """Whether the build folder has the build of *digest*."""
    return STAMP.exists() and STAMP.read_text() == digest and (BUILD / "build/template.yaml").exists()


def build(home: Home, digest: str, models: str = NO_MODELS) -> None:
    """Build functions and layer for this interpreter; *models* is `native` where the function models is needed.

    Raises LaunchError if sam failed; the message has the end of its output.
    """
    STAMP.unlink(missing_ok=True)
    FOR_AWS.unlink(missing_ok=True)
    log = home.logs / "sam-build.log"
    overrides = [f"PythonRuntime={python_runtime()}", f"Architecture={architecture()}"]
    arguments = ["build", "--parallel", *cache_for(models), "--parameter-overrides", *overrides]
    run_sam(arguments, log=log, environment={MODELS_FOR: models})
    folder = BUILD / "build"
    trim(folder)
    with ThreadPoolExecutor() as pool:
        list(pool.map(archive, (each for each in folder.iterdir() if each.is_dir())))
    STAMP.write_text(digest)


def with_release(template: str, release: str) -> str:
    r"""The built template with *release* as the variable RELEASE of every function.

    It is a literal and no parameter: SAM makes a new version where a property of a function changed, and CloudFormation
    would keep a parameter of the last deployment.

    >>> with_release("Variables:\n  RELEASE: none\n  STAGE: dev\n", "abc")
    "Variables:\n  RELEASE: 'abc'\n  STAGE: dev\n"

    Raises LaunchError if the template has no such variable.
    """
    changed, count = RELEASE.subn(rf"\g<1>'{release}'", template)
    if count != 1:
        raise LaunchError("the built template has no variable RELEASE: build it again")
    return changed


def cache_for(models: str) -> list[str]:
    """Options of sam for a separate cache: it does not see the variable that decides what *models* are built for."""
    return ["--cached", "--cache-dir", str(BUILD / ("cache" if models == NO_MODELS else f"cache-{models}"))]


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


def interpreter_of(runtime: str) -> str | None:
    """The interpreter of Lambda's *runtime*: this one if it is of that version, else one on the PATH that starts."""
    if runtime == python_runtime():
        return sys.executable
    found = shutil.which(runtime)
    starts = found and subprocess.run([found, "-c", ""], capture_output=True, timeout=60, check=False).returncode == 0
    return found if starts else None


def target_of(parameters: Mapping[str, str]) -> dict[str, str]:
    """Runtime and processor that *parameters* of a profile name, else the template's defaults.

    Without the default's interpreter it is this one's runtime. Raises LaunchError if a named one is not installed.
    """
    target = {name: parameters.get(name, default) for name, default in DEFAULTS.items()}
    if interpreter_of(target["PythonRuntime"]) is None:
        if "PythonRuntime" in parameters:
            raise LaunchError(f"the profile names {target['PythonRuntime']}, which is not on the PATH: install it")
        target["PythonRuntime"] = python_runtime()
    return target


def pinned(template: str, target: Mapping[str, str]) -> str:
    r"""The built template with runtime and processor of the build as literals, so that no parameter can name others.

    >>> pinned("Runtime:\n  Ref: PythonRuntime\nArchitectures:\n- Ref: Architecture\n",
    ...        {"PythonRuntime": "python3.13", "Architecture": "arm64"})
    'Runtime: python3.13\nArchitectures:\n- arm64\n'
    """
    for name, value in target.items():
        template = re.sub(rf"(:|-)\s+Ref: {name}$", rf"\1 {value}", template, flags=re.MULTILINE)
    return template


def models_for(target: Mapping[str, str]) -> str:
    """What the function models is built for: the processor of *target*, unless the environment names another."""
    return os.environ.get(MODELS_FOR) or target["Architecture"]


def digest_for(target: Mapping[str, str]) -> str:
    """The digest of a build for *target*, a runtime and a processor."""
    return build_digest(target["PythonRuntime"], target["Architecture"], models_for(target))


def misbuilt(folder: Path, target: Mapping[str, str]) -> list[str]:
    """Native modules below *folder* that *target*, a runtime and a processor, cannot load."""
    version = target["PythonRuntime"].removeprefix("python").replace(".", "")
    found = []
    for path in (each for each in _files(folder) if ".so" in each.suffixes):
        tag = NATIVE.search(path.name)
        with path.open("rb") as module:
            head = module.read(20)
        is_other = head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") != MACHINES[target["Architecture"]]
        if is_other or (tag and "".join(tag.groups()) != version):
            found.append(path.relative_to(folder).as_posix())
    return found


def build_for_aws(environment: str, options: Sequence[str]) -> None:
    """`sam build` for a profile of samconfig.toml, made smaller, and with its release, runtime and processor in it.

    Raises LaunchError if sam failed, or built for another runtime or processor.
    """
    BUILD.mkdir(exist_ok=True)
    for stamp in (STAMP, FOR_AWS):  # what lies there is no longer the local stack's
        stamp.unlink(missing_ok=True)
    target = target_of(parameters_of(tomllib.loads(CONFIG.read_text("utf-8")), environment))
    overrides = ["--parameter-overrides", *(f"{name}={value}" for name, value in target.items())]
    for_models = models_for(target)
    arguments = ["build", "--config-env", environment, *cache_for(for_models), *overrides, *options]
    run_sam(arguments, log=BUILD / "build.log", environment={MODELS_FOR: for_models})
    folder, models = BUILD / "build", BUILD / "build/ModelsFunction"
    aims = {each: target for each in folder.iterdir() if each.is_dir() and each != models}
    if for_models != NATIVE_MODELS:
        aims[models] = {**target, "PythonRuntime": MODELS_PYTHON}
    if wrong := [*chain(*(misbuilt(each, aim) for each, aim in aims.items()))]:
        aimed = f"{target['PythonRuntime']} on {target['Architecture']}"
        raise LaunchError(f"{len(wrong)} native modules were not built for {aimed}, such as {wrong[0]}")
    trim(folder, interpreter_of(target["PythonRuntime"]) or sys.executable)
    if python := interpreter_of(MODELS_PYTHON):
        compile_modules(models, python)
    elif models in aims:
        sys.stderr.write(f"No {MODELS_PYTHON} is on the PATH: the function models compiles its modules as it starts.\n")
    template = folder / "template.yaml"
    digest = digest_for(target)
    text = with_release(template.read_text("utf-8"), digest[:RELEASE_CHARACTERS])
    template.write_text(pinned(text, target), "utf-8")
    FOR_AWS.write_text(digest)
    sys.stderr.write(f"built for {target['PythonRuntime']} on {target['Architecture']}\n")


def main(arguments: list[str] | None = None) -> int:
    """Build for AWS by a profile of samconfig.toml; sam's own options may follow."""
    parser = argparse.ArgumentParser(prog="make build", description=__doc__)
    parser.add_argument("environment", help="an environment of samconfig.toml, such as dev")
    options, rest = parser.parse_known_args(arguments)
    try:
        build_for_aws(options.environment, rest)
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
