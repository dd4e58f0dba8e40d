"""What every registry does alike: which fields of a head each step changes, and the cursor of a listing.

Each function of a step gives the fields of `Head` that change; None means that the field is emptied.  Other fields keep
what the registry holds at that moment, also if it changed since the caller looked.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.documents import Detail, Failure, Head, Status
from ragdrop.errors import InvalidParamsError, InvalidSettingsError
from ragdrop.ports.registry import Claim

Changes = dict[str, Any]

MAX_TITLE_CHARS = 200  # a head is read for every hit: it stays under 1 KB
MAX_ERROR_CHARS = 200
MAX_PROBLEMS_CHARS = 4_000  # of a settings file, which no query reads: every problem is stored
_WITHDRAWN: Changes = {
    "live_revision": None,
    "live_version_id": None,
    "live_sidecar_version_id": None,
    "title": None,  # words of a document that must not answer any more
    "doc_type": None,
    "promotion_level": "standard",
    "chunk_count": 0,
}


def claimed(seen: Head | None, claim: Claim) -> Changes:
    """The next revision is taken; the live one continues to answer.

    The first revision is milliseconds since 1970: a document whose head was lost never uses a number twice.

    >>> claimed(None, Claim("v1", None, "m1", 60.0, None, now_s=1.5))["revision"]
    1500
    """
    changes: Changes = {
        "status": Status.PENDING,
        "revision": int(claim.now_s * 1000) if seen is None else seen.revision + 1,
        "version_id": claim.version_id,
        "sidecar_version_id": claim.sidecar_version_id,
        "etag": claim.etag,
        "sidecar_etag": claim.sidecar_etag,
        "message_id": claim.message_id,
        "lease_until_s": claim.lease_until_s,
        "stage": claim.stage,
        "tag": claim.tag,
        "error": None,
        "updated_at": rfc3339(claim.now_s, precision="milliseconds"),
    }
    if seen is None:
        changes["created_at"] = rfc3339(claim.now_s, precision="milliseconds")
    return _with_sequencer(changes, claim.sequencer)


def activated(detail: Detail, now_s: float) -> Changes:
    """The revision answers.  The live S3 versions are those of the claim: `live_versions`."""
    return {
        "status": Status.INDEXED,
        "stage": None,
        "live_revision": detail.revision,
        "title": detail.facts.title[:MAX_TITLE_CHARS],
        "doc_type": detail.facts.doc_type,
        "promotion_level": detail.facts.promotion_level,
        "chunk_count": detail.chunk_count,
        "access": detail.facts.access,
        "lease_until_s": 0.0,
        "error": None,
        "updated_at": rfc3339(now_s, precision="milliseconds"),
    }


def staged(before: Head, detail: Detail, now_s: float) -> Changes:
    """The revision waits in its stage; what is live stays so, and without that what waits says who may know of it."""
    changes: Changes = {
        "status": Status.STAGED,
        "stage": detail.stage,
        "lease_until_s": 0.0,
        "error": None,
        "updated_at": rfc3339(now_s, precision="milliseconds"),
    }
    return changes if before.live_revision is not None else changes | {"access": detail.facts.access}


def live_versions(before: Head) -> Changes:
    """The live S3 versions after an activation: those that the head's last claim is for, with their tag."""
    return {
        "live_version_id": before.version_id,
        "live_sidecar_version_id": before.sidecar_version_id,
        "live_tag": before.tag,
    }


def retagged(seen: Head, version_id: str, tag: str) -> Changes:
    """The tag of an S3 version counts for whatever the head is of it."""
    of = {"tag": seen.version_id, "live_tag": seen.live_version_id}
    return {name: tag for name, version in of.items() if version == version_id}


