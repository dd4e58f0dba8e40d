"""One seeded scheduler: at every call of a port it picks who runs next, and what goes wrong.

Each invocation of a function is an actor in a thread of its own, of which exactly one runs: the baton is handed on
where a port is called, and nowhere else.  So a list of choices is a whole history, and the same list is the same
history to the last byte.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from threading import Semaphore, Thread
from typing import Any

from tests.simulation.process import CLOCK

CALL_S = 0.005  # what a call of a port takes
PLAIN = {"is_bulk", "drops_superseded", "merge_is_due", "damaged"}  # methods of ports that ask nobody
MAX_TRACE = 4_000  # lines of a trace that are stored


Broken = Callable[[str, bool], Exception]
"""The error of a call that failed: its label, and whether it took effect."""


class Crash(BaseException):
    """The environment is gone: nothing catches this, nothing cleans up."""


class Choices:
    """Numbers from 0 that a seed gives and a list repeats.  Behind the end of the list every choice is 0.

    0 is always the plainest: go on, nothing fails, the first of several.
    """

    def __init__(self, seed: int, replayed: Sequence[int] | None = None) -> None:
        self._random = random.Random(seed)
        self._replayed = replayed
        self.made: list[int] = []

    @property
    def are_over(self) -> bool:
        """Whether a replay has come to the end of its list."""
        return self._replayed is not None and len(self.made) >= len(self._replayed)

    def pick(self, count: int) -> int:
        """One of 0 to *count* - 1."""
        return self._chosen(count, lambda: self._random.randrange(count))

    def among(self, shares: Sequence[float]) -> int:
        """0 where nothing happens, else the place, from 1, of what happens in one of these *shares* of all cases.

        A replay chooses nothing that never happens in this universe.
        """
        return self._chosen(
            len(shares) + 1, lambda: self._by_share(shares), lambda place: not place or shares[place - 1] > 0.0
        )

    def chance(self, share: float) -> bool:
        """Whether something happens that happens in *share* of all cases."""
        return bool(self.among((share,)))

    def _by_share(self, shares: Sequence[float]) -> int:
        drawn = self._random.random()
        for place, share in enumerate(shares, 1):
            if drawn < share:
                return place
            drawn -= share
        return 0

    def _chosen(self, count: int, new: Callable[[], int], may_be: Callable[[int], bool] = lambda _place: True) -> int:
        value = new() if self._replayed is None else 0 if self.are_over else self._replayed[len(self.made)] % count
        value = value if may_be(value) else 0
        self.made.append(value)
        return value


class Outcome(IntEnum):
    """What becomes of one call of a port."""

    DONE = 0
    SWITCH = 1  # others run before it
    SLOW = 2
    ERROR_BEFORE = 3
    ERROR_AFTER = 4  # it took effect, and the caller reads that it failed
    CRASH_BEFORE = 5
    CRASH_AFTER = 6


@dataclass(frozen=True, slots=True)
class Weather:
    """How much goes wrong in one universe; each a share of the calls of ports, but for events: of those sent."""

    switch: float = 0.3
    error: float = 0.0
    crash: float = 0.0
    slow: float = 0.02
    slow_s: float = 0.3  # during which others make sixty calls
    lost_event: float = 0.0
    second_event: float = 0.1

    @property
    def shares(self) -> tuple[float, ...]:
        """Of the outcomes of a call, from SWITCH on."""
        half, crash = self.error / 2, self.crash / 2
        return (self.switch, self.slow, half, half, crash, crash)


class Actor:
    """One invocation of a function in an environment.  `ends_s` is when Lambda would cut it off."""

    def __init__(self, name: str, environment: Any, work: Callable[[], None], ends_s: float) -> None:
        self.name, self.environment, self.ends_s = name, environment, ends_s
        self.turn, self.wakes_s = Semaphore(0), 0.0
        self.is_over = self.is_dead = False
        self.failure: BaseException | None = None
        self._work = work

    def run(self, back: Semaphore) -> None:
        """The thread's body."""
        self.turn.acquire()
        try:
            if not self.is_dead:
                self._work()
        except BaseException as exc:  # noqa: BLE001 - the scheduler raises it where it can be seen
            if not self.is_dead:  # a crash may come in a group of a task group's
                self.failure = exc
        self.is_over = True
        back.release()


