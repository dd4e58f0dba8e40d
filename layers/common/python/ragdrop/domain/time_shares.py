"""What each stage of a question may take of the time left: one that hangs leaves enough for what comes instead.

Of the 28.5 s that a request has, the question's vector takes at most 5.7 and the candidates 5.7 of what is then left.
Should both hang, there are 17 s for a snapshot, the registry and the reply, or for the chat model.  The registry's own
client gives up after about 4 s (adapters/aws.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from ragdrop.domain.deadlines import Deadline


@dataclass(frozen=True, slots=True)
class TimeShare:
    """One of *parts* equal parts of the time left, at most *cap_s* seconds: a streamed answer has minutes."""

    parts: int
    cap_s: float

    def of(self, deadline: Deadline) -> Deadline:
        """When the stage must have ended.

        >>> TimeShare(5, 8.0).of(Deadline.after(20.0, clock=lambda: 100.0)).remaining_s()
        4.0
        """
        return deadline.share(self.parts).within(self.cap_s)


CONDENSE = TimeShare(4, 8.0)  # without it: the conversation's last words
FOLDERS = TimeShare(2, 15.0)  # without it: all folders alike
EMBED = TimeShare(5, 8.0)  # without it: words alone
CANDIDATES = TimeShare(4, 8.0)  # without them: the snapshot
SNAPSHOT = TimeShare(2, 15.0)  # to fetch it; what is missing then comes with the next request
RERANK = TimeShare(4, 8.0)  # without it: the order that there is
TEXTS = TimeShare(4, 8.0)  # without them: the snapshot
LINKS = TimeShare(4, 8.0)  # without them: an answer without links
