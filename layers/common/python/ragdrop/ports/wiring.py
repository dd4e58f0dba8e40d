"""How changes come from the bucket to ingest."""

from __future__ import annotations

from typing import Protocol

from ragdrop.domain.verdicts import Wiring


class WiringProbe(Protocol):
    """Looks at bucket and queues; changes nothing."""

    def look(self) -> Wiring:
        """How they are wired.

        Raises:
            DependencyError: S3 or SQS did not answer, or does not let one look.
            ConfigurationError: The bucket or the queue does not exist.
        """
        ...
