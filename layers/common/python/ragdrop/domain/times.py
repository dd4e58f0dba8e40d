"""Times as callers and records see them: RFC 3339 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal


def rfc3339(seconds: float, *, precision: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """*seconds* since 1970 as RFC 3339 in UTC.

    >>> rfc3339(0.25), rfc3339(0.25, precision="milliseconds")
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:00.250Z')
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision).replace("+00:00", "Z")
