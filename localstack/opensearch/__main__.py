"""One OpenSearch node by hand: `python -m localstack.opensearch start|stop --home DIR`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from localstack.opensearch import UnavailableError, find, start, stop
from localstack.opensearch.assembly import DEFAULT_RELEASE, RELEASES


def main() -> int:
    """Start or stop the node of a folder; prints its URL."""
    parser = argparse.ArgumentParser(prog="python -m localstack.opensearch", description=__doc__)
    parser.add_argument("action", choices=["start", "stop"])
    parser.add_argument("--home", type=Path, default=Path(".local"), help="the folder that its data lie in")
    parser.add_argument("--port", type=int, default=None)
    parser.add_argument("--release", choices=sorted(RELEASES), default=DEFAULT_RELEASE)
    options = parser.parse_args()
    try:
        if options.action == "start":
            node = start(options.home, options.port, release=options.release)
            print(node.url)
        else:
            running = find(options.home)
            if running is not None:
                stop(running)
    except UnavailableError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
