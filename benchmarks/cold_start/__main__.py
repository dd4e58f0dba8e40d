"""Run it: `python -m benchmarks.cold_start`."""

import sys

from benchmarks.cold_start.run import main

if __name__ == "__main__":
    sys.exit(main())
