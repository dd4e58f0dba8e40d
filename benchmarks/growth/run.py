"""Growth: query time, memory and size by chunks, tenants and links, on both indexes, with the exponents of the fits.

    python -m benchmarks.growth [--quick] [--write] [--part NAME ...]

Texts and vectors are generated, 384 dimensions.  A question is one search for candidates: vector and words, 30 each, by
the adapter; with links it is a whole search with defaults, over fakes of all but the index.  Every index of a part is
there from the beginning, and the questions go to them in turns, so that what else the machine does is in all of them
alike.  `--write` keeps the figures, a part that is not run keeps those that it has, and draws docs/evidence/growth.svg
where the environment .local/env/plots is; `python -m benchmarks.report --write` then writes the page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from benchmarks import records
from benchmarks.growth import links, sizes, tenants
from benchmarks.growth.engines import Engine, NodeEngine, bucket, opensearch
from benchmarks.growth.page import missed, tables
from benchmarks.plots import draw

PACKAGES = ("tantivy", "simsimd", "opensearch-py")


@dataclass(frozen=True)
class Extent:
    """How far one run goes."""

    sizes: tuple[int, ...]
    tenants: tuple[int, ...]
    tenant_chunks: int
    links: tuple[int, ...]
    documents: int
    rounds: int


WHOLE = Extent((1_000, 10_000, 100_000), (1, 10, 100), 200, (1, 10, 100), 150, 100)
QUICK = Extent((300, 1_000, 3_000), (1, 10), 100, (1, 10), 120, 20)

ENGINES: dict[str, Callable[[], AbstractContextManager[Engine]]] = {"bucket": bucket, "opensearch": opensearch}
KINDS: dict[str, Callable[[Engine, Extent], dict[str, Any]]] = {
    "sizes": lambda engine, extent: sizes.measure(engine, extent.sizes, extent.rounds),
    "tenants": lambda engine, extent: tenants.measure(engine, extent.tenants, extent.tenant_chunks, extent.rounds),
    "links": lambda engine, extent: links.measure(engine, extent.links, extent.documents, extent.rounds),
}
PARTS = [f"{engine}-{kind}" for engine in ENGINES for kind in KINDS]


def main() -> int:
    """Measure, print, and keep if asked to; 1 where a whole run misses a budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute")
    parser.add_argument("--write", action="store_true", help="keep the figures and draw the plot")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; default: all")
    options = parser.parse_args()
    found = _measured(options.part or list(PARTS), quick=options.quick, write=options.write)
    print(tables(found))
    if options.write and not options.quick:
        draw("benchmarks.growth.plot")
    short = missed(found)
    for line in short:
        print(line, file=sys.stderr)
    return int(bool(short) and not options.quick)


def _measured(parts: Sequence[str], *, quick: bool, write: bool) -> dict[str, Any]:
    """What the parts found, each kept as soon as it is known, with what was kept of the others."""
    record = records.read("growth", records.QUICK if quick else records.WHOLE) if write else None
    kept = record.results if record else {}
    found: dict[str, Any] = {name: kept[name] for name in kept if name in {*PARTS, "server"}}
    again = {"server"}
    for part in _parts(parts, QUICK if quick else WHOLE):
        found |= part
        again |= part.keys()
        print(f"{', '.join(part)}: measured", file=sys.stderr, flush=True)
        if write:
            versions = {name: version(name) for name in PACKAGES} | {"OpenSearch": found.get("server", "not measured")}
            older = record.left(again, record.results) if record else {}
            records.keep("growth", found, versions, quick=quick, older=older)
    return found


def _parts(wanted: Sequence[str], extent: Extent) -> Iterator[dict[str, Any]]:
    """The wanted parts one by one; those of one engine on one opening of it."""
    for name, opened in ENGINES.items():
        kinds = [kind for kind in KINDS if f"{name}-{kind}" in wanted]
        if not kinds:
            continue
        with opened() as engine:
            for kind in kinds:
                yield {f"{name}-{kind}": KINDS[kind](engine, extent)}
            if isinstance(engine, NodeEngine):
                yield {"server": engine.version}


if __name__ == "__main__":
    sys.exit(main())
