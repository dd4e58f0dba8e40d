"""What an operator's machine needs to know of a deployed stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """Where its API and its documents are, and the environment that its functions run with (references, no secrets)."""

    name: str
    api_url: str
    bucket: str
    environment: Mapping[str, str] = field(repr=False)
