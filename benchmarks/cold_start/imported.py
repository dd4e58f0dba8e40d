"""What a process of its own prints of one import, with the standard library alone: run by function_imports.py.

    python -I -S imported.py '{"path": [...], "module": "app", "part": "query.search", "modules": null}'

Printed is one JSON object: processor and wall seconds of the import and of the import with what the first call makes,
the modules that came with each, memory and open sockets.  `modules` are imported one by one instead of `module`.
"""

import importlib
import json
import os
import resource
import sys
import time


def sockets() -> int:
    """Open sockets of this process."""
    count = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib would be one of the imports
        try:
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")  # noqa: PTH115 - as above
        except OSError:  # the folder's own descriptor
            continue
    return count


def main(spec: dict[str, object]) -> dict[str, object]:
    """Import, and tell what that took."""
    sys.path[:0] = spec["path"]
    before, cpu, wall = set(sys.modules), time.process_time(), time.perf_counter()
    if spec["modules"] is not None:
        for name in spec["modules"]:
            try:
                importlib.import_module(name)
            except ImportError:  # made at run time by its parent, not to be imported by its name
                continue
        found = None
    else:
        found = importlib.import_module(spec["module"])
    told = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    told["modules"] = [name for name in sys.modules if name not in before]
    told["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told["sockets"] = sockets()
    if found is not None and spec["part"]:
        held = found.app
        for name in spec["part"].split("."):
            held = getattr(held, name)
    told |= {"ready_cpu_s": time.process_time() - cpu, "ready_wall_s": time.perf_counter() - wall}
    told["ready_modules"] = len(set(sys.modules) - before)
    told["ready_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return told


if __name__ == "__main__":
    print("\n" + json.dumps(main(json.loads(sys.argv[1]))))
    sys.stdout.flush()
    os._exit(0)  # what is opened while it is imported needs no orderly end here
