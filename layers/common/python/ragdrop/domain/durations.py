"""Spans of time as people write them: `90d`, `24h`, `30m`, `45s`."""

from __future__ import annotations

import re

from ragdrop.errors import InvalidParamsError

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
