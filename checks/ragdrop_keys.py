"""A detector of detect-secrets for ragdrop's own API keys."""

from __future__ import annotations

import re
from re import Pattern
from typing import ClassVar

from detect_secrets.plugins.base import RegexBasedDetector


class RagdropKeyDetector(RegexBasedDetector):  # type: ignore[misc,unused-ignore]
    """Finds `rd_` and the 43 characters that 32 random bytes become."""

    secret_type = "ragdrop API key"  # noqa: S105 - the name of a kind
    denylist: ClassVar[list[Pattern[str]]] = [re.compile(r"\brd_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")]
