"""How many requests a tenant and each of its credentials may make in a minute."""

from __future__ import annotations

from dataclasses import dataclass

from ragdrop.errors import InvalidParamsError

WINDOW_S = 60
MAX_PER_MINUTE = 1_000_000


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Requests in a minute of all the tenant's credentials together, and of each one alone; None is no limit."""

    per_minute: int | None = None
    key_per_minute: int | None = None

    def checked(self) -> RateLimits:
        """These limits, if they may be set.

        Raises:
            InvalidParamsError: A limit is not in 1 to 1,000,000.

        >>> RateLimits(600, 60).checked().any
        True
        """
        for name in ("per_minute", "key_per_minute"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_PER_MINUTE:
                allowed = f"1 to {MAX_PER_MINUTE}"
                raise InvalidParamsError(
                    f"{name} {value} is not in {allowed}", field=name, value=value, allowed=allowed
                )
        return self

    @property
    def any(self) -> bool:
        """Whether there is a limit at all: without one nothing is counted."""
        return self.per_minute is not None or self.key_per_minute is not None


NO_RATES = RateLimits()


def window_of(now_s: float) -> int:
    """The number of the minute that *now_s* (seconds since 1970) is in.

    >>> window_of(119.9)
    1
    """
    return int(now_s // WINDOW_S)


def window_left_s(now_s: float) -> int:
    """Whole seconds until the next minute begins, 1 to 60.

    >>> window_left_s(61.5), window_left_s(120.0)
    (59, 60)
    """
    return max(1, -int(-(WINDOW_S - now_s % WINDOW_S) // 1))
