"""Time, memory and price of the function `models` by the memory that Lambda gives it, and by threads.

    python -m benchmarks.models_function [--write] [--quick]

The function that its Makefile builds for this interpreter runs under AWS's runtime client.  A control group gives it
the share of a core that Lambda does: one core for each 1,769 MB.  This needs root and Linux.  Each figure is the least
of several, as the machine may serve others.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from platform import python_version
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import records
from localstack.build import compile_modules
from ragdrop.operate.costs import LAMBDA_CALL, LAMBDA_GB_S
from tests.aws.models_function import built, runtime_client, under_the_client
from tests.aws.runtime_api import RuntimeApi

NAME = "models_function"
CORE_MB = 1_769  # of memory for each core, by Lambda's documentation
MEMORIES, THREADS = (1_024, 1_769, 2_560, 3_008), (1, 2)
ARM = 0.8  # of arm64: its price beside that of x86_64
PERIOD_US = 20_000
GROUPS = Path("/sys/fs/cgroup")
STARTS, TRIES, QUICK_TRIES = 3, 6, 2
WORDS = "the pump of this room is old and its valve was made in a small town by the river near our house"
PAIRS, PASSAGES = 10, 32
MILLION, THOUSAND = 1_000_000, 1_000


def text(tokens: int, number: int) -> str:
    """A text of some *tokens*, of common words; another for each *number*.

    >>> text(4, 1)
    '1 pump of this'
    """
    return " ".join([str(number), *islice(cycle(WORDS.split()), number, number + tokens - 1)])


def question(number: int) -> dict[str, Any]:
    return {"path": "/embeddings", "body": {"input": [text(12, number)]}}


def pairs(number: int) -> dict[str, Any]:
    """Ten pairs of 150 tokens, three of them the model's own."""
    passages = (text(135, PAIRS * number + at) for at in range(PAIRS))
    return {"path": "/read", "body": {"pairs": [[text(12, number), passage] for passage in passages]}}


def batch(number: int) -> dict[str, Any]:
    """32 passages of 200 tokens, two of them the model's own."""
    return {"path": "/embeddings", "body": {"input": [text(198, PASSAGES * number + at) for at in range(PASSAGES)]}}


@contextmanager
def share_of(cores: float) -> Iterator[Path]:
    """A control group whose processes have the time of so many *cores* together: where their ids are written."""
    is_old = (GROUPS / "cpu").is_dir()
    group = (GROUPS / "cpu" if is_old else GROUPS) / f"ragdrop-{os.getpid()}"
    group.mkdir()
    try:
        quota = round(cores * PERIOD_US)
        (group / ("cpu.shares" if is_old else "cpu.weight")).write_text("10000")  # it comes before what else runs
        if is_old:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def measure(tries: int) -> dict[str, Any]:
    rows = []
    with TemporaryDirectory(prefix="ragdrop-models-") as name:
        folder = built("native", Path(name, "function"))
        compile_modules(folder)
        client = runtime_client(Path(name))
        for memory_mb in MEMORIES:
            with share_of(min(memory_mb / CORE_MB, os.cpu_count() or 1)) as group:
                enter = ("sh", "-c", f'echo $$ > {group}; exec "$0" "$@"')
                rows += [_row(folder, client, memory_mb, threads, enter, tries) for threads in THREADS]
    return {"rows": rows, "tries": tries}


def _row(
    folder: Path, client: Path, memory_mb: int, threads: int, enter: tuple[str, ...], tries: int
) -> Mapping[str, Any]:
    cpus = f"import os; os.cpu_count = lambda: {threads}; "
    starts: list[float] = []
    figures: dict[str, float] = {}
    for start in range(STARTS if tries == TRIES else 1):
        begun = time.perf_counter()
        with under_the_client(folder, client, before=cpus, command=enter) as (api, pid):
            api.invoke(question(start))
            starts.append(time.perf_counter() - begun)
            figures = figures or _warm(api, tries) | {"peak_mb": _peak_mb(pid)}
    return {"memory_mb": memory_mb, "threads": threads, "cold_s": min(starts), **figures}


def _warm(api: RuntimeApi, tries: int) -> dict[str, float]:
    counts = {question: 3 * tries, pairs: tries, batch: max(1, tries // 3)}
    found = {}
    for event, count in counts.items():
        taken = []
        for number in range(1, count + 1):
            before = time.perf_counter()
            api.invoke(event(number))
            taken.append(time.perf_counter() - before)
        found[f"{event.__name__}_s"] = min(taken)
    return found


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1_024


def usd(row: Mapping[str, Any], seconds: float, calls: float) -> float:
    """What *calls* of so many *seconds* each cost on arm64, with the memory of *row*.

    >>> round(usd({"memory_mb": 1024}, 1.0, 1_000_000), 1)
    13.5
    """
    gb: float = row["memory_mb"] / 1_024
    return calls * (gb * seconds * LAMBDA_GB_S * ARM + LAMBDA_CALL)


def models_function_table(found: Mapping[str, Any]) -> str:
    heads = (
        "memory, MB",
        "cores",
        "threads",
        "cold, until the first vector, s",
        "a question's vector, ms",
        "ten pairs of 150 tokens, ms",
        "32 passages of 200 tokens, s",
        "most memory, MB",
        "a million passages, USD",
        "a thousand questions read, USD",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in found["rows"]:
        cells = [
            f"{row['memory_mb']:,}",
            f"{row['memory_mb'] / CORE_MB:.2f}",
            row["threads"],
            f"{row['cold_s']:.2f}",
            f"{1_000 * row['question_s']:.0f}",
            f"{1_000 * row['pairs_s']:.0f}",
            f"{row['batch_s']:.2f}",
            f"{row['peak_mb']:.0f}",
            f"{usd(row, row['batch_s'], MILLION / PASSAGES):.2f}",
            f"{usd(row, row['question_s'], THOUSAND) + usd(row, row['pairs_s'], THOUSAND):.3f}",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", f"The least of {found['tries']} each; prices of arm64."])


def main() -> int:
    options = records.parser(__doc__, quick=f"{QUICK_TRIES} tries instead of {TRIES}").parse_args()
    results = measure(QUICK_TRIES if options.quick else TRIES)
    if options.write:
        records.keep(NAME, results, {"python": python_version()}, quick=options.quick)
    print(models_function_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
