"""The registry: heads, details, tenants, keys and pointers; and what credentials say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ragdrop.domain.access import is_group
from ragdrop.domain.documents import Detail, Failure, Head, Status
from ragdrop.domain.golden import GoldenRun
from ragdrop.domain.history import LiveChange
from ragdrop.domain.keys import NAME_PATTERN, DocumentKey
from ragdrop.domain.models import Calibration
from ragdrop.domain.tenants import ROLES, ActiveIndex, ApiKey, Caller, RateLimits, StoredSettings, Tenant
from ragdrop.errors import DocumentTimeoutError, UnauthenticatedError
from ragdrop.ports.search_services import SearchableRegistry

# Asymmetric ones alone: with `none` anybody, with HS256 whoever knows the public key could make a token.
ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
CLOCK_SKEW_S = 60
MAX_TOKEN_CHARACTERS = 8_192
MAX_VAULTS = 100
REFUSED = "the token is not valid here"  # and not why: that would help whoever makes tokens up
MAX_FOLDERS = 1_000  # of a tenant: the item then has at most 300 KB of the 400 that DynamoDB allows


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Who makes tokens, for whom, where the issuer's public keys (JWKS) are, and which claims say what."""

    issuer: str
    audience: str
    jwks_url: str
    tenant_claim: str = "tenant"
    role_claim: str = "role"
    vaults_claim: str = "vaults"
    groups_claim: str = "groups"


def looks_like_token(secret: str) -> bool:
    """Whether a credential is a signed token: three parts; a ragdrop key has no dot.

    >>> looks_like_token("rd_Ab-_9"), looks_like_token("e30.e30.c2ln")
    (False, True)
    """
    return secret.count(".") == 2


def caller_of(claims: Mapping[str, Any], rules: TokenRules) -> Caller:
    """Who the claims of a token that was verified speak for.

    Without a role claim it is a reader; without a vaults claim it sees every vault; without a groups claim it has none.
    Vaults and groups are a list, or words with spaces between them.  No token is a delegate's.  A group of a name that
    no rule can have is passed over.

    Raises:
        UnauthenticatedError: A claim is not what it should be.  A wrong one never widens what is allowed.

    >>> caller_of({"tenant": "acme", "vaults": "team ops"}, TokenRules("i", "a", "u")).vaults
    ('team', 'ops')
    """
    tenant = claims.get(rules.tenant_claim)
    role = claims.get(rules.role_claim, "reader")
    if not isinstance(tenant, str) or not NAME_PATTERN.fullmatch(tenant) or role not in ROLES or role == "delegate":
        raise UnauthenticatedError(REFUSED)
    subject = hashlib.sha256(str(claims.get("sub", "")).encode("utf-8", "replace")).hexdigest()[:12]
    vaults, groups = _vaults(claims, rules.vaults_claim), _groups(claims, rules.groups_claim)
    return Caller(tenant, role, vaults, credential=f"jwt-{subject}", groups=groups)


