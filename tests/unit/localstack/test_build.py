"""What the build makes smaller and quicker to start, on a folder like that of a function."""

from __future__ import annotations

import struct
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from localstack.build import (
    MODELS_FOR,
    NATIVE_MODELS,
    STRIPPED_FROM_BYTES,
    build_digest,
    cache_for,
    digest_for,
    loadable,
    misbuilt,
    models_for,
    strip,
    target_of,
    trim,
)
from localstack.processes import LaunchError


def test_sources_that_only_a_compiler_reads_are_dropped(tmp_path: Path) -> None:
    for name in ("parser.c", "parser.pyx", "parser.pyi", "parser.py", "LICENSE", "pyproject.toml"):
        (tmp_path / name).write_text("", encoding="utf-8")

    trim(tmp_path)

    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"parser.py", "LICENSE"}


def test_compiled_modules_do_not_depend_on_the_times_of_their_sources(tmp_path: Path) -> None:
    source = tmp_path / "app.py"
    source.write_text("x = 1\n", encoding="utf-8")

    trim(tmp_path)

    flags = Path(cache_from_source(str(source))).read_bytes()[4:8]
    assert int.from_bytes(flags, "little") == 0b01  # by a hash that nobody checks


def test_a_native_module_that_the_stripper_refuses_stays_as_it_is(tmp_path: Path) -> None:
    module = tmp_path / "other_processor.so"
    module.write_bytes(bytes(STRIPPED_FROM_BYTES))

    strip(tmp_path, ["false"])

    assert module.read_bytes() == bytes(STRIPPED_FROM_BYTES)


def test_a_module_that_could_not_be_loaded_any_more_stays_as_it_was(tmp_path: Path) -> None:
    module = tmp_path / "edited.so"
    module.write_bytes(bytes(STRIPPED_FROM_BYTES))
    stripper = tmp_path / "stripper"
    stripper.write_text('#!/bin/sh\nprintf broken > "$3"\n', encoding="utf-8")
    stripper.chmod(0o700)

    strip(tmp_path, [str(stripper)])

    assert module.read_bytes() == bytes(STRIPPED_FROM_BYTES)
    assert not (tmp_path / "edited.so.draft").exists()


def test_segments_have_to_lie_in_the_file_as_they_are_mapped() -> None:
    assert loadable(elf(offset=0x3D98, address=0x13D98))
    assert not loadable(elf(offset=0x34A10, address=0x35000))


def elf(offset: int, address: int) -> bytes:
    """A 64-bit ELF file whose one segment lies at *offset* and is mapped to *address*, by pages of 4 KB."""
    header = struct.pack("<6s26xQ14xHH6x", b"\x7fELF\x02\x01", 64, 56, 1)
    return header + struct.pack("<2I6Q", 1, 4, offset, address, address, 16, 16, 0x1000)


def test_small_native_modules_are_not_stripped(tmp_path: Path) -> None:
    (tmp_path / "small.so").write_bytes(b"ELF")

    strip(tmp_path, ["/nonexistent/strip"])

    assert (tmp_path / "small.so").read_bytes() == b"ELF"


def test_trimming_twice_is_as_trimming_once(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n", encoding="utf-8")

    trim(tmp_path)
    once = {path: path.read_bytes() for path in tmp_path.rglob("*.pyc")}
    trim(tmp_path)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*.pyc")} == once
    assert once
    assert all(f"cpython-{sys.version_info[0]}{sys.version_info[1]}" in path.name for path in once)


@pytest.mark.parametrize(
    ("name", "machine", "is_found"),
    [
        ("fast.cpython-313-x86_64-linux-gnu.so", 62, False),
        ("fast.cpython-311-x86_64-linux-gnu.so", 62, True),
        ("fast.cpython-313-x86_64-linux-gnu.so", 183, True),
        ("fast.abi3.so", 62, False),
    ],
)
def test_a_module_of_another_python_or_processor_is_found(
    name: str, machine: int, is_found: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little"))

    found = misbuilt(tmp_path, {"PythonRuntime": "python3.13", "Architecture": "x86_64"})

    assert found == ([name] if is_found else [])


def test_a_profile_that_names_a_python_which_is_not_installed_is_refused() -> None:
    with pytest.raises(LaunchError, match=r"python3\.99, which is not on the PATH"):
        target_of({"PythonRuntime": "python3.99"})


def test_models_are_built_for_this_machine_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    target = {"PythonRuntime": "python3.13", "Architecture": "arm64"}
    monkeypatch.delenv(MODELS_FOR, raising=False)
    for_lambda = models_for(target), digest_for(target)
    monkeypatch.setenv(MODELS_FOR, NATIVE_MODELS)

    assert for_lambda[0] == "arm64"
    assert models_for(target) == NATIVE_MODELS
    assert digest_for(target) != for_lambda[1]


def test_builds_with_and_without_models_are_not_mistaken_for_each_other() -> None:
    assert build_digest(models="none") != build_digest(models="native")
    assert cache_for("none") != cache_for("native")
