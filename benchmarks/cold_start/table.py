"""The tables of cold starts and sizes, made from what benchmarks/cold_start/run.py found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALONE_BUDGET = 1.15  # import of a handler beside that of its third-party packages alone
IMPORT_GOAL, SIZE_GOAL = 1 / 2, 1 / 3  # beside the lightest framework function of the job
BESIDE = {"search": "answer"}  # the frameworks have no function that only searches
MB = 1_000_000
Found = Mapping[str, Any]


def lightest(found: Found, job: str | None, figure: str) -> float | None:
    """The smallest *figure* of the frameworks' functions for *job*; None where none was measured.

    >>> one, other = ({"ours": False, "job": "answer", "cpu_s": seconds} for seconds in (3.0, 2.0))
    >>> lightest({"functions": {"one": one, "other": other}}, "answer", "cpu_s")
    2.0
    """
    rows = found["functions"].values()
    beside = BESIDE.get(job or "", job)
    return min((row[figure] for row in rows if not row["ours"] and row["job"] == beside), default=None)


def cold_start_table(found: Found) -> str:
    """The three tables as Markdown: import and size, what there is before the first call, the import profile."""
    rows = found["functions"]
    lines = [
        "| function | import, CPU s | with first call's parts | of lightest | packages alone | MB | of lightest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        light_s, light_bytes = (lightest(found, row["job"], figure) for figure in ("ready_cpu_s", "size_bytes"))
        shares = [
            f"{value / light:.2f}" if light and row["ours"] else ""
            for value, light in ((row["ready_cpu_s"], light_s), (row["size_bytes"], light_bytes))
        ]
        alone = f"x {row['alone']:.2f}" if row["ours"] else ""
        size = f"{row['size_bytes'] / MB:.0f}"
        cells = (name, f"{row['cpu_s']:.2f}", f"{row['ready_cpu_s']:.2f}", shares[0], alone, size, shares[1])
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| before the first call | modules | memory, MB | open sockets | modules that the first call adds |",
        "|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        added = row["ready_modules"] - row["modules"]
        lines.append(f"| {name} | {row['modules']} | {row['memory_mb']:.0f} | {row['sockets']:.0f} | {added:.0f} |")
    lines += [
        "",
        f"| dearest imports of `{found['profiled']}` | its own, ms | with what it imports, ms |",
        "|---|---|---|",
    ]
    for each in found["profile"]:
        lines.append(f"| `{each['module']}` | {each['own_us'] / 1e3:.1f} | {each['whole_us'] / 1e3:.1f} |")
    return "\n".join([*lines, "", f"Medians of {found['rounds']} rounds."])


def misses(found: Found) -> list[str]:
    """Which goals and budgets the figures miss."""
    missed = []
    for name, row in found["functions"].items():
        if not row["ours"]:
            continue
        if row["alone"] > ALONE_BUDGET:
            missed.append(f"{name}: import is {row['alone']:.2f} x that of its packages alone, not {ALONE_BUDGET}")
        for figure, goal, what in (("ready_cpu_s", IMPORT_GOAL, "import"), ("size_bytes", SIZE_GOAL, "size")):
            light = lightest(found, row["job"], figure)
            if light and row[figure] > goal * light:
                share = row[figure] / light
                missed.append(f"{name}: {what} is {share:.2f} of the lightest framework function, not {goal:.2f}")
    return missed