def failed(failure: Failure, *, keep_live: bool) -> Changes:
    """The revision failed for good.

    >>> failed(Failure("TIMEOUT", "too slow", 1, "2026-01-01T00:00:00Z"), keep_live=True)["status"].value
    'failed'
    """
    longest = MAX_PROBLEMS_CHARS if failure.code == InvalidSettingsError.code else MAX_ERROR_CHARS
    changes: Changes = {
        "status": Status.FAILED,
        "stage": None,
        "lease_until_s": 0.0,
        "error": replace(failure, message=failure.message[:longest]),
        "updated_at": failure.at,
    }
    return changes if keep_live else changes | _WITHDRAWN


def tombstoned(seen: Head, sequencer: str | None, now_s: float) -> Changes:
    """The next revision is taken as deleted: a revision still running loses its activation, nothing answers."""
    changes: Changes = {
        "status": Status.DELETED,
        "revision": seen.revision + 1,
        "version_id": None,
        "sidecar_version_id": None,
        "etag": None,
        "sidecar_etag": None,
        "message_id": None,
        "lease_until_s": 0.0,
        "stage": None,
        "error": None,
        "updated_at": rfc3339(now_s, precision="milliseconds"),
    }
    return _with_sequencer(changes | _WITHDRAWN, sequencer)


def taken_by(head: Head, changes: Changes) -> bool:
    """Whether *head* is what a claim or tombstone with these changes left.

    The SDK repeats a write whose answer was lost, and the second one finds the first in its way: that is no loss.  The
    lease and the time of one attempt are like no other's.
    """
    names = ("revision", "status", "version_id", "message_id", "lease_until_s", "updated_at")
    return all(getattr(head, name) == changes[name] for name in names)


def finished_as(head: Head, revision: int, changes: Changes) -> bool:
    """Whether *head* shows that *revision* is already activated or failed, so that a repeated write changes nothing.

    What the head was before is not known then; the one that was found stands for it.
    """
    if "live_revision" in changes and head.live_revision == revision == changes["live_revision"]:
        return True
    return head.revision == revision and head.status == changes["status"]


def waits_as(head: Head, detail: Detail) -> bool:
    """Whether *head* shows that the revision of *detail* waits in its stage already."""
    return (head.revision, head.status, head.stage) == (detail.revision, Status.STAGED, detail.stage)


def _with_sequencer(changes: Changes, sequencer: str | None) -> Changes:
    # an event without a sequencer does not make older events acceptable again
    return changes if sequencer is None else changes | {"sequencer": sequencer}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a listing asks for; a cursor fits one listing only."""

    tenant: str
    vault: str | None
    prefix: str
    status: Status | None

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses that are listed: the one asked for, else all but the deleted."""
        return (self.status,) if self.status else (Status.PENDING, Status.STAGED, Status.INDEXED, Status.FAILED)

    def admits(self, vault: str, path: str) -> bool:
        """Whether a document of that vault and path is listed, whatever its status.

        >>> Listing("acme", None, "notes/", None).admits("team", "notes/a.md")
        True
        """
        return self.vault in {None, vault} and path.startswith(self.prefix)

    def cursor_after(self, vault_path: str) -> str:
        """The cursor of the page that starts behind *vault_path*.

        >>> listing = Listing("acme", None, "", None)
        >>> listing.position(listing.cursor_after("team/a.md"))
        'team/a.md'
        """
        text = json.dumps({"after": vault_path, "of": self._fingerprint()}, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def position(self, cursor: str | None) -> str:
        """The vault and path behind which the page starts; empty for the first page.

        Raises InvalidParamsError: the cursor was not given out, or for another listing.
        """
        if cursor is None:
            return ""
        try:
            content = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
            after, of = content["after"], content["of"]
        except (binascii.Error, ValueError, TypeError, KeyError) as exc:
            raise _not_ours(cursor) from exc
        if of != self._fingerprint() or not isinstance(after, str) or not after:
            raise _not_ours(cursor)
        return after

    def _fingerprint(self) -> str:
        parts = json.dumps([self.tenant, self.vault, self.prefix, self.status])
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _not_ours(cursor: str) -> InvalidParamsError:
    return InvalidParamsError(
        "the cursor was not given out for this listing",
        field="cursor",
        value=cursor[:80],
        allowed="the cursor of the page before, with the same filters",
    )
