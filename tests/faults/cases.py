"""Faults, and the expected outcome of each (docs/operations.md). Pure: the table is tested without injecting faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from tests.faults.proxy import Fault

DEPENDENCIES = ("index", "embedding", "chat", "dynamodb", "s3")
FAULTS: tuple[Fault, ...] = ("refuse", "hang", "slow", "429", "500", "garbage")
OUTAGES = frozenset({"refuse", "hang", "429", "500"})  # what opens a breaker
UNAVAILABLE = frozenset({503, 504})


@dataclass(frozen=True)
class FaultCase:
    """A fault, and the dependencies that it is set on."""

    fault: Fault
    dependencies: tuple[str, ...]

    @property
    def name(self) -> str:
        """As the table shows it.

        >>> FaultCase("refuse", ("index", "s3")).name
        'index and s3: refuse'
        """
        return f"{' and '.join(self.dependencies)}: {self.fault}"


@dataclass(frozen=True)
class Expected:
    """What callers should see.

    Args:
        first: Levels that searches may have until breakers are open.
        then: The level from then on.
        breaker: Whether searches then say that a breaker is open.
        ask: Statuses that `/ask` may have.
    """

    first: frozenset[int]
    then: int
    breaker: bool
    ask: frozenset[int]

    def __str__(self) -> str:
        """As the table shows it.

        >>> str(Expected(frozenset({3, 4}), 4, breaker=True, ask=frozenset({503})))
        'level 3/4, then 4, breaker open; ask 503'
        """
        first, ask = ("/".join(map(str, sorted(each))) for each in (self.first, self.ask))
        breaker = ", breaker open" if self.breaker else ""
        levels = f"level {first}" if self.first == {self.then} else f"level {first}, then {self.then}"
        return f"{levels}{breaker}; ask {ask}"


def opens_for_searches(case: FaultCase) -> str | None:
    """The dependency whose open breaker decides what searches get; None where they meet no outage.

    >>> opens_for_searches(FaultCase("hang", ("index", "dynamodb")))
    'registry'
    """
    return _first_of(case, {"dynamodb": "registry", "index": "index", "embedding": "embedding"})


def opens_for_questions(case: FaultCase) -> str | None:
    """The same for questions; what only makes their sources fewer, another breaker has decided before.

    >>> [opens_for_questions(FaultCase("500", (name,))) for name in ("chat", "index")]
    ['chat', None]
    """
    return _first_of(case, {"dynamodb": "registry", "chat": "chat"})


def _first_of(case: FaultCase, breakers: Mapping[str, str]) -> str | None:
    if case.fault not in OUTAGES:
        return None
    return next((breaker for name, breaker in breakers.items() if name in case.dependencies), None)


def cases() -> Iterator[FaultCase]:
    """Each dependency alone with each fault, then every pair cut off.

    >>> len(list(cases()))
    40
    """
    for dependency in DEPENDENCIES:
        yield from (FaultCase(fault, (dependency,)) for fault in FAULTS)
    yield from (FaultCase("refuse", pair) for pair in combinations(DEPENDENCIES, 2))


def expected(case: FaultCase) -> Expected:
    """What *case* should lead to on OpenSearch, with local copies of the bucket index that answers in its place.

    >>> str(expected(FaultCase("slow", ("index",))))
    'level 1; ask 200'
    """
    down = set() if case.fault == "slow" else set(case.dependencies)
    opens = case.fault in OUTAGES
    answers = UNAVAILABLE if "chat" in down else frozenset({200})
    if "dynamodb" in down:  # no hit can be verified
        first, then = (frozenset({3, 4}), 4) if opens else (frozenset({3}), 3)
        return Expected(first, then, breaker=opens, ask=UNAVAILABLE)
    if down & {"index", "embedding"}:
        return Expected(frozenset({2}), 2, breaker=opens, ask=answers)
    return Expected(frozenset({1}), 1, breaker=False, ask=answers)
