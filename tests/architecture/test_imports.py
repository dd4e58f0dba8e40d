"""The rules of the house: what may import what, how large a package and a module may be, what a name means.

Each rule is a function over a graph, so that the tests below can plant a violation and see it reported.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from checks.import_graph import (
    ADAPTERS,
    CAPABILITIES,
    ENGINES,
    PACKAGE,
    ROOT,
    Graph,
    imported,
    package_of,
    rank_of,
    read_graph,
)

SDKS = {
    "backports",
    "boto3",
    "botocore",
    "fastapi",
    "httpx",
    "jinja2",
    "jwt",
    "mangum",
    "markdown_it",
    "mcp",
    "opensearchpy",
    "semantic_text_splitter",
    "simsimd",
    "sqlite3",
    "starlette",
    "tantivy",
    "yaml",
}
IMPURE = {"os", "pathlib", "random", "socket", "subprocess", "time"}
PURE_EXCEPTIONS = {
    ("domain.deadlines", "time"),  # the default clock
    ("query.cache", "time"),  # the default clock
    ("ingest.metadata", "pathlib"),  # PurePosixPath
    ("tables.word_relations", "pathlib"),  # a dictionary of the package, read once
}
MAX_MODULES = 20  # of a package
MAX_LINES = 500  # of a module
MIN_LINES = 60  # a shorter module that only one other module imports belongs in it
PRODUCT = ("layers", "functions", "cli", "localstack", "benchmarks", "pages", "checks")
SHIPPED = ("layers", "functions", "cli", "localstack")
MEASURING = ("benchmarks", "checks", "pages", "tests", "testing")
GRAPH = read_graph()


def upward(graph: Graph) -> list[str]:
    """Imports of a package of the same layer or of one above."""
    return sorted(
        f"{module} imports {name}"
        for module, names in graph.imports.items()
        for name in names
        if package_of(name) != package_of(module) and rank_of(package_of(name)) >= rank_of(package_of(module))
    )


def sdks(graph: Graph) -> list[str]:
    """Capabilities, domain and ports that import an SDK, a driver or a web framework."""
    return sorted(
        f"{module} imports {name}"
        for module, path in graph.modules.items()
        if package_of(module) in CAPABILITIES | {"domain", "ports"}
        for name in imported(path)
        if name.partition(".")[0] in SDKS
    )


def beyond_ports(graph: Graph) -> list[str]:
    """Imports of the index engines from other packages of ragdrop than ports, domain and errors."""
    return sorted(
        f"{module} imports {name}"
        for module, names in graph.imports.items()
        for name in names
        if package_of(module) in ENGINES and package_of(name) not in {package_of(module), "ports", "domain", "errors"}
    )


def ragdrop_in_libraries(graph: Graph) -> list[str]:
    """Imports of ragdrop, or of an engine, from the libraries that know nothing of it."""
    return sorted(
        f"{module} imports {name}"
        for module, names in graph.imports.items()
        for name in names
        if package_of(module) in {"groundcheck", "readers"} and package_of(name) != package_of(module)
    )


def adapters_elsewhere(graph: Graph) -> list[str]:
    """Imports of stores, models and formats from other packages than app."""
    return sorted(
        f"{module} imports {name}"
        for module, names in graph.imports.items()
        for name in names
        if package_of(name) in ADAPTERS and package_of(module) not in ADAPTERS | {"app"}
    )


def readers_elsewhere(graph: Graph) -> list[str]:
    """Imports of the readers from outside of ingest, its port and its adapters: no question waits for them."""
    allowed = {"ports.reading", "models.splitter", "models.text_recognizers", "app.ports"}
    allowed |= {"tables.typed", "tables.text_tables", "app.document_parts"}
    return sorted(
        f"{module} imports {name}"
        for module, names in graph.imports.items()
        for name in names
        if package_of(name) == "readers" and package_of(module) not in {"readers", "ingest"} and module not in allowed
    )


def impure(graph: Graph) -> list[str]:
    """Modules of domain, and modules of rules (those that know no port), that do I/O or read a clock."""
    found = []
    for module, path in graph.modules.items():
        knows_ports = any(package_of(name) == "ports" for name in graph.imports[module])
        rules = package_of(module) == "domain" or (package_of(module) in CAPABILITIES and not knows_ports)
        if rules and not any(package_of(name) == "resilience" for name in graph.imports[module]):
            names = {name.partition(".")[0] for name in imported(path)} & IMPURE
            found += [f"{module} imports {name}" for name in names if (module, name) not in PURE_EXCEPTIONS]
    return sorted(found)


def repeated_modules(graph: Graph) -> dict[str, list[str]]:
    """Names of modules that occur more than once, but for the field's own."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, path in graph.modules.items():
        if path.stem not in {"__init__", "__main__", "routes", "shapes"}:
            found[path.stem].append(module)
    return {name: sorted(modules) for name, modules in found.items() if len(modules) > 1}


