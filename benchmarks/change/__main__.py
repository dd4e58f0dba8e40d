"""Run it: `python -m benchmarks.change`."""

import sys

from benchmarks.change.run import main

if __name__ == "__main__":
    sys.exit(main())
