"""The wheel holds the client and the command line, and nothing that only developers need."""

from __future__ import annotations

import email
import email.message
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from ragdrop import __version__
from ragdrop.stores.routed_index import GROUP, SHIPPED

ROOT = Path(__file__).parents[2]
SERVER_ONLY = {"boto3", "botocore", "fastapi", "mangum", "opensearch-py", "pydantic", "simsimd", "tantivy"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    with zipfile.ZipFile(built) as opened:
        yield opened


@pytest.fixture(scope="module")
def reported(wheel: zipfile.ZipFile) -> email.message.Message:
    name = next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))


def test_it_holds_every_package_with_its_types_and_no_others(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())

    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "bucketindex",
        "groundcheck",
        "ragdrop",
        "ragdrop_cli",
        "ragdrop_opensearch",
        "readers",
    }
    assert {
        "ragdrop/py.typed",
        "ragdrop/client/__init__.py",
        "ragdrop_cli/main.py",
        "ragdrop/prompts/system.j2",
    } <= names


def test_it_holds_nothing_made_for_tests(wheel: zipfile.ZipFile) -> None:
    made_for_tests = ("memory_", "scripted_", "hashing_", "test_", "conftest")

    assert [name for name in wheel.namelist() if name.rpartition("/")[2].startswith(made_for_tests)] == []


def test_it_is_small(wheel: zipfile.ZipFile) -> None:
    assert sum(each.file_size for each in wheel.infolist()) < 4_000_000  # bytes


def test_it_needs_nothing_that_only_the_functions_or_operators_need(reported: email.message.Message) -> None:
    needed = {
        each.split(">")[0].split("<")[0] for each in reported.get_all("Requires-Dist", []) if "extra ==" not in each
    }

    assert needed == {"httpx", "pathspec", "typer", "rich"}
    assert needed.isdisjoint(SERVER_ONLY)


def test_it_brings_the_command_the_engine_and_its_licence(
    wheel: zipfile.ZipFile, reported: email.message.Message
) -> None:
    entry_points = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))

    written = wheel.read(entry_points).decode()

    assert "ragdrop = ragdrop_cli.main:main" in written
    assert f"[{GROUP}]\nopensearch = {SHIPPED['opensearch']}" in written
    assert reported["License-Expression"] == "Apache-2.0"


def test_its_version_is_that_of_the_package_and_of_the_latest_released_section_of_the_changelog(
    reported: email.message.Message,
) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = re.findall(r"^## (.+)$", changelog, re.MULTILINE)

    assert reported["Version"] == __version__
    assert sections[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(__version__)} \(\d{{4}}-\d\d-\d\d\)", sections[1])
    assert [each for each in sections[2:] if not re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", each)] == []


def test_the_source_archive_holds_what_the_wheel_is_built_from_and_no_tests(tmp_path: Path) -> None:
    (built,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(built) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "cli/ragdrop_cli/main.py"} <= names
    assert [name for name in names if name.startswith(("tests/", "localstack/", "benchmarks/"))] == []
