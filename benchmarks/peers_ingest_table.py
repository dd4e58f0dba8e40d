"""The table of ingest beside the frameworks, made from what benchmarks/peers_ingest.py found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN = "ragdrop"
IN_PROCESS = "txtai"  # its index is not in OpenSearch


def ingest_table(found: Mapping[str, Any]) -> str:
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
