"""Read the import graph of ragdrop from the source; `python -m checks.import_graph` prints it."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYER = ROOT / "layers/common/python"
PACKAGE = LAYER / "ragdrop"
LIBRARIES = ("groundcheck", "readers", "bucketindex", "ragdrop_opensearch")

# Bottom to top: a package imports only packages of the lines before its own, those of one line never each other.
LAYERS = (
    ("groundcheck", "readers"),
    ("errors", "observability", "prompts"),
    ("domain", "tables"),
    ("ports",),
    ("bucketindex", "ragdrop_opensearch"),
    ("resilience",),
    ("tenants",),
    ("ingest",),
    ("calibration",),
    ("query",),
    ("past",),
    ("generate", "documents", "operate"),
    ("models", "stores"),
    ("config",),
    ("app",),
    ("client",),
    ("api",),
)
CAPABILITIES = {
    "tables",
    "ingest",
    "query",
    "calibration",
    "past",
    "generate",
    "documents",
    "tenants",
    "operate",
    "resilience",
}
ENGINES = {"bucketindex", "ragdrop_opensearch"}
ADAPTERS = {"models", "stores", *ENGINES}


@dataclass(frozen=True, slots=True)
class Graph:
    """Modules by dotted name, those of ragdrop without its own, and what each imports of the others."""

    modules: Mapping[str, Path]
    imports: Mapping[str, frozenset[str]]

    def importers(self) -> dict[str, set[str]]:
        """Module -> the modules that import it."""
        found: dict[str, set[str]] = defaultdict(set)
        for module, names in self.imports.items():
            for name in names:
                found[name].add(module)
        return found

    def closure(self, module: str) -> set[str]:
        """Every module that *module* reaches by imports."""
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            for name in self.imports[waiting.pop()] - seen:
                seen.add(name)
                waiting.append(name)
        return seen

    def cycles(self) -> list[list[str]]:
        """Groups of modules that reach each other, by Tarjan's algorithm."""
        index: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        found: list[list[str]] = []

        def visit(module: str) -> None:
            index[module] = low[module] = len(index)
            stack.append(module)
            for name in self.imports[module]:
                if name not in index:
                    visit(name)
                    low[module] = min(low[module], low[name])
                elif name in stack:
                    low[module] = min(low[module], index[name])
            if low[module] == index[module]:
                group = stack[stack.index(module) :]
                del stack[stack.index(module) :]
                if len(group) > 1:
                    found.append(sorted(group))

        for module in self.modules:
            if module not in index:
                visit(module)
        return found


def read_graph(layer: Path = LAYER) -> Graph:
    """Read the import graph of ragdrop and the libraries beside it, all of them folders in *layer*."""
    paths = [path for name in ("ragdrop", *LIBRARIES) for path in sorted((layer / name).rglob("*.py"))]
    modules = {name: path for path in paths if (name := _name_of(path, layer))}
    imports = {
        name: frozenset(target for target in _targets(path, modules) if target != name)
        for name, path in modules.items()
    }
    return Graph(modules, imports)


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, those inside functions and `if TYPE_CHECKING` too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}: relative imports hide the direction")
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(module: str) -> str:
    """The first part of a module's name below `ragdrop`."""
    return module.partition(".")[0]


def rank_of(package: str) -> int:
    """The layer of *package*, 0 at the bottom."""
    return next(rank for rank, names in enumerate(LAYERS) if package in names)


def _name_of(path: Path, layer: Path) -> str:
    parts = path.relative_to(layer).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return "" if name == "ragdrop" else name.removeprefix("ragdrop.")


def _targets(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for name in imported(path):
        if name.partition(".")[0] in {"ragdrop", *LIBRARIES}:
            inner = name.removeprefix("ragdrop.")
            target = inner if inner in modules else inner.rpartition(".")[0]
            if target in modules:
                yield target


def main(packages: list[str]) -> None:
    """Print packages with their sizes and imports; with arguments the modules of those packages."""
    graph = read_graph()
    if packages:
        for module in sorted(name for name in graph.modules if package_of(name) in packages):
            lines = len(graph.modules[module].read_text("utf-8").splitlines())
            print(f"{module} ({lines} lines): {', '.join(sorted(graph.imports[module]))}")
        return
    edges: dict[str, set[str]] = defaultdict(set)
    sizes: dict[str, int] = defaultdict(int)
    for module, names in graph.imports.items():
        sizes[package_of(module)] += 1
        edges[package_of(module)] |= {package_of(name) for name in names} - {package_of(module)}
    for package in sorted(sizes, key=rank_of):
        print(f"{rank_of(package):>2} {package} ({sizes[package]} modules): {', '.join(sorted(edges[package]))}")
    print(f"{len(graph.modules)} modules; cycles: {graph.cycles() or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
