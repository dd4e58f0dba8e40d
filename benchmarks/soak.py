"""A soak of the local stack: puts, overwrites, deletions and searches together, each answer judged by tests/soak.py.

python -m benchmarks.soak [--minutes 10] [--write]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import records
from benchmarks.live_stack import live_stack
from benchmarks.load import keep
from localstack.deploy import Emulated
from localstack.processes import LaunchError
from tests.soak import SoakDocument, soak

VAULT = "soak"


def soak_table(found: Mapping[str, Any]) -> str:
    counts = found["counts"]
    changes = ", ".join(f"{counts.get(kind, 0):,} {kind}" for kind in ("created", "overwritten", "deleted"))
    by = ", ".join(f"{kind.removeprefix('searches ')} {count:,}" for kind, count in counts.items() if " " in kind)
    codes = ", ".join(f"{code}: {count:,}" for code, count in found["codes"].items()) or "none"
    drained = "no" if found["drained_s"] is None else f"after {found['drained_s']:.0f} s"
    rows = [
        f"| {found['minutes']:g} minutes | seen |",
        "|---|---|",
        f"| documents | {changes} |",
        f"| searches | {counts.get('searches', 0):,} ({by}) |",
        f"| errors of the table of codes | {codes} |",
        f"| stale, twice, vanished, or an error that is not in the table | {len(found['problems']):,} |",
        f"| queue and dead-letter queue empty, registry as the bucket | {drained} |",
    ]
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it on its own stack; 1 where something was wrong."""
    parser = records.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--index", default="opensearch", choices=("bucket", "opensearch"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    try:
        with live_stack(index=options.index) as stack:
            emulated = Emulated(stack.fields["endpoint_url"], stack.fields["environment"])
            place = SoakDocument(
                stack.api_url,
                stack.key,
                str(stack.fields["tenant"]),
                str(stack.fields["bucket"]),
                emulated.client("s3"),
                VAULT,
            )
            queue_url = str(stack.fields["environment"]["QUEUE_URL"])
            found = soak(place, emulated.client("sqs"), queue_url, minutes=options.minutes, seed=options.seed)
            print("\n".join([soak_table(found), *found["problems"][:20]]), flush=True)
    except LaunchError as exc:
        sys.exit(f"the soak could not be run: {exc}")
    if options.write:
        keep("soak", found)
    return int(bool(found["problems"]) or found["drained_s"] is None)


if __name__ == "__main__":
    sys.exit(main())
