"""Rules of reconciliation: when to act, when to leave a key alone, what is superseded. Pure."""

from __future__ import annotations

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.history import STAGE, WAITING
from ragdrop.domain.keys import NAME_PATTERN
from ragdrop.ports import StoredObject

SETTLE_S = 70.0  # after a promotion: every environment has read the tenant's item by then, a stale one too
LEASE_S = 780  # the queue's visibility timeout; the template is held to it by a test
MAX_DELAY_S = 900
MAX_RECEIVES = 5  # then the queue moves the message to the dead-letter queue


def is_older(sequencer: str | None, than: str | None) -> bool:
    """Whether an event's sequencer is older than one already acted on; an event without one is never older.

    Sequencers are hexadecimal; of two with different lengths the shorter is padded with zeros on the right
    (Amazon S3 User Guide, "Event message structure").

    >>> is_older("0055AE", than="0055AE01"), is_older("0056", than="0055FF"), is_older(None, than="00")
    (True, False, False)
    """
    if sequencer is None or than is None:
        return False
    width = max(len(sequencer), len(than))
    return int(sequencer.ljust(width, "0") or "0", 16) < int(than.ljust(width, "0") or "0", 16)


def is_settled(
    head: Head | None, *, version_id: str, sidecar_version_id: str | None, message_id: str, now_s: float
) -> bool:
    """Whether nothing is left to do for these versions: they are live, or another message is at work on them."""
    if head is None:
        return False
    wanted = (version_id, sidecar_version_id)
    if head.status is Status.INDEXED and (head.live_version_id, head.live_sidecar_version_id) == wanted:
        return head.live_revision == head.revision
    if head.status is Status.STAGED:
        return (head.version_id, head.sidecar_version_id) == wanted
    running = head.status is Status.PENDING and head.lease_until_s > now_s and head.message_id != message_id
    return running and (head.version_id, head.sidecar_version_id) == wanted


def stage_of(found: StoredObject, head: Head | None, *, admission: bool) -> str | None:
    """The stage that a version waits in; None where it goes live as soon as it is indexed.

    A version that is live is staged no more: its metadata still names the stage that it came by.

    Args:
        found: The version.
        head: What the registry knows of the document.
        admission: Whether the vault lets nothing in but through stages.
    """
    if head is not None and head.live_version_id == found.version_id:
        return None
    named = found.metadata.get(STAGE)
    if named is None:
        return WAITING if admission else None
    return named if NAME_PATTERN.fullmatch(named) else WAITING


def obsolete_before(head: Head | None) -> int:
    """Chunks of revisions below this can be removed: they will never answer again.  0 where nothing can.

    While a first revision is pending nothing is obsolete; after a tombstone, or a failure that left nothing live,
    all is that was claimed up to it.
    """
    if head is None:
        return 0
    if head.live_revision is not None:
        return head.live_revision
    return head.revision + 1 if head.status in {Status.DELETED, Status.FAILED} else 0


def retry_delay_s(receives: int, *, base_s: int, jitter: float) -> int:
    """Seconds until a failed message is shown again: base x 4^(receives - 1), plus up to 20 %, at most 15 minutes.

    Args:
        receives: How often the message was received, from 1.
        base_s: The first delay in seconds.
        jitter: In [0, 1): the share of the 20 % that is added.

    >>> [retry_delay_s(n, base_s=30, jitter=0.0) for n in (1, 2, 3, 4)]
    [30, 120, 480, 900]
    """
    return min(MAX_DELAY_S, int(base_s * 4.0 ** (max(receives, 1) - 1) * (1 + 0.2 * jitter)))
