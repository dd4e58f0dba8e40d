"""Tenants and keys, for operators only: create, change, list, and delete from every store."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragdrop.domain.access import ALLOWED_GROUP, MAX_GROUPS, is_group
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Status
from ragdrop.domain.keys import check_name
from ragdrop.domain.tenants import ROLES, ActiveIndex, ApiKey, RateLimits, Role, Tenant, index_name, key_hash
from ragdrop.errors import ConflictError, InvalidParamsError
from ragdrop.ports.answer_services import Receipts
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.ports.telemetry import Telemetry
from ragdrop.tenants.admission import AdmissionRecords

KEY_PREFIX = "rd_"
MIN_ID_DIGITS = 8  # of a key's hash: fewer could be another key's soon
MAX_LABEL = 100


class AdministerTenants:
    """Creates, changes and lists tenants and keys.

    A method that names a tenant or a key raises InvalidParamsError if there is none.
    """

    def __init__(self, registry: Registry, seed: ActiveIndex, *, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._seed = seed
        self._clock = clock

    def create_tenant(self, name: str, *, enabled: bool = True, build: int = 1) -> Tenant:
        """Create a tenant on the index that the settings seed, or on its *build* that an earlier reindex made.

        Raises:
            InvalidParamsError: The name is not allowed.
            ConflictError: A tenant of that name exists.
        """
        index = replace(self._seed, name=index_name(self._seed.space, self._seed.engine, build=build))
        created_at = rfc3339(self._clock())
        tenant = Tenant(check_name("tenant", name), index, enabled=enabled, created_at=created_at, moves=build - 1)
        if not self._registry.create_tenant(tenant):
            raise ConflictError(f"a tenant named {name!r} exists already", field="tenant", value=name)
        return tenant

    def set_enabled(self, name: str, *, enabled: bool) -> Tenant:
        """Enable or disable a tenant's credentials, everywhere within 5 seconds; return the tenant as it was."""
        tenant = self._tenant(name)
        self._registry.set_enabled(name, enabled=enabled)
        return tenant

    def rates(self, name: str) -> RateLimits:
        """The limits of a tenant."""
        return self._tenant(name).rates

    def set_rates(self, name: str, rates: RateLimits) -> None:
        """Limit a tenant, everywhere within 5 seconds. Raises InvalidParamsError: a limit is out of range."""
        self._tenant(name)
        self._registry.set_rates(name, rates.checked())

    def create_key(
        self,
        tenant: str,
        role: Role,
        vaults: Sequence[str] = (),
        *,
        groups: Sequence[str] = (),
        lifetime_s: int | None = None,
        label: str = "",
    ) -> tuple[str, ApiKey]:
        """Create a key; return its secret (32 random bytes, shown only now) and what is stored of it.

        Args:
            tenant: The tenant that it opens.
            role: What it may do.
            vaults: Those that it may see; empty means all.
            groups: Those of its holder; of a delegate those that it may speak for, any if it is empty.
            lifetime_s: Seconds until it expires; None means never.
            label: Its purpose, up to 100 printable characters.

        Raises:
            InvalidParamsError: The role is unknown, or a group or the label is not allowed.
        """
        if role not in ROLES:
            raise InvalidParamsError(
                f"role {role!r} is not one of {', '.join(ROLES)}", field="role", allowed=list(ROLES)
            )
        if len(label) > MAX_LABEL or not (label.isprintable() or not label):
            raise InvalidParamsError("a label has up to 100 printable characters", field="label", allowed=MAX_LABEL)
        if wrong := [group for group in groups if not is_group(group)] or groups[MAX_GROUPS:]:
            message = f"group {wrong[0][:80]!r} is not one of at most {MAX_GROUPS} names"
            raise InvalidParamsError(message, field="groups", value=wrong[0][:80], allowed=ALLOWED_GROUP)
        self._tenant(tenant)
        names = tuple(check_name("vault", vault) for vault in vaults)
        secret = KEY_PREFIX + secrets.token_urlsafe(32)
        now_s = self._clock()
        expires_at_s = None if lifetime_s is None else now_s + lifetime_s
        key = ApiKey(
            key_hash(secret),
            tenant,
            role,
            names,
            expires_at_s=expires_at_s,
            created_at=rfc3339(now_s),
            lifetime_s=lifetime_s,
            label=label,
            groups=tuple(sorted(set(groups))),
        )
        self._registry.put_api_key(key)
        return secret, key

    def keys(self, tenant: str) -> list[ApiKey]:
        """A tenant's keys, by the time of their creation."""
        self._tenant(tenant)
        return self._registry.api_keys(tenant)

    def rotate_key(
        self, tenant: str, key_id: str, *, overlap_s: int, lifetime_s: int | None = None
    ) -> tuple[str, ApiKey, ApiKey]:
        """Create a key with the rights of another one, which stays valid for *overlap_s* seconds.

        Without *lifetime_s* it has the lifetime of the other.

        Returns:
            The new secret, the new key, and the other one as it is now.

        Raises:
            InvalidParamsError: The other key is expired or revoked.
        """
        old = self.find_key(tenant, key_id)
        now_s = self._clock()
        if old.state(now_s) != "active":
            raise InvalidParamsError(f"key {old.id} is {old.state(now_s)}: create a new one", field="key", value=old.id)
        secret, new = self.create_key(
            tenant, old.role, old.vaults, groups=old.groups, lifetime_s=lifetime_s or old.lifetime_s, label=old.label
        )
        ends_at_s = now_s + overlap_s
        if old.expires_at_s is None or ends_at_s < old.expires_at_s:  # a rotation never lengthens a key's life
            self._registry.expire_api_key(old.sha256, ends_at_s)
        return secret, new, self.find_key(tenant, old.sha256)

    def revoke_key(self, tenant: str, key_id: str) -> ApiKey:
        """Revoke a key for good, everywhere within 60 seconds."""
        key = self.find_key(tenant, key_id)
        self._registry.revoke_api_key(key.sha256)
        return self.find_key(tenant, key.sha256)

    def find_key(self, tenant: str, key_id: str) -> ApiKey:
        """The one key of the tenant whose hash begins with *key_id*, of at least eight digits."""
        keys = self.keys(tenant)
        found = [key for key in keys if key.sha256.startswith(key_id)] if len(key_id) >= MIN_ID_DIGITS else []
        if len(found) != 1:
            problem = f"{len(found)} keys of {tenant} begin" if found else f"no key of {tenant} begins"
            allowed = [key.id for key in keys][:20]
            raise InvalidParamsError(f"{problem} with {key_id[:80]!r}", field="key", value=key_id[:80], allowed=allowed)
        return found[0]

    def _tenant(self, name: str) -> Tenant:
        tenant = self._registry.tenant(check_name("tenant", name))
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        return tenant


