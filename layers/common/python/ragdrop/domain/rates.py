"""Request limits a minute of a tenant and its credentials."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ragdrop.errors import InvalidParamsError

WINDOW_S = 60
MAX_PER_MINUTE = 1_000_000
MAX_PER_DAY = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What a tenant may use; None is no limit.

    `per_minute` bounds the requests of all its credentials together, `key_per_minute` those of each one alone;
    `daily_tokens` the tokens of chat models and `daily_documents` the documents written over HTTP, of a day in UTC.
    """

    per_minute: int | None = None
    key_per_minute: int | None = None
    daily_tokens: int | None = None
    daily_documents: int | None = None

    def checked(self) -> RateLimits:
        """These limits, if they may be set.

        Raises:
            InvalidParamsError: A limit is not in 1 to 1,000,000, of a day not in 1 to 10^12.

        >>> RateLimits(600, 60).checked().any
        True
        """
        for name, value in asdict(self).items():
            most = MAX_PER_DAY if name.startswith("daily_") else MAX_PER_MINUTE
            if value is not None and not 1 <= value <= most:
                allowed = f"1 to {most}"
                raise InvalidParamsError(
                    f"{name} {value} is not in {allowed}", field=name, value=value, allowed=allowed
                )
        return self

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return self != NO_RATES

    @property
    def of_a_minute(self) -> bool:
        """Whether there is a limit of requests: without one they are not counted."""
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
