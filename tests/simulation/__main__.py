"""`python -m tests.simulation`: run universes until enough was simulated; shrink what fails; catch planted bugs."""

from __future__ import annotations

from tests.simulation.process import same_hashes, take_over

same_hashes()
import time  # noqa: E402

real = time.perf_counter
take_over()

import argparse  # noqa: E402
import logging  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402

from tests.simulation.mutants import MUTANTS, plant  # noqa: E402

FEW = 10_000  # operations that one process simulates as fast
AGAIN = [sys.executable, "-m", "tests.simulation"]


def main() -> int:
    """Run; 1 where a universe failed, or a mutant was not caught."""
    parser = argparse.ArgumentParser(prog="simulate")
    parser.add_argument("--seed", type=int, default=0, help="of the first universe; the others are counted from it")
    parser.add_argument("--ops", type=int, default=20_000, help="operations: calls of ports and steps of users")
    parser.add_argument("--stride", type=int, default=1, help="from seed to seed")
    parser.add_argument("--only", action="store_true", help="the one universe of this seed")
    parser.add_argument("--tries", type=int, default=2_000, help="universes for the shortest list of choices")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--mutant", help="plant this bug first")
    parser.add_argument("--mutants", action="store_true", help="catch each planted bug within --ops")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if given.mutants:
        return catch(given.ops)
    if given.processes > 1 and given.ops >= FEW:
        return beside(given)
    if given.mutant:
        plant(given.mutant)
    return simulate(given.seed, 1 if given.only else given.ops, given.tries, given.stride)


def simulate(seed: int, operations: int, tries: int, stride: int) -> int:
    """Run universes from *seed* on until *operations* are simulated, or one fails."""
    from tests.simulation.functions import Functions
    from tests.simulation.shrink import failure_of, shortest

    functions, done, universes, begun = Functions(), 0, 0, real()
    while done < operations:
        failure, universe = failure_of(seed, functions)
        done += universe.scheduler.operations
        if failure is not None:
            print(f"seed {seed}: {failure}")
            rests, choices = universe.scheduler.is_calm, universe.choices.made
            choices = shortest(seed, functions, choices, failure, rests=rests, tries=tries)
            failure, universe = failure_of(seed, functions, choices)
            print("\n".join(universe.scheduler.trace))
            print(f"{len(choices)} choices, {sum(map(bool, choices))} of them not the plainest: {choices}")
            print(f"seed {seed}: {failure}")
            print(f"{done} operations, {real() - begun:.1f} s", file=sys.stderr)
            return 1
        seed, universes = seed + stride, universes + 1
    took = real() - begun
    print(f"{done} operations in {universes} universes, {took:.1f} s, {done / took * 60:.0f} a minute")
    return 0


def beside(given: argparse.Namespace) -> int:
    """The same in several processes, each with seeds of its own."""
    share = [*AGAIN, "--ops", str(given.ops // given.processes), "--tries", str(given.tries)]
    running = [
        subprocess.Popen([*share, "--seed", str(given.seed + 1_000_000 * number)]) for number in range(given.processes)
    ]
    return max(each.wait() for each in running)


def catch(operations: int) -> int:
    """Plant each mutant in a process of its own; 1 if *operations* do not catch it."""
    missed = 0
    for mutant in MUTANTS:
        begun_s = children_s()
        those = [] if mutant.first is None else ["--seed", str(mutant.first), "--stride", "16"]
        found = subprocess.run(
            [*AGAIN, "--mutant", mutant.name, "--ops", str(operations), "--tries", "0", *those],
            capture_output=True,
            text=True,
            check=False,
        )
        caught = found.stdout.rpartition("\nseed ")[2].strip() if found.returncode == 1 else found.stderr[-200:]
        is_caught = found.returncode == 1 and bool(caught)
        missed += not is_caught
        verdict = f"seed {caught}" if is_caught else f"NOT CAUGHT {caught}"
        print(f"{children_s() - begun_s:5.1f} s  {mutant.name}: {verdict}"[:240], flush=True)
    print(f"{len(MUTANTS) - missed} of {len(MUTANTS)} planted bugs were caught")
    return 1 if missed else 0


def children_s() -> float:
    """Seconds of a core that ended children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
