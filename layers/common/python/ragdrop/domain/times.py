"""RFC 3339 times in UTC, and durations."""

import re
from datetime import UTC, datetime
from typing import Literal

from ragdrop.errors import InvalidParamsError


def rfc3339(seconds: float, *, precision: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """*seconds* since 1970 as RFC 3339 in UTC.

    >>> rfc3339(0.25), rfc3339(0.25, precision="milliseconds")
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:00.250Z')
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision).replace("+00:00", "Z")


MAX_DURATION_S = 3_650 * 86_400  # ten years: what is longer is meant to be for ever
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,9})([smhd])", re.ASCII)


def duration_s(text: str) -> int:
    """The seconds of a whole number and its unit: s, m, h or d.

    Raises:
        InvalidParamsError: It is something else, or over ten years.

    >>> duration_s("24h"), duration_s("0s")
    (86400, 0)
    """
    found = _DURATION.fullmatch(text.strip())
    seconds = int(found[1]) * _UNITS_S[found[2]] if found else MAX_DURATION_S + 1
    if seconds > MAX_DURATION_S:
        allowed = "a whole number and s, m, h or d, at most 3650d: 90d, 24h"
        raise InvalidParamsError(f"{text[:80]!r} is no span of time: {allowed}", value=text[:80], allowed=allowed)
    return seconds


def seconds_of(moment: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; 0 for an empty one.

    >>> seconds_of("1970-01-01T00:01:00Z"), seconds_of("")
    (60.0, 0.0)
    """
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0