class Scheduler:
    """Runs actors one at a time.  `operations` counts calls of ports, and steps of users by what the universe adds."""

    def __init__(self, choices: Choices, weather: Weather) -> None:
        self.choices, self.weather = choices, weather
        self.operations = 0
        self.actors: list[Actor] = []
        self.current: Actor | None = None
        self.is_calm = False  # at the end: what runs continues undisturbed
        self.trace: list[str] = []
        self._back = Semaphore(0)
        CLOCK.sleep = self.sleep

    def note(self, line: str) -> None:
        """Write a line of the history."""
        if len(self.trace) < MAX_TRACE:
            self.trace.append(f"{CLOCK.now_s - 1_800_000_000:10.3f} {line}")

    def start(self, name: str, environment: Any, work: Callable[[], None], *, limit_s: float) -> Actor:
        """A new actor, which runs when it is picked."""
        actor = Actor(name, environment, work, CLOCK.now_s + limit_s)
        self.actors.append(actor)
        Thread(target=actor.run, args=(self._back,), daemon=True).start()
        return actor

    def resume(self, actor: Actor) -> None:
        """Let an actor run until it gives the baton back or ends."""
        self.current = actor
        actor.turn.release()
        self._back.acquire()
        self.current = None
        if actor.is_over:
            self.actors.remove(actor)
            if actor.failure is not None:
                raise actor.failure

    def kill(self, actor: Actor) -> None:
        """End an actor where it stands, with its environment."""
        actor.is_dead = True
        self.note(f"{actor.name} dies")
        self.resume(actor)

    def ready(self) -> list[Actor]:
        """The actors that do not sleep."""
        return [actor for actor in self.actors if actor.wakes_s <= CLOCK.now_s]

    def call(self, label: str, make: Callable[[], Any], broken: Broken | None) -> Any:
        """One call of a port, for the current actor; outside of any it is made at once."""
        actor = self.current
        if actor is None:
            return make()
        if actor.is_dead:
            raise Crash
        self.operations += 1
        CLOCK.advance(CALL_S)
        if self.is_calm:
            return make()
        outcome = Outcome(self.choices.among(self.weather.shares))
        if outcome in {Outcome.SWITCH, Outcome.SLOW}:
            actor.wakes_s = CLOCK.now_s + (self.weather.slow_s if outcome is Outcome.SLOW else 0.0)
            self._give_back(actor)
        if actor.ends_s <= CLOCK.now_s or outcome is Outcome.CRASH_BEFORE:
            self._die(actor, f"before {label}")
        if outcome is Outcome.ERROR_BEFORE and broken is not None:
            self.note(f"{actor.name} {label} fails")
            raise broken(label, False)
        result = make()
        self.note(f"{actor.name} {label}")
        if outcome is Outcome.CRASH_AFTER:
            self._die(actor, f"after {label}")
        if outcome is Outcome.ERROR_AFTER and broken is not None:
            self.note(f"{actor.name} {label} took effect, and seems to fail")
            raise broken(label, True)
        return result

    def _die(self, actor: Actor, where: str) -> None:
        self.note(f"{actor.name} dies {where}")
        actor.is_dead = True
        raise Crash

    def sleep(self, seconds: float) -> None:
        """Let the current actor wait, and others run."""
        actor = self.current
        if actor is None or self.is_calm:
            CLOCK.advance(seconds)
            return
        actor.wakes_s = CLOCK.now_s + seconds
        self._give_back(actor)

    def _give_back(self, actor: Actor) -> None:
        self._back.release()
        actor.turn.acquire()
        if actor.is_dead:
            raise Crash


class Simulated:
    """A port of which every call is the scheduler's."""

    def __init__(self, name: str, port: Any, scheduler: Scheduler, broken: Broken | None = None) -> None:
        self._name, self._port, self._scheduler, self._broken = name, port, scheduler, broken

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found) or name in PLAIN:
            return found
        label, scheduler, broken = f"{self._name}.{name}", self._scheduler, self._broken
        made: Any = lambda *args, **named: scheduler.call(label, lambda: found(*args, **named), broken)  # noqa: E731
        self.__dict__[name] = made
        return made
