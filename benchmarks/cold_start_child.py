"""What a separate process prints of a function's start, with the standard library alone.

    python -I -S cold_start_child.py import '{"path": [...], "module": "app", "part": "query.search", "modules": null}'
    python -I -S cold_start_child.py answer '{"path": [...], "modules": [...], "part": ..., "events": [...]}'

Both print one JSON object.  `import`, run by cold_start.py: processor and wall seconds of the import, and of the import
with what the first call makes, the modules that came with each, memory and open sockets; `modules` are imported one by
one instead of `module`.  `answer`, run by first_answer.py: wall and processor seconds of each stage, in order, until
the second answer.  The first is the start of Python, since `begun_s` (seconds since 1970).
"""

import time

begun = time.time(), time.process_time()

import importlib  # noqa: E402 - Python's own start ends above
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

REMAINING_MS = 29_000


def sockets() -> int:
    count = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib would be one of the imports
        try:
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")  # noqa: PTH115 - as above
        except OSError:  # the folder's own descriptor
            continue
    return count


def most_memory_mb() -> float:
    """Of this program alone: what `getrusage` says begins with the memory of the process that started it."""
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - pathlib would be one of the imports
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def import_all(modules: list[str]) -> None:
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:  # made at run time by its parent, not to be imported by its name
            continue


def part_of(app: object, names: str) -> object:
    for name in names.split("."):
        app = getattr(app, name)
    return app


def imported(spec: dict[str, object]) -> dict[str, object]:
    before, cpu, wall = set(sys.modules), time.process_time(), time.perf_counter()
    found = None
    if spec["modules"] is not None:
        import_all(spec["modules"])
    else:
        found = importlib.import_module(spec["module"])
    report = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    report["modules"] = [name for name in sys.modules if name not in before]
    report["memory_mb"] = most_memory_mb()
    report["sockets"] = sockets()
    if found is not None and spec["part"]:
        part_of(found.app, spec["part"])
    report |= {"ready_cpu_s": time.process_time() - cpu, "ready_wall_s": time.perf_counter() - wall}
    report["ready_modules"] = len(set(sys.modules) - before)
    report["ready_memory_mb"] = most_memory_mb()
    return report


def answered(spec: dict[str, object]) -> dict[str, list[float]]:
    from types import SimpleNamespace

    at = [time.perf_counter(), time.process_time()]
    stages = {"start of Python": [begun[0] - spec["begun_s"], begun[1]]}

    def done(stage: str) -> None:
        now = [time.perf_counter(), time.process_time()]
        stages[stage] = [after - before for after, before in zip(now, at, strict=True)]
        at[:] = now

    import_all(spec["modules"])
    done("packages")
    found = importlib.import_module("app")
    done("ragdrop and its parts")
    part_of(found.app, spec["part"])
    done("clients")
    from ragdrop.domain.deadlines import Deadline

    space = found.app.ports.settings.seed_index().space
    found.app.ports.guarded_embedder.query("how long does a start take", space, Deadline.after(REMAINING_MS / 1_000))
    done("first embedding")
    context = SimpleNamespace(
        function_name="benchmark",
        memory_limit_in_mb=1024,
        invoked_function_arn="arn:aws:lambda:us-east-1:000000000000:function:benchmark",
        aws_request_id="benchmark",
        get_remaining_time_in_millis=lambda: REMAINING_MS,
    )
    for stage, event in zip(("first answer", "second answer"), spec["events"], strict=True):
        answer = found.handler(event, context)
        if answer["statusCode"] != 200:
            sys.exit(str(answer))
        done(stage)
    return stages


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    sys.path[:0] = given["path"]
    print("\n" + json.dumps({"import": imported, "answer": answered}[sys.argv[1]](given)))
    sys.stdout.flush()
    os._exit(0)  # what is opened while it is imported needs no orderly end here
