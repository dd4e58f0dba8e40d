"""From a cold process to the first answer, stage by stage, with compiled modules and as a plain `sam build` has them.

    python -m benchmarks.first_answer [--write] [--rounds N]

The functions that `sam build` made start as fresh processes, in turns, against a local stack with one document: its
emulator of AWS and its embedding model.  `--write` keeps the figures and draws docs/evidence/first-answer.svg.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from platform import python_version
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import records
from benchmarks.cold_start import OURS, PROBE, Function, Imports, is_own, ours, runtime
from benchmarks.live_stack import LiveStack, live_stack
from benchmarks.plots import draw
from localstack.home import REPOSITORY

NAME = "first_answer"
ROUNDS = 5
TIMEOUT_S = 120
EVENTS = {"query": "search", "generate": "ask"}
QUESTIONS = ("Which code has the pump?", "Who repairs the pump, and when?")
NOTE = "# Pump\n\nThe code of the pump is QX-5521. Otto repairs the pump on Mondays.\n"
KINDS: Mapping[str, tuple[str, ...]] = {"compiled": (), "not compiled": ("-B", "-X", "pycache_prefix=/nonexistent")}


def measure(rounds: int) -> dict[str, Any]:
    """Medians of each stage's wall and processor milliseconds, by function and kind."""
    with TemporaryDirectory(prefix="ragdrop-note-") as folder, live_stack(index="bucket") as stack, runtime() as boto:
        Path(folder, "pump.md").write_text(NOTE, "utf-8")
        stack.push(Path(folder))
        functions = {each.name.removeprefix("ragdrop "): each for each in ours()}
        imports = Imports(boto)
        modules = {
            name: [each for each in imports.once(functions[name])["modules"] if not is_own(each)] for name in EVENTS
        }
        tries = [
            {
                f"{name}, {kind}": _once(functions[name], name, modules[name], options, stack, boto)
                for name in EVENTS
                for kind, options in KINDS.items()
            }
            for _ in range(rounds + 1)
        ][1:]
    rows = {
        row: {
            stage: [round(1_000 * median(each[row][stage][n] for each in tries), 1) for n in (0, 1)] for stage in stages
        }
        for row, stages in tries[0].items()
    }
    return {"rows": rows, "rounds": rounds}


def _once(
    function: Function, name: str, modules: list[str], options: tuple[str, ...], stack: LiveStack, boto: Path
) -> dict[str, list[float]]:
    event = json.loads((REPOSITORY / f"events/{EVENTS[name]}.json").read_text("utf-8"))
    event["headers"]["x-api-key"] = stack.key
    event["multiValueHeaders"]["x-api-key"] = [stack.key]
    spec = {
        "path": [*map(str, function.folders), str(boto)],
        "modules": modules,
        "part": OURS[name][1],
        "events": [event | {"body": json.dumps({"query": question})} for question in QUESTIONS],
        "begun_s": time.time(),
    }
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-I", "-S", *options, str(PROBE), "answer", json.dumps(spec)],
        env=dict(stack.fields["environment"]),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        sys.exit(f"{name} did not answer:\n{done.stderr[-2_000:]}")
    reported: dict[str, list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return reported


def first_answer_table(found: Mapping[str, Any]) -> str:
    rows = found["rows"]
    stages = list(next(iter(rows.values())))
    lines = [
        f"| ms (of them processor time) | {' | '.join(stages)} | until the first answer |",
        "|---" * (len(stages) + 2) + "|",
    ]
    for name, row in rows.items():
        cells = [_shown(times) for times in row.values()]
        cells.append(_shown([sum(row[stage][n] for stage in stages if stage != "second answer") for n in (0, 1)]))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Medians of {found['rounds']} rounds."])


def _shown(times: list[float]) -> str:
    return f"{times[0]:,.0f} ({times[1]:,.0f})"


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    results = measure(options.rounds)
    if options.write:
        stored = records.keep(NAME, results, {"python": python_version()}, quick=options.rounds < ROUNDS)
        if not stored.quick:
            draw("first_answer")
    print(first_answer_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
