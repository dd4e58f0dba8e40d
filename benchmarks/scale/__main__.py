"""Run it: `python -m benchmarks.scale`."""

import sys

from benchmarks.scale.run import main

if __name__ == "__main__":
    sys.exit(main())