def repeated_functions(graph: Graph) -> dict[str, list[str]]:
    """Names of public functions of modules that occur more than once."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, path in graph.modules.items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return {name: sorted(modules) for name, modules in found.items() if len(modules) > 1}


def readers_of_the_environment(graph: Graph) -> list[str]:
    """Modules other than config that read environment variables."""
    return sorted(
        module
        for module, path in graph.modules.items()
        if module != "config" and ("os.environ" in path.read_text("utf-8") or "os.getenv" in set(imported(path)))
    )


def too_many_modules(graph: Graph) -> dict[str, int]:
    """Folders with more modules than a package may have, `__init__` not counted."""
    sizes = Counter(path.parent for path in graph.modules.values() if path.stem != "__init__")
    return {folder.name: count for folder, count in sizes.items() if count > MAX_MODULES}


def too_small(graph: Graph) -> list[str]:
    """Short modules that one other module imports; adapters and ports excepted, which app alone names."""
    importers = graph.importers()
    return sorted(
        f"{module} belongs in {next(iter(importers[module]))}"
        for module, path in graph.modules.items()
        if path.stem != "__init__"
        and package_of(module) in CAPABILITIES | {"domain", "api"}
        and len(importers[module]) == 1
        and len(path.read_text("utf-8").splitlines()) < MIN_LINES
    )


def measured_by(paths: list[Path]) -> list[str]:
    """Imports of what measures, checks or tests the product."""
    return sorted(
        f"{path} imports {name}" for path in paths for name in imported(path) if name.partition(".")[0] in MEASURING
    )


def beyond_the_standard_library(graph: Graph) -> list[str]:
    """Imports of groundcheck, which anybody can install alone, of other packages."""
    return sorted(
        f"{module} imports {name}"
        for module, path in graph.modules.items()
        if package_of(module) == "groundcheck"
        for name in imported(path)
        if name.partition(".")[0] not in sys.stdlib_module_names | {"groundcheck"}
    )


def test_no_package_imports_upward() -> None:
    assert upward(GRAPH) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert GRAPH.cycles() == []


def test_capabilities_import_no_sdk_no_driver_and_no_web_framework() -> None:
    assert sdks(GRAPH) == []


def test_the_index_engines_import_ports_domain_and_errors_alone() -> None:
    assert beyond_ports(GRAPH) == []


def test_the_libraries_import_nothing_of_ragdrop() -> None:
    assert ragdrop_in_libraries(GRAPH) == []


def test_groundcheck_imports_the_standard_library_alone() -> None:
    assert beyond_the_standard_library(GRAPH) == []


def test_only_app_imports_stores_models_and_formats() -> None:
    assert adapters_elsewhere(GRAPH) == []


def test_only_ingest_imports_the_readers() -> None:
    assert readers_elsewhere(GRAPH) == []


def test_rules_do_no_io_and_read_no_clock() -> None:
    assert impure(GRAPH) == []


def test_only_config_reads_the_environment() -> None:
    assert readers_of_the_environment(GRAPH) == []


def test_no_package_has_more_than_twenty_modules() -> None:
    assert too_many_modules(GRAPH) == {}


def test_no_short_module_has_a_single_importer() -> None:
    assert too_small(GRAPH) == []


def test_functions_import_no_adapter_and_no_other_function() -> None:
    for path in ROOT.glob("functions/*/*.py"):
        names = {name.removeprefix("ragdrop.").partition(".")[0] for name in imported(path)}
        assert names & (ADAPTERS | {"functions"}) == set(), path


def test_the_product_imports_nothing_that_measures_or_tests_it() -> None:
    assert measured_by([path for folder in SHIPPED for path in (ROOT / folder).rglob("*.py")]) == []


@pytest.mark.parametrize("name", MEASURING)
def test_a_planted_import_of_what_measures_the_product_is_reported(tmp_path: Path, name: str) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(f"def late() -> None:\n    from {name}.planted import Planted\n")

    assert measured_by([planted]) == [f"{planted} imports {name}.planted.Planted"]


def test_no_module_is_longer_than_500_lines() -> None:
    assert [
        str(path) for path in _modules("tests", "testing") if len(path.read_text("utf-8").splitlines()) > MAX_LINES
    ] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [str(path) for path in _modules("tests") if path.stem in {"utils", "helpers", "misc", "common"}] == []


def test_one_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in _modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(ROOT).as_posix())

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_module_name_occurs_once() -> None:
    assert repeated_modules(GRAPH) == {}


def test_a_public_function_name_means_one_thing() -> None:
    assert repeated_functions(GRAPH) == {}


@pytest.mark.parametrize(
    ("module", "source", "rule"),
    [
        ("ingest/planted.py", "from ragdrop.query.search import Search", upward),
        ("query/planted.py", "from ragdrop.generate.ask import Ask", upward),
        ("domain/planted.py", "from ragdrop.ports.registry import Registry", upward),
        ("query/planted.py", "import boto3", sdks),
        ("../bucketindex/planted.py", "from ragdrop.query.search import Search", beyond_ports),
        ("../ragdrop_opensearch/planted.py", "from bucketindex.index import BucketChunkIndex", beyond_ports),
        ("../readers/planted.py", "from ragdrop.ports.registry import Registry", ragdrop_in_libraries),
        ("operate/planted.py", "from ragdrop.stores.s3_objects import S3ObjectStore", adapters_elsewhere),
        ("query/planted.py", "from readers.parsed import Heading", readers_elsewhere),
        ("domain/planted.py", "import time", impure),
        ("groundcheck/planted.py", "import httpx", beyond_the_standard_library),
        ("generate/planted.py", "import os\n\nregion = os.environ['AWS_REGION']", readers_of_the_environment),
    ],
)
def test_a_planted_violation_is_reported(tmp_path: Path, module: str, source: str, rule: object) -> None:
    graph = _with(tmp_path, {module: source})

    assert callable(rule)
    assert any("planted" in line for line in rule(graph))


def test_a_planted_circle_is_reported_even_where_it_is_of_types_alone(tmp_path: Path) -> None:
    one = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from ragdrop.domain.other import B"
    graph = _with(tmp_path, {"domain/planted.py": one, "domain/other.py": "from ragdrop.domain.planted import A"})

    assert graph.cycles() == [["domain.other", "domain.planted"]]


def test_a_planted_crowd_of_modules_is_reported(tmp_path: Path) -> None:
    graph = _with(tmp_path, {f"tenants/planted_{number}.py": "" for number in range(MAX_MODULES + 1)})

    assert too_many_modules(graph) == {"tenants": MAX_MODULES + 1}


def test_a_planted_short_module_is_reported(tmp_path: Path) -> None:
    graph = _with(tmp_path, {"query/planted.py": "", "query/user.py": "from ragdrop.query import planted"})

    assert too_small(graph) == ["query.planted belongs in query.user"]


def test_a_planted_module_of_a_name_that_occurs_is_reported(tmp_path: Path) -> None:
    graph = _with(tmp_path, {"generate/search.py": ""})

    assert repeated_modules(graph) == {"search": ["generate.search", "query.search"]}


def test_a_planted_function_of_a_name_that_occurs_is_reported(tmp_path: Path) -> None:
    graph = _with(
        tmp_path, {"query/planted.py": "def cut(): ...", "ingest/other.py": "def cut(): ...\n\ndef _own(): ..."}
    )

    assert repeated_functions(graph) == {"cut": ["ingest.other", "query.planted"]}


def _with(folder: Path, modules: dict[str, str]) -> Graph:
    """A package of the modules that the planted ones name, empty, and of these."""
    package = folder / "ragdrop"
    known = (
        "query/search.py",
        "generate/ask.py",
        "ports/registry.py",
        "stores/s3_objects.py",
        "../bucketindex/index.py",
        "../readers/parsed.py",
    )
    for name, source in {**dict.fromkeys(known, ""), **modules}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(source)
    return read_graph(folder)


def _modules(*more: str) -> list[Path]:
    return [path for folder in (*PRODUCT, *more) for path in (ROOT / folder).rglob("*.py")]


def test_the_graph_is_of_the_package_that_is_shipped() -> None:
    assert {"query.search", "ingest.reconcile", "generate.ask"} <= set(GRAPH.modules)
    assert PACKAGE.is_dir()