def _groups(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = claims.get(name, [])
    groups = given.split() if isinstance(given, str) else given
    if not isinstance(groups, list):
        raise UnauthenticatedError(REFUSED)
    return tuple(sorted({group for group in groups if is_group(group)}))


def _vaults(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    if name not in claims:
        return ()
    given = claims[name]
    vaults = given.split() if isinstance(given, str) else given
    if (
        not isinstance(vaults, list)
        or not 1 <= len(vaults) <= MAX_VAULTS
        or not all(isinstance(vault, str) and NAME_PATTERN.fullmatch(vault) for vault in vaults)
    ):
        raise UnauthenticatedError(REFUSED)
    return tuple(vaults)


class TokenVerifier(Protocol):
    """Believes only what the issuer signed."""

    def caller(self, token: str) -> Caller:
        """Who a token speaks for.

        Raises:
            UnauthenticatedError: It is not the issuer's, not for this audience, expired, or its claims are wrong.
            IssuerError: The issuer's keys could not be read.
        """


class RequestCounts(Protocol):
    """Counters that may be lost: then a little more is let through."""

    def add_requests(self, tenant: str, window: int, counts: Mapping[str, int]) -> dict[str, int]:
        """Add to the counts of a minute (`limits.window_of`), by credential, in one write; all that it holds then.

        Raises DatabaseError, and is quick to.
        """


@dataclass(frozen=True, slots=True)
class HopLimits:
    """How many invocations a document may take, and how many in a row that finish no part of it."""

    hops: int = 500
    idle_hops: int = 3


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the next worker continues."""

    parts: int  # how many parts the text has
    part: int = 0  # the next one to be written, from 0; equal to `parts` when all are
    hop: int = 0  # invocations so far
    idle_hops: int = 0  # those in a row, the current one included, in which no part was finished
    worker: str = ""  # who holds it: a message and how often it was received
    chunks: Mapping[str, int] = field(default_factory=dict)  # chunks written so far, by index
    embedded: int = 0  # those whose vectors were computed

    @property
    def position(self) -> str:
        """What a move is conditional on: it differs from that of every other worker and part.

        >>> Checkpoint(4, 2, 7, worker="m:1").position
        '2/7/m:1'
        """
        return f"{self.part}/{self.hop}/{self.worker}"

    def taken_by(self, worker: str, limits: HopLimits) -> Checkpoint:
        """The same for the next invocation.

        Raises:
            DocumentTimeoutError: There were too many.

        >>> Checkpoint(4, 2, 7, 0).taken_by("m:2", HopLimits()).idle_hops
        1
        """
        if self.hop >= limits.hops:
            message = f"it is not done after {self.hop} invocations: {self.part} of {self.parts} parts are"
            raise DocumentTimeoutError(message, limit=limits.hops)
        if self.idle_hops >= limits.idle_hops:
            message = f"part {self.part + 1} of {self.parts} was not done in {self.idle_hops} invocations"
            raise DocumentTimeoutError(message, limit=limits.idle_hops)
        return replace(self, hop=self.hop + 1, idle_hops=self.idle_hops + 1, worker=worker)

    def moved(self, written: Mapping[str, int], embedded: int = 0) -> Checkpoint:
        """One part further; *written* are its chunks by index, *embedded* counts vectors that were computed.

        >>> Checkpoint(4, 2, chunks={"i": 5}).moved({"i": 3}).chunks
        {'i': 8}
        """
        chunks = {name: count + written.get(name, 0) for name, count in self.chunks.items()}
        return replace(self, part=self.part + 1, idle_hops=0, chunks=chunks, embedded=self.embedded + embedded)

    def not_counted(self) -> Checkpoint:
        """The same where not the document but a service was to blame that no part was finished."""
        return replace(self, idle_hops=max(self.idle_hops - 1, 0))


@dataclass(frozen=True, slots=True)
class Claim:
    """What a revision is claimed for, and in which stage; times are seconds since 1970, etags those of the versions.

    `tag` is who may read the version by its tags (`domain.access.tag_of`).
    """

    version_id: str
    sidecar_version_id: str | None
    message_id: str
    lease_until_s: float
    sequencer: str | None
    now_s: float
    etag: str | None = None
    sidecar_etag: str | None = None
    stage: str | None = None
    tag: str = ""


class Registry(SearchableRegistry, Protocol):
    """The truth about which revision of every document answers; tenants and keys; and what answered when, for 30 days.

    All reads are consistent, except `page` and where a caller asks otherwise.  All methods raise DatabaseError when the
    registry does not answer.  A conditional write that loses returns None or False, never an error: another write was
    first.  A change is written and counted with what it records, or not at all.  Pointers are written before an
    activation and removed after it: there may be too many, never too few, so readers check the heads.
    """

    def head(self, key: DocumentKey) -> Head | None:
        """The head of a document; None where it never had one, or was purged."""

    def detail(self, key: DocumentKey, revision: int) -> Detail | None:
        """The detail of one revision; None if it neither began nor was activated, or was forgotten."""

    def begin(self, detail: Detail, checkpoint: Checkpoint) -> None:
        """Keep the detail of a large revision before its activation, with its first checkpoint."""

    def checkpoint(self, key: DocumentKey, revision: int) -> Checkpoint | None:
        """How far a large revision is; None where it never began, was activated, or was forgotten."""

    def advance(self, key: DocumentKey, revision: int, before: Checkpoint, after: Checkpoint) -> bool:
        """Move the checkpoint of a revision; False if it is not at *before* any more."""

    def renew(self, key: DocumentKey, revision: int, message_id: str, lease_until_s: float) -> bool:
        """Give *message_id* the lease of *revision*; False if that is not pending, or not the last claimed."""

    def claim(self, key: DocumentKey, seen: Head | None, claim: Claim) -> Head | None:
        """Take the next revision, if the head is still as *seen*; the new head (`pending`), or None.

        What waits in a stage that was promoted is not taken: it goes live first.  The first revision of a document
        without a head is milliseconds since 1970, so that no number is used twice.
        """

    def retag(self, seen: Head, version_id: str, tag: str) -> bool:
        """Write who may read an S3 version by its tags, if the head is still of *seen*'s revision and status.

        It is counted as a change of the document and of rules.  False if the head is not so.
        """

    def give_back(self, key: DocumentKey, revision: int) -> None:
        """End the lease of *revision*, so that another message may claim; nothing happens if it was superseded."""

    def activate(self, detail: Detail, now_s: float) -> Head | None:
        """Write the detail and make its revision the live one, if it is still the last claimed, with its LiveChange.

        One that waits in a stage leaves it so.

        Returns the head as it was before, or None if the revision was superseded.
        """

    def put_in_stage(self, detail: Detail, now_s: float) -> Head | None:
        """Write the detail and let its revision wait in its stage, if it is still the last claimed.

        Returns the head as it was before, or None if the revision was superseded.

        Raises DatabaseError: the stage is being promoted: later there is another one of that name.
        """

    def fail(self, key: DocumentKey, revision: int, failure: Failure, *, keep_live: bool) -> Head | None:
        """Record that *revision* failed; the live one is withdrawn unless *keep_live*.  Returns as `activate` does."""

    def tombstone(
        self, key: DocumentKey, seen: Head, sequencer: str | None, now_s: float, *, by: str | None = None
    ) -> Head | None:
        """Claim the next revision as deleted, if the head is still as *seen*: from here on nothing of it answers.

        *by* is who deleted it, for its LiveChange.  Returns the new head, or None if another write was first, an
        activation of the revision seen included.
        """

    def forget(self, key: DocumentKey, before_revision: int) -> None:
        """Remove the details of revisions below *before_revision* that never answered.

        Those that did stay until 30 days after they were replaced.
        """

    def forget_document(self, key: DocumentKey, *, last: int | None = None) -> int:
        """Remove everything of a document, its head, changes and pointers too.  For a purge, after its tombstone.

        With *last* no revision above it goes, and the head only if it is of none.

        Returns how many of its items went: head, revisions and changes.
        """

    def changes(
        self, tenant: str, vault: str, *, after: str, limit: int, before: str | None = None
    ) -> list[LiveChange]:
        """The changes of a vault whose ids are behind *after*, in order, at most *limit*.

        With *before*, those with an id below it (all for the empty string), the newest first.
        """

    def changes_of(self, key: DocumentKey, *, before_revision: int | None, limit: int) -> list[LiveChange]:
        """The changes of a document, the newest first, of revisions below *before_revision* where it is given."""

    def point(self, detail: Detail, *, known: bool = False) -> None:
        """Note a revision before its activation: under its name and, if it is promoted, in its tenant's list.

        A name has room for 20 paths; one more is not noted.  *known* says that an older revision probably stands there,
        which saves a write.
        """

    def unpoint(self, head: Head) -> None:
        """Remove the pointers that *head*, read consistently, shows to lead nowhere; those of later revisions stay."""

    def create_tenant(self, tenant: Tenant) -> bool:
        """Write a new tenant; False if one of that name exists."""

    def tenants(self) -> list[Tenant]:
        """All tenants by name."""

    def move_indexes(
        self, before: Tenant, *, active: ActiveIndex, building: ActiveIndex | None, previous: ActiveIndex | None
    ) -> bool:
        """Write which indexes a tenant has, and count the move; False if another move came since *before*."""

    def put_calibration(self, name: str, calibration: Calibration, *, vault: str = "") -> bool:
        """Write the fit of a vault over the last one and raise the generation by one; False for an unknown tenant.

        Without a *vault* it is that of all vaults which have none.
        """

    def add_to_tenant(
        self,
        name: str,
        *,
        vault: str,
        documents: int,
        chunks: int,
        doc_type: str | None = None,
        restricted: bool = False,
    ) -> None:
        """Add to the counters, note vault and doc_type, raise the generation; nothing for an unknown tenant.

        *restricted* notes that a document of the vault states who may read it.
        """

    def keep_settings(self, name: str, vault: str, settings: StoredSettings) -> bool:
        """Keep what the settings file of *vault* says, the tenant's own by an empty name, and count the change.

        False if a newer revision of it is stored; the same one again replaces.
        """

    def promote_stage(self, name: str, stage: str, now_s: float) -> bool:
        """Note that a stage, `vault/stage`, counts for every search; False if it does already.

        The one write by which all of it goes live.
        """

    def end_stage(self, name: str, stage: str) -> None:
        """Forget that a stage was promoted: nothing waits in it any more."""

    def golden_runs(self, name: str) -> dict[str, GoldenRun]:
        """The last run of each vault's golden questions, by vault."""

    def put_golden_run(self, name: str, run: GoldenRun) -> None:
        """Store a run in place of the vault's last one."""

    def set_enabled(self, name: str, *, enabled: bool) -> bool:
        """Let a tenant's credentials open something, or nothing; False for an unknown tenant."""

    def set_rates(self, name: str, rates: RateLimits) -> bool:
        """Bound a tenant's requests; False for an unknown tenant."""

    def forget_tenant(self, name: str) -> int:
        """Remove the tenant's own items and those of its keys, once its documents are forgotten: how many went."""

    def api_key(self, sha256: str) -> ApiKey | None:
        """A key by the hash of its secret; revoked and expired ones too."""

    def put_api_key(self, key: ApiKey) -> None:
        """Write a key, or write it again."""

    def api_keys(self, tenant: str) -> list[ApiKey]:
        """All keys of a tenant, revoked and expired ones too, by the time they were made."""

    def revoke_api_key(self, sha256: str) -> bool:
        """Let a key open nothing, for good; False if there is none."""

    def expire_api_key(self, sha256: str, expires_at_s: float) -> bool:
        """Set when a key expires, in seconds since 1970; False if there is none.  A revoked one stays revoked."""

    def note_folder(self, tenant: str, folder: str) -> None:
        """Add a folder, unless MAX_FOLDERS are there."""


def head_pages(
    registry: Registry, tenant: str, *, vault: str | None = None, status: Status | None = None, size: int
) -> Iterator[list[Head]]:
    """The heads of a list, up to *size* at once; without *status* all but the deleted.  The list may be behind.

    A page is read when it is asked for, so what a caller does with one comes before the next is read.

    Raises DatabaseError: the registry did not answer.
    """
    cursor: str | None = None
    while True:
        page = registry.page(tenant, vault=vault, prefix="", status=status, cursor=cursor, limit=size)
        yield page.heads
        cursor = page.cursor
        if cursor is None:
            return
