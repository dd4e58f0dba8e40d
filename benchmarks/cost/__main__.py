"""Run `run.main`."""

import sys

from benchmarks.cost.run import main

if __name__ == "__main__":
    sys.exit(main())
