"""The simulation finds what is planted, and is the same history each time that it is asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.simulation.mutants import GAPS, MUTANTS, Mutant, changed

ROOT = Path(__file__).parents[2]
PLANTED = "a tombstone comes late: a delete answers before it"


def simulate(*options: str, patience_s: float = 300) -> subprocess.CompletedProcess[str]:
    """A process of its own: the simulation has a clock, and chance, for all of it."""
    command = [sys.executable, "-m", "tests.simulation", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=patience_s, check=False)


def test_in_some_universes_every_answer_is_true() -> None:
    done = simulate("--ops", "6000")

    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr


def test_with_slow_and_lost_shards_every_answer_is_true_or_names_what_is_missing() -> None:
    done = simulate("--seed", "63", "--only")

    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr


def test_a_planted_bug_is_found_shrunk_and_repeated_to_the_byte_by_its_seed() -> None:
    found = simulate("--mutant", PLANTED, "--ops", "100000", "--tries", "3")
    assert found.returncode == 1, found.stdout + found.stderr

    seed = found.stdout.partition(":")[0].removeprefix("seed ")
    again = simulate("--mutant", PLANTED, "--seed", seed, "--only", "--tries", "3")

    assert again.stdout == found.stdout


@pytest.mark.parametrize("mutant", [*MUTANTS, *GAPS], ids=lambda mutant: mutant.name)
def test_the_text_of_every_planted_bug_is_in_the_code(mutant: Mutant) -> None:
    spec = find_spec(mutant.module)

    assert spec is not None
    assert spec.origin is not None
    assert changed(Path(spec.origin).read_text("utf-8"), mutant)


@pytest.mark.long
def test_every_planted_bug_is_caught() -> None:
    done = simulate("--mutants", "--ops", "120000", patience_s=1_800)

    assert done.returncode == 0, done.stdout
