"""Run it: `python -m benchmarks.parity`."""

import sys

from benchmarks.parity.run import main

if __name__ == "__main__":
    sys.exit(main())
