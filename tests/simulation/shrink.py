"""Run one universe, and find the shortest list of choices that fails in the same way."""

from __future__ import annotations

from tests.simulation.functions import Functions
from tests.simulation.history import History, history
from tests.simulation.model import Violation


def failure_of(
    seed: int, functions: Functions, choices: list[int] | None = None, *, rests: bool = True
) -> tuple[str | None, History]:
    """What is wrong with the universe of *seed*, None where nothing is, and the universe; it *rests* at its end."""
    with history(seed, functions, choices) as made:
        try:
            made.live()
            if rests:
                made.rest()
        except Violation as exc:
            return str(exc), made
    return None, made


def shortest(
    seed: int, functions: Functions, choices: list[int], failure: str, *, rests: bool, tries: int
) -> list[int]:
    """Leave out and lower what can be, until nothing can or there were *tries*; the kind of the failure stays.

    *rests* says whether it failed in its rest; one that did not is never given one.
    """
    left, kind = tries, failure.partition(" ")[0]

    def fails(tried: list[int]) -> bool:
        nonlocal left
        left -= 1
        found, _ = failure_of(seed, functions, tried, rests=rests)
        return found is not None and found.partition(" ")[0] == kind

    best = list(choices)
    for change in (zeroed, left_out, zeroed, left_out):
        size = max(1, len(best) // 2)
        while size and left > 0:
            at = 0
            while at < len(best) and left > 0:
                tried = change(best, at, size)
                if tried is not None and fails(tried):
                    best = tried
                    at += size if change is zeroed else 0
                else:
                    at += size
            size //= 2
    while best and not best[-1] and left > 0 and fails(best[:-1]):
        best.pop()
    return best


def zeroed(choices: list[int], at: int, size: int) -> list[int] | None:
    """*choices* with the plainest ones in a part; None where they are so already."""
    return [*choices[:at], *[0] * size, *choices[at + size :]] if any(choices[at : at + size]) else None


def left_out(choices: list[int], at: int, size: int) -> list[int]:
    """*choices* without a part."""
    return choices[:at] + choices[at + size :]
