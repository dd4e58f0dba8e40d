"""What a process of its own prints of a function's first answer, stage by stage: run by benchmarks/first_answer.py.

    python -I -S stages_child.py '{"path": [...], "modules": [...], "part": "query.search", "events": [{}, {}]}'

Printed is one JSON object: of each stage its wall and processor seconds, in their order.  A stage of no work of ours
is the start of Python, whose wall time is that since `begun_s` of the clock that counts from 1970.
"""

import time

begun = time.time(), time.process_time()

import importlib  # noqa: E402 - Python's own start ends above
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from types import SimpleNamespace  # noqa: E402

CONTEXT = SimpleNamespace(
    function_name="benchmark",
    memory_limit_in_mb=1024,
    invoked_function_arn="arn:aws:lambda:us-east-1:000000000000:function:benchmark",
    aws_request_id="benchmark",
    get_remaining_time_in_millis=lambda: 29_000,
)


def main(spec: dict[str, object]) -> dict[str, list[float]]:
    """Start, answer the first event and then the second."""
    at = [time.perf_counter(), time.process_time()]
    stages = {"start of Python": [begun[0] - spec["begun_s"], begun[1]]}

    def done(stage: str) -> None:
        now = [time.perf_counter(), time.process_time()]
        stages[stage] = [after - before for after, before in zip(now, at, strict=True)]
        at[:] = now

    sys.path[:0] = spec["path"]
    for name in spec["modules"]:
        try:
            importlib.import_module(name)
        except ImportError:  # made at run time by its parent, not to be imported by its name
            continue
    done("packages")
    found = importlib.import_module("app")
    done("ragdrop and its parts")
    held = found.app
    for name in spec["part"].split("."):
        held = getattr(held, name)
    done("clients")
    from ragdrop.domain.deadlines import Deadline

    space = found.app.ports.settings.seed_index().space
    found.app.ports.guarded_embedder.query("how long does a start take", space, Deadline.after(29))
    done("first embedding")
    for stage, event in zip(("first answer", "second answer"), spec["events"], strict=True):
        answer = found.handler(event, CONTEXT)
        if answer["statusCode"] != 200:
            sys.exit(str(answer))
        done(stage)
    return stages


if __name__ == "__main__":
    told = main(json.loads(sys.argv[1]))
    print("\n" + json.dumps(told))
    sys.stdout.flush()
    os._exit(0)
