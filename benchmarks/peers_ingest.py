"""Ingest beside the frameworks: a folder of texts indexed, indexed again unchanged, and with one file edited.

    python -m benchmarks.peers_ingest [--write] [--quick]

The vectors come from a service that needs the same time for every text, so that the ratio to the embedding alone is of
the system and not of how busy this machine is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from platform import python_version
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks import records
from benchmarks.change_script import steps
from benchmarks.embeddings import TimedModel, in_thread
from benchmarks.peers.process import NAMES, running, shared_node
from localstack.models.serving import application, embedding_routes

OWN = "ragdrop"
IN_PROCESS = "txtai"  # its index is not in OpenSearch
NAME = "peers_ingest"
FILES, QUICK_FILES = 120, 24
TEXT_S = 0.045  # what the local default model takes for a passage of 240 tokens on two cores
CONFIGURATIONS = {"langchain": "hybrid", "llama_index": "hybrid", "haystack": "hybrid-cleaned", "txtai": "hybrid"}


def peers_ingest_table(found: Mapping[str, Any]) -> str:
    """A line a system: the first run, the second without a change, the third with one file edited."""
    first_run = "documents a minute | of embedding alone | CPU s | peak MB | chunks | bytes a chunk"
    later_runs = "unchanged, s | times faster | embedded then | one edited, s | embedded then"
    lines = [f"| | {first_run} | {later_runs} |", "|---|" + "---|" * 11]
    for name, each in found["systems"].items():
        first, again, edited = (each[run] for run in ("first", "unchanged", "edited"))
        bytes_a_chunk = "" if name == IN_PROCESS else f"{each['index_bytes'] / max(1, first['chunks']):,.0f}"
        cells = [
            f"{found['files'] / first['wall_s'] * 60:,.0f}",
            f"{first['wall_s'] / first['busy_s']:.2f}",
            f"{first['cpu_s']:.2f}",
            f"{first['peak_mb']:.0f}",
            f"{first['chunks']}",
            bytes_a_chunk,
            f"{again['wall_s']:.3f}",
            f"{first['wall_s'] / again['wall_s']:,.0f}",
            f"{again['texts']}",
            f"{edited['wall_s']:.2f}",
            f"{edited['texts']}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", f"{found['files']} files; {1_000 * found['text_s']:.0f} ms a text.", ""]
    return "\n".join([*lines, *(f"- {name}: {each['settings']}." for name, each in found["systems"].items())])


def measured(
    name: str, configuration: str, folder: Path, place: Mapping[str, Any], model: TimedModel
) -> dict[str, Any]:
    """Figures of one system over the files in *folder*, which is left as it was."""
    more: dict[str, Any] = {"folder": str(folder.parent), "label": "ingest"}
    with running(name, **place, **more) as contender:
        reported = contender.switch(configuration)
        found: dict[str, Any] = {"settings": reported["settings"], "versions": reported["versions"]}
        edited = sorted(folder.rglob("*.txt"))[0]
        before = edited.read_text("utf-8")
        for run in ("first", "unchanged", "edited"):
            if run == "edited":
                edited.write_text(f"{before}\nOne more paragraph, which nobody wrote before.\n", "utf-8")
            model.reset()
            done = contender.peer.ask("sync", folder=str(folder))
            found[run] = done | {"texts": model.texts, "calls": model.calls, "busy_s": model.busy_s}
            if run == "first":
                found["index_bytes"] = index_bytes(place["opensearch_url"])
        edited.write_text(before, "utf-8")
    return found


def index_bytes(opensearch_url: str) -> int:
    """Bytes of all indices of the node, each in one segment without what was deleted."""
    with httpx.Client(base_url=opensearch_url, trust_env=False, timeout=120) as http:
        http.post("/_all/_forcemerge", params={"max_num_segments": 1, "flush": "true"}).raise_for_status()
        indices = http.get("/_stats/store").raise_for_status().json()["indices"]
    return sum(each["primaries"]["store"]["size_in_bytes"] for name, each in indices.items() if name[0] != ".")


def main() -> int:
    options = records.parser(__doc__, quick=f"{QUICK_FILES} files instead of {FILES}").parse_args()
    files = steps(QUICK_FILES if options.quick else FILES)[0].files
    model = TimedModel(TEXT_S)
    systems: dict[str, Any] = {}
    with (
        TemporaryDirectory(prefix="ragdrop-ingest-") as base,
        shared_node() as node,
        in_thread(application(embedding_routes(model))) as url,
    ):
        folder = Path(base) / "files"
        for path, text in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        where = {"opensearch_url": node, "embedding_url": url}
        for name, configuration in {OWN: "search", **CONFIGURATIONS}.items():
            systems[NAMES.get(name, name)] = measured(name, configuration, folder, where, model)
    versions = {"python": python_version()}
    for each in systems.values():
        versions |= each.pop("versions")
    results = {"files": len(files), "text_s": TEXT_S, "systems": systems}
    if options.write:
        records.keep(NAME, results, versions, quick=options.quick)
    print(peers_ingest_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
