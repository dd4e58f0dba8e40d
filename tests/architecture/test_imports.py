"""The direction of imports, read from the source: what may know what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "layers/common/python/ragdrop"
ROOMS = {
    # room: what of ragdrop it may import
    "errors": set(),
    "domain": {"domain", "errors"},
    "ports": {"ports", "domain", "errors"},
    "usecases": {"usecases", "ports", "domain", "errors"},
    "adapters": {"adapters", "ports", "domain", "errors"},
    "config": {"domain", "errors"},
    "observability": set(),
    "web_adapter": set(),
    "http_methods": set(),
    "http_writes": {"observability", "usecases"},
    "cors": set(),
    "http": {"http_methods", "http_writes", "cors", "observability", "usecases", "ports", "domain", "errors"},
    "agents": {"agents", "client", "domain", "errors"},
    "routes": {"routes", "agents", "client", "http", "observability", "usecases", "ports", "domain", "errors"},
    "services": {"services", "routes", "http", "domain", "bootstrap"},  # of bootstrap the type alone
    "bootstrap": {"bootstrap", "config", "adapters", "usecases", "ports", "domain", "errors"},
    "client": {"client", "errors"},
}
IMPURE = {
    "boto3",
    "botocore",
    "opensearchpy",
    "apsw",
    "sqlite3",
    "httpx",
    "requests",
    "urllib3",
    "os",
    "time",
    "random",
    "socket",
    "pathlib",
    "subprocess",
}
PURE_EXCEPTIONS = {("domain/deadlines.py", "time"), ("ingest/metadata.py", "pathlib")}  # a default clock; PurePosixPath
SDKS = {
    "boto3",
    "botocore",
    "opensearchpy",
    "apsw",
    "sqlite_vec",
    "backports",
    "httpx",
    "yaml",
    "markdown_it",
    "semantic_text_splitter",
    "jinja2",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, those inside functions too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.parent != PACKAGE or path.stem != "__init__"], ids=name_of
)
def test_a_module_imports_only_what_its_room_may_know(path: Path) -> None:
    allowed = ROOMS[room_of(path)]
    inner = {name.split(".")[1] for name in imported(path) if name.startswith("ragdrop.")}

    assert inner - {"__version__"} <= allowed


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("domain/*.py")), ids=name_of)
def test_the_domain_does_no_io_and_reads_no_clock(path: Path) -> None:
    outer = {name.split(".")[0] for name in imported(path)}

    assert {module for module in outer & IMPURE if (name_of(path), module) not in PURE_EXCEPTIONS} == set()


@pytest.mark.parametrize("path", [path for path in MODULES if room_of(path) not in {"adapters", "client"}], ids=name_of)
def test_only_adapters_import_an_sdk_a_driver_or_a_parser(path: Path) -> None:
    assert {name.split(".")[0] for name in imported(path)} & SDKS == set()


@pytest.mark.parametrize("path", [path for path in MODULES if room_of(path) != "config"], ids=name_of)
def test_only_config_reads_the_environment(path: Path) -> None:
    assert {"os.environ", "os.getenv"} & set(imported(path)) == set()
    assert "os.environ" not in path.read_text("utf-8")


def test_functions_import_no_adapter_and_no_other_function() -> None:
    for path in ROOT.glob("functions/*/*.py"):
        names = set(imported(path))
        assert not any(name.startswith("ragdrop.adapters") for name in names), path
        assert not any(name.startswith("functions") for name in names), path


def test_no_module_is_longer_than_300_lines() -> None:
    ours = [
        path
        for folder in ("layers", "functions", "cli", "localstack", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]

    assert [str(path) for path in ours if len(path.read_text("utf-8").splitlines()) > 300] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    ours = [
        path
        for folder in ("layers", "functions", "cli", "localstack", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]

    assert [str(path) for path in ours if path.stem in {"utils", "helpers", "misc", "common"}] == []
