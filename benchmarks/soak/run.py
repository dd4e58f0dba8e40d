"""A soak of the local stack: puts, overwrites, deletions and searches together, each answer judged.

    python -m benchmarks.soak [--minutes 10] [--write]

Nothing stale: no answer shows a text that was replaced or deleted before the question was sent, as the service had said
or as an answer had shown.  No error outside of the table of codes.  In the end the queue is empty, nothing is
in the dead-letter queue, and the registry says of every document what the bucket holds.  1 where that is not so.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.live_stack import live_stack
from benchmarks.load.keeping import keep
from benchmarks.load.table import soak_rows
from benchmarks.soak.end import at_the_end
from benchmarks.soak.work import Soak, SoakDocument
from localstack.deploy import Emulated
from localstack.processes import LaunchError

VAULT = "soak"


def soak(place: SoakDocument, queues: Any, queue_url: str, *, minutes: float, seed: int = 1) -> dict[str, Any]:
    """Let everything go on for *minutes*, then look how it ended; `problems` are sentences, best none."""
    work = Soak(place, seed=seed)
    begun = time.monotonic()
    with work.going():
        while time.monotonic() - begun < minutes * 60:
            time.sleep(0.5)
    drained_s = at_the_end(work, queues, queue_url)
    tally = work.tally
    return {
        "minutes": minutes,
        "counts": dict(sorted(tally.counts.items())),
        "codes": dict(sorted(tally.codes.items())),
        "problems": tally.problems,
        "drained_s": drained_s,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it on a stack of its own; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--index", default="opensearch", choices=("bucket", "opensearch"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/performance.md")
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
            print("\n".join([*soak_rows(found), *found["problems"][:20]]), flush=True)
    except LaunchError as exc:
        sys.exit(f"the soak could not be held: {exc}")
    if options.write:
        keep("soak", found)
    return int(bool(found["problems"]) or found["drained_s"] is None)


if __name__ == "__main__":
    sys.exit(main())
