"""What `sam build` leaves undone: symbols stripped, sources for compilers dropped, modules compiled.

Lambda's folders are read-only.  Without compiled files in the package, each new execution environment compiles every
module that it imports.  Wheels also bring symbol tables for debuggers, and sources that only a compiler reads.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIMEOUT_S = 600
STRIPPERS = ("strip", "llvm-strip")  # the first knows its own processor, the second every one
STRIPPED_FROM_BYTES = 1_000_000  # symbols of smaller modules are not worth a changed file
LOAD = 1  # the kind of a segment that is mapped into memory
FOR_COMPILERS = {".c", ".pyx", ".pxd", ".pxi", ".pyi"}
PYTHON_2 = r"[/\\]olefile2\.py$"  # a module that olefile 0.47 brings along


def trim(folder: Path) -> None:
    """Make what lies below *folder* smaller and quicker to start; twice is as once."""
    for path in _files(folder):
        if path.suffix in FOR_COMPILERS:
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

    >>> loadable(b"no native module")
    False
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
    _run([stripper, "--strip-unneeded", "-o", str(draft), str(path)], check=False)
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
    _run([*command, "-s", str(folder), "-x", PYTHON_2, str(folder)], check=True)


def _run(command: list[str], *, check: bool) -> None:
    subprocess.run(command, check=check, timeout=TIMEOUT_S, capture_output=not check)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
