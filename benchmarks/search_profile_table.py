"""The table of a question's profile, made from the record of benchmarks/search_profile.py."""

from __future__ import annotations

from benchmarks.records import BenchmarkRecord


def profile_table(record: BenchmarkRecord) -> str:
    """The functions that take most processor time themselves, as shares of the whole.

    >>> row = {"what": "f", "calls": 2.0, "own": 0.25, "with_calls": 0.5}
    >>> machine = {"cores": 2, "memory_gb": 24, "processor": "X"}
    >>> held = {"chunks": 2000, "cpu_ms": 8.0, "dearest": [row]}
    >>> print(profile_table(BenchmarkRecord("search_profile", "", "", machine, {}, held)).splitlines()[-1])
    | `f` | 2.0 | 25 % | 50 % |
    """
    results = record.results
    lines = [
        f"A question over {results['chunks']:,} chunks takes {results['cpu_ms']:.1f} ms of processor time.",
        "",
        "| function | calls a question | itself | with what it calls |",
        "|---|---|---|---|",
    ]
    for each in results["dearest"]:
        what = each["what"].replace("|", "\\|")
        lines.append(
            f"| `{what}` | {each['calls']:.1f} | {each['own']:.0%} | {each['with_calls']:.0%} |".replace("%", " %")
        )
    return "\n".join(lines)