SETTLE_S = 65.0  # the longest that ingest works on a message that came before, and caches of the tenant's item
PAGE = 100
STATE_PREFIXES = ("revisions", "texts", "pages", "index")  # each with the tenant's name behind it


@dataclass(frozen=True, slots=True)
class TenantReceipt:
    """How much was removed from each place.

    `versions` counts object versions and delete markers of the document bucket, `derived` objects of the state bucket,
    `chunks` those of all its indexes, `documents` heads, `registry_items` all items of the registry with the keys,
    `receipts` those of answers, `telemetry` counts of hours, uses and requests, and vectors of questions.
    """

    tenant: str
    versions: int
    derived: int
    chunks: int
    documents: int
    registry_items: int
    receipts: int
    telemetry: int


class DeleteTenant:
    """Removes tenants for good."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        state: ObjectStore,
        registry: Registry,
        index: ChunkIndex,
        receipts: Receipts,
        telemetry: Telemetry,
    ) -> None:
        self._documents = documents
        self._state = state
        self._registry = registry
        self._index = index
        self._receipts = receipts
        self._telemetry = telemetry

    def __call__(self, name: str, deadline: Deadline, *, wait: Callable[[float], None]) -> TenantReceipt:
        """Disable the tenant, wait for running work, then remove everything; after a failure the same call continues.

        Args:
            name: The tenant.
            deadline: For the index.
            wait: Waits so many seconds; called only if the tenant was enabled.

        Raises:
            InvalidParamsError: There is no such tenant.
            DependencyError: A service failed; what was removed before stays removed.
        """
        tenant = self._registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        if tenant.enabled:
            self._registry.set_enabled(name, enabled=False)
            wait(SETTLE_S)
        versions = self._documents.delete_prefix(f"{name}/")  # first: nothing can be indexed from there again
        versions += AdmissionRecords(self._documents).forget_tenant(name)
        chunks = self._drop(tenant, deadline)
        derived = sum(self._state.delete_prefix(f"{prefix}/{name}/") for prefix in STATE_PREFIXES)
        derived += self._state.purge(f"sweeps/{name}.json")
        documents, items = self._forget_documents(name)
        receipts = self._receipts.forget_all_receipts(name)
        telemetry = self._telemetry.forget_tenant(name)
        items += self._registry.forget_tenant(name)  # last, as it says what is left to do
        return TenantReceipt(name, versions, derived, chunks, documents, items, receipts, telemetry)

    def _drop(self, tenant: Tenant, deadline: Deadline) -> int:
        """Remove the tenant's chunks from all its indexes, also from one that a reindex has just made active."""
        now = self._registry.tenant(tenant.name) or tenant
        return sum(self._index.drop(now.part_of(target), deadline) for target in now.targets)

    def _forget_documents(self, name: str) -> tuple[int, int]:
        """Forget every document, also deleted ones; return how many, and how many items they had."""
        documents = items = 0
        for status in (None, Status.DELETED):
            for heads in head_pages(self._registry, name, status=status, size=PAGE):
                documents += len(heads)
                items += sum(self._registry.forget_document(head.key) for head in heads)
        return documents, items
