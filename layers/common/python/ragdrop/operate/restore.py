"""Restore: make registry and index again from what the document bucket holds, tenant by tenant.

A sweep finds what the registry lost, and ingest indexes it.  What is left to do here: tenants, their settings before
their documents, and patience.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ragdrop.calibration.calibrate import Calibrate
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status, searched_revisions
from ragdrop.domain.keys import NAME_PATTERN, SETTINGS_NAME, SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import ActiveIndex, index_name
from ragdrop.errors import ConflictError, InvalidParamsError
from ragdrop.ingest.reconcile_key import ReconcileKey
from ragdrop.operate.sweep import Notes, Sweep
from ragdrop.ports.message_queue import Change, Delivery
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.tenants.administer import AdministerTenants

logger = logging.getLogger(__name__)

LAST = "\U0010ffff"  # behind every key of a prefix
PAGE = 100  # heads of one listing, and details of one read
LONGEST_S = 24 * 3_600.0  # of one pass
POLL_S = 2.0
QUIET_S = 300.0  # without any progress for so long ingest is asked again, whatever the queue holds
DELIVERY = Delivery("ragdrop-restore", "", 1, ())

Progress = Callable[[int, int], None]
"""Takes, once for each document with an end status, how many documents have one and how many there are."""


@dataclass(slots=True)
class RestoreReport:
    """What a tenant has after its restore.

    `failed` counts documents by code; `deleted` those that the bucket keeps under a delete marker; `embedded` chunks
    whose vectors were computed, `reused` those whose vectors were stored.
    """

    tenant: str
    created: bool
    indexed: int = 0
    staged: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    deleted: int = 0
    embedded: int = 0
    reused: int = 0
    keys: int = 0


@dataclass(frozen=True, kw_only=True)
class Restore:
    """Restores tenants.  Cut off, the same call continues; with nothing lost it changes nothing."""

    documents: ObjectStore
    state: ObjectStore
    registry: Registry
    seed: ActiveIndex
    operator: AdministerTenants
    reconcile_key: ReconcileKey
    sweep: Sweep
    calibrate: Calibrate

    def names(self) -> list[str]:
        """The tenants that the bucket has documents of."""
        return [name for name in names_under(self.documents, "") if NAME_PATTERN.fullmatch(name)]

    def __call__(self, name: str, progress: Progress, *, wait: Callable[[float], None]) -> RestoreReport:
        """Restore one tenant; returns once every document has come to an end.

        Args:
            name: The tenant.
            progress: Takes how many documents have an end status.
            wait: Waits so many seconds.

        Raises:
            InvalidParamsError: The bucket has no document of such a tenant.
            ConflictError: The tenant is disabled, or the registry has many documents that the bucket has not.
            DependencyError: A service failed; the same call continues.
        """
        if next(iter(self.documents.entries(f"{name}/")), None) is None:
            raise InvalidParamsError(f"the bucket has no documents of a tenant {name!r}", field="tenant", value=name)
        created = self._created(name)
        if self._until_settled(name, progress, wait):
            self._calibrated(name)
        return self._report(name, created=created)

    def _created(self, name: str) -> bool:
        """Create the tenant where it is lost: disabled until its settings are in force, as they say what may go live.

        Raises ConflictError: an operator disabled it.
        """
        tenant = self.registry.tenant(name)
        if tenant is None:
            self.sweep.notes.write(name, Notes())  # those of the tenant that was lost tell of cursors that are gone
            tenant = self.operator.create_tenant(name, enabled=False, build=self._last_build(name))
        elif tenant.enabled:
            return False
        elif tenant.generation:
            raise ConflictError(f"tenant {name} is disabled: `ragdrop tenant enable {name}` first", tenant=name)
        vaults = (vault for vault in names_under(self.documents, f"{name}/") if NAME_PATTERN.fullmatch(vault))
        for vault in ("", *vaults):
            key = DocumentKey(name, vault, SETTINGS_NAME)
            if self.documents.head(key.s3_key) is not None:
                now = self.registry.tenant(name) or tenant
                self.reconcile_key(key, Change(key.s3_key), DELIVERY, now, Deadline.after(LONGEST_S))
        self.registry.set_enabled(name, enabled=True)
        return True

    def _last_build(self, name: str) -> int:
        """The last build of the tenant's index that the state bucket has: stored vectors are under its name."""
        base = index_name(self.seed.space, self.seed.engine, build=0)[:-1]
        builds = (each.removeprefix(base) for each in names_under(self.state, f"index/{name}/"))
        return max((int(build) for build in builds if build.isdecimal()), default=1)

    def _until_settled(self, name: str, progress: Progress, wait: Callable[[float], None]) -> bool:
        """Ask ingest for what differs until nothing does; again where its queue is empty and something is left.

        Returns whether anything differed.
        """
        sweep = replace(self.sweep, min_age_s=0.0)
        before, reported, quiet_s, asked = 0, 0, 0.0, False
        while True:
            now = sweep.differences(name)
            left = sum(now.found.values()) + now.recent
            for done in range(reported + 1, now.objects - left + 1):
                progress(done, now.objects)
            reported = max(reported, now.objects - left)
            if not left:
                return asked
            stalled = left == before
            quiet_s = quiet_s + POLL_S if stalled else 0.0
            if not asked or (stalled and (quiet_s >= QUIET_S or self._queue_is_empty())):
                self._ask(sweep, name)
                quiet_s, asked = 0.0, True
            before = left
            wait(POLL_S)

    @staticmethod
    def _ask(sweep: Sweep, name: str) -> None:
        refused = sweep(name, Deadline.after(LONGEST_S)).refused
        if refused:
            message = f"{refused[0].gone} documents of vault {refused[0].vault} are not in the bucket: is it whole?"
            raise ConflictError(f"{message}  `ragdrop sweep --allow-mass-delete` accepts it", tenant=name)

    def _queue_is_empty(self) -> bool:
        depth = self.sweep.queue.depth()
        return not (depth.waiting or depth.in_flight or depth.delayed)

    def _calibrated(self, name: str) -> None:
        """Calibrate each vault, as its fit was lost; one that cannot be fitted never was."""
        tenant = self.registry.tenant(name)
        for vault in tenant.vaults if tenant is not None else ():
            try:
                self.calibrate(name, vault, Deadline.after(LONGEST_S))
            except ConflictError as exc:
                where = {"tenant": name, "vault": vault}
                logger.info("failed to calibrate a vault", extra={**where, "problem": exc.message})

    def _report(self, name: str, *, created: bool) -> RestoreReport:
        report = RestoreReport(name, created, keys=len(self.operator.keys(name)))
        report.deleted = sum(
            each.deleted and not each.key.endswith(SIDECAR_SUFFIX) for each in self.documents.entries(f"{name}/")
        )
        for heads in head_pages(self.registry, name, size=PAGE // 2):
            for head in heads:
                report.indexed += int(head.status is Status.INDEXED and not head.key.is_settings)
                report.staged += int(head.status is Status.STAGED)
                if head.error is not None and head.status is Status.FAILED:
                    report.failed[head.error.code] = report.failed.get(head.error.code, 0) + 1
            revisions = {(head.key, revision) for head in heads for revision in searched_revisions(head)}
            for detail in self.registry.details(revisions, Deadline.after(LONGEST_S)):
                report.embedded += detail.embedded
                report.reused += detail.chunk_count - detail.embedded
        return report


def names_under(documents: ObjectStore, prefix: str) -> Iterator[str]:
    """The first part of every key under *prefix*, each once, by one request each."""
    after = ""
    while (first := next(iter(documents.entries(prefix, start_after=after)), None)) is not None:
        name, slash, _ = first.key.removeprefix(prefix).partition("/")
        yield name
        after = f"{prefix}{name}/{LAST}" if slash else first.key
