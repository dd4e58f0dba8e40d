"""Run it: `python -m benchmarks.served`."""

import sys

from benchmarks.served.run import main

if __name__ == "__main__":
    sys.exit(main())
