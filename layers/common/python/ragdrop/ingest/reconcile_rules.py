"""Rules of reconciliation: what to do in which state, what is superseded, when to try again. Pure."""

from collections.abc import Mapping
from enum import Enum, auto

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.history import STAGE, WAITING, was_promoted
from ragdrop.domain.keys import NAME_PATTERN
from ragdrop.ports.object_store import StoredObject

SETTLE_S = 70.0  # after a promotion: every environment has read the tenant's item by then, a stale one too
LEASE_S = 1_860  # the queue's visibility timeout; a test compares the template with it
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


class HeadState(Enum):
    """What the registry says of a document."""

    NONE = auto()  # nothing: it is new, or the registry was lost
    DELETED = auto()
    FAILED = auto()
    PENDING = auto()  # claimed by this message, or its lease is over
    LEASED = auto()  # claimed by another message, which is at work
    STAGED = auto()
    PROMOTED = auto()  # staged, and its stage was promoted
    INDEXED = auto()


class ObjectState(Enum):
    """What the bucket holds, next to what the head is of."""

    GONE = auto()
    SAME = auto()  # the versions that the head is of
    OTHER = auto()


class Action(Enum):
    """What makes registry and bucket agree."""

    LEAVE = auto()  # they agree
    REMOVE = auto()  # write the tombstone, remove what can never answer again
    GO_LIVE = auto()  # activate what waits
    CONTINUE = auto()  # from the checkpoint; claim where there is none
    TAKE_OVER = auto()  # from a checkpoint that was handed over; leave where there is none
    CLAIM = auto()  # index the versions in the bucket


# fmt: off
ACTIONS: Mapping[HeadState, Mapping[ObjectState, Action]] = {
    head: dict(zip(ObjectState, actions, strict=True))
    for head, actions in {
        #                    GONE           SAME              OTHER
        HeadState.NONE:     (Action.REMOVE, Action.CLAIM,     Action.CLAIM),
        HeadState.DELETED:  (Action.REMOVE, Action.CLAIM,     Action.CLAIM),
        HeadState.FAILED:   (Action.REMOVE, Action.CLAIM,     Action.CLAIM),
        HeadState.PENDING:  (Action.REMOVE, Action.CONTINUE,  Action.CLAIM),
        HeadState.LEASED:   (Action.REMOVE, Action.TAKE_OVER, Action.CLAIM),
        HeadState.STAGED:   (Action.REMOVE, Action.LEAVE,     Action.CLAIM),
        HeadState.PROMOTED: (Action.REMOVE, Action.GO_LIVE,   Action.GO_LIVE),
        HeadState.INDEXED:  (Action.REMOVE, Action.LEAVE,     Action.CLAIM),
    }.items()
}
# fmt: on
"""The whole of reconciling: state of the head x state of the object -> what to do.

A promoted document goes live first, even where another version is there by now: a claim would take it back to what was
live before.
"""


def head_state(head: Head | None, *, promoted: Mapping[str, float], message_id: str, now_s: float) -> HeadState:
    """The state of *head* for the message *message_id*; *promoted* has the tenant's promoted stages."""
    if head is None:
        return HeadState.NONE
    if was_promoted(head, promoted):
        return HeadState.PROMOTED
    if head.status is Status.PENDING and head.lease_until_s > now_s and head.message_id != message_id:
        return HeadState.LEASED
    return HeadState[head.status.name]


def object_state(head: Head | None, versions: tuple[str, str | None] | None) -> ObjectState:
    """The state of an object and its sidecar with these S3 versions; None where there is no object."""
    if versions is None:
        return ObjectState.GONE
    if head is None:
        return ObjectState.OTHER
    if head.status is Status.INDEXED:
        live = head.live_version_id, head.live_sidecar_version_id
        return ObjectState.SAME if live == versions and head.live_revision == head.revision else ObjectState.OTHER
    return ObjectState.SAME if (head.version_id, head.sidecar_version_id) == versions else ObjectState.OTHER


def stage_of(found: StoredObject, head: Head | None, *, admission: bool) -> str | None:
    """The stage that a version waits in; None where it goes live as soon as it is indexed.

    A version that is live is staged no more: its metadata still names the stage that it came by.  *admission* says
    whether the vault lets nothing in but through stages.
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
