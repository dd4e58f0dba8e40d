"""`python -m tests.faults [--write] [--only TEXT]`: run the drill, print its table; 1 on a mismatch."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from localstack.home import REPOSITORY, Progress
from localstack.opensearch import UnavailableError
from localstack.processes import LaunchError
from tests.faults import attaching
from tests.faults.breakers import lines_since
from tests.faults.carriers import CARRIER_FAULTS, carried
from tests.faults.cases import FaultCase, cases, expected
from tests.faults.harness import Harness, harness
from tests.faults.losses import LOSSES, suffered
from tests.faults.round import account, drill, problems, wait_until_well, warm_up
from tests.faults.verifier import VERIFIER_FAULTS, judged

PAGE = REPOSITORY / "docs/operations.md"
MARKS = ("<!-- drill: written by tests/faults -->", "<!-- end of drill -->")
HEAD = ("| fault | expected | seen |", "|---|---|---|")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill; 1 where a fault was not as expected."""
    parser = argparse.ArgumentParser(description="Fail every dependency in every way, and see what callers see.")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(REPOSITORY)}")
    parser.add_argument("--only", default="", help="only faults whose name contains this text")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # then what was started is stopped too
    rows: list[str] = []
    wrong: list[str] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ragdrop-drill-") as folder:
        Path(folder).chmod(0o755)  # a root user's node runs as another one
        try:
            for row, happened in rows_of(Path(folder), options.only):
                print(row, flush=True)
                rows.append(row)
                wrong += happened
        except (LaunchError, UnavailableError) as exc:
            sys.exit(f"the drill could not run: {exc}")
    taken_s = time.monotonic() - begun
    print(*wrong, sep="\n", end="\n" if wrong else "")  # once more, where the end of a long log shows them
    print(f"{len(rows)} faults, {sum(row in wrong for row in rows)} not as expected, {taken_s:.0f} s")
    if options.write:
        write("\n".join([*HEAD, *rows]))
    return 1 if wrong else 0


def rows_of(folder: Path, only: str) -> Iterator[tuple[str, list[str]]]:
    """Each row of the table whose name contains *only*, with what is printed again on a mismatch.

    Raises:
        LaunchError: A part of a stack did not come up.
        UnavailableError: There can be no OpenSearch node here.
    """
    chosen = [case for case in cases() if only in case.name]
    lost = [loss for loss in LOSSES if only in loss.name]
    carrying = [fault for fault in CARRIER_FAULTS if only in fault.name]
    judging = [fault for fault in VERIFIER_FAULTS if only in fault.name]
    if chosen or lost or judging or carrying:
        with harness(folder, Progress()) as made:
            warm_up(made)
            yield from (one_row(made, case) for case in chosen)
            for fault in judging:
                status = judged(made, fault)
                yield checked(fault.name, fault.expected, status, as_expected=status.is_as(fault))
            for broken in carrying:
                carrier = carried(made, broken)
                yield checked(broken.name, broken.expected, carrier, as_expected=carrier.is_as(broken))
            for loss in lost:
                seen = suffered(made, loss)
                yield checked(loss.name, loss.expected, seen, as_expected=seen.is_as(loss))
    if only in attaching.NAME:
        came = attaching.attached(folder, Progress())
        yield checked(attaching.NAME, attaching.EXPECTED, came, as_expected=came == attaching.EXPECTED)


def checked(name: str, expected: str, seen: object, *, as_expected: bool) -> tuple[str, list[str]]:
    """A row of the table, and again where it was not as expected.

    >>> checked("a", "b", "b", as_expected=True)
    ('| a | b | b |', [])
    """
    row = f"| {name} | {expected} | {seen}{'' if as_expected else ': **not as expected**'} |"
    return row, [] if as_expected else [row]


def one_row(made: Harness, case: FaultCase) -> tuple[str, list[str]]:
    """One round as a row of the table; where it was not as expected, all that happened in it, line by line."""
    begun_s = time.time()
    required, seen = expected(case), drill(made, case)
    if case.fault == "slow" and problems(seen, required):  # nothing is down: a busy machine may have taken too long
        wait_until_well(made)  # and the calls that came too late may have opened a breaker
        seen = drill(made, case)
    found = problems(seen, required)
    if not found:
        return f"| {case.name} | {required} | {seen} |", []
    arrivals = {name: made.proxies[name].arrivals for name in case.dependencies}
    happened = account(seen, lines_since(made, begun_s), arrivals, begun_s)
    row = f"| {case.name} | {required} | {seen}: **{'; '.join(found)}** |"
    return row, [row, *happened]


def write(table: str) -> None:
    """Put *table* between the marks of the page."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
