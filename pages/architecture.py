"""The picture in docs/architecture.md: which package imports which, drawn from the imports in the code."""

from __future__ import annotations

from collections.abc import Mapping, Set

from checks.import_graph import LIBRARIES, read_graph

LEFT_OUT = {"errors", "observability", "prompts"}  # imported from everywhere


def part() -> str:
    """The picture of the imports in the code."""
    return picture(package_imports())


def package_imports() -> dict[str, set[str]]:
    """What each package imports of the others: the libraries, and the parts of `ragdrop`."""
    found: dict[str, set[str]] = {}
    for module, names in read_graph().imports.items():
        package = module.partition(".")[0]
        found.setdefault(package, set()).update({name.partition(".")[0] for name in names} - {package})
    return {package: names - LEFT_OUT for package, names in found.items() if package not in LEFT_OUT}


def reduced(imports: Mapping[str, Set[str]]) -> dict[str, set[str]]:
    """The imports that no path over other packages implies.

    >>> reduced({"api": {"query", "domain"}, "query": {"domain"}, "domain": set()})
    {'api': {'query'}, 'query': {'domain'}, 'domain': set()}
    """

    def reached(package: str, seen: set[str]) -> set[str]:
        for name in imports.get(package, set()) - seen:
            seen.add(name)
            reached(name, seen)
        return seen

    return {
        package: {name for name in names if not any(name in reached(other, set()) for other in names - {name})}
        for package, names in imports.items()
    }


def picture(imports: Mapping[str, Set[str]]) -> str:
    """The Mermaid graph, an arrow from whoever imports.

    >>> print(picture({"api": {"readers"}, "readers": set()}))
    ```mermaid
    flowchart TD
      subgraph ragdrop
        api
      end
      readers
      api --> readers
    ```
    """
    parts = sorted(set(imports) - {*LIBRARIES})
    lines = ["  subgraph ragdrop", *(f"    {name}" for name in parts), "  end"]
    lines += [f"  {name}" for name in LIBRARIES if name in imports]
    lines += [
        f"  {package} --> {name}" for package, names in sorted(reduced(imports).items()) for name in sorted(names)
    ]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])
