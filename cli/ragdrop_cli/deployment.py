"""What operator commands work on: parts of the composition root, and how it is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ragdrop.domain.rates import RateLimits
from ragdrop.domain.tenants import ActiveIndex, ApiKey, Role, Tenant
from ragdrop.errors import ConfigurationError
from ragdrop.ports.wiring import DeployedStack

if TYPE_CHECKING:  # not at run time: `ragdrop ask` starts without them
    from ragdrop.config import Settings
    from ragdrop.domain.deadlines import Deadline
    from ragdrop.operate.calibrate import Calibrated
    from ragdrop.operate.reindex import Progress, ReindexReport
    from ragdrop.operate.restore import RestoreReport
    from ragdrop.operate.sweeping import SweepReport as SweepReport
    from ragdrop.ports.chunk_index import Reading
    from ragdrop.ports.wiring import Verdict
    from ragdrop.tenants.delete import TenantReceipt


class Operator(Protocol):
    """What needs AWS credentials instead of an API key."""

    def create_tenant(self, name: str) -> Tenant:
        """Make a tenant; ConflictError if it exists."""
        ...

    def set_enabled(self, name: str, *, enabled: bool) -> Tenant:
        """Let a tenant's keys open something, or nothing; the tenant as it was before."""
        ...

    def rates(self, name: str) -> RateLimits:
        """What bounds a tenant's requests."""
        ...

    def set_rates(self, name: str, rates: RateLimits) -> None:
        """Bound a tenant's requests a minute."""
        ...

    def create_key(
        self, tenant: str, role: Role, vaults: list[str], *, lifetime_s: int | None = ..., label: str = ...
    ) -> tuple[str, ApiKey]:
        """Make a key; its secret comes first and is not kept anywhere."""
        ...

    def keys(self, tenant: str) -> list[ApiKey]:
        """A tenant's keys, by the time they were made."""
        ...

    def rotate_key(
        self, tenant: str, key_id: str, *, overlap_s: int, lifetime_s: int | None = ...
    ) -> tuple[str, ApiKey, ApiKey]:
        """A new secret and key with the rights of another one, which goes on for a while and comes last."""
        ...

    def revoke_key(self, tenant: str, key_id: str) -> ApiKey:
        """Let a key open nothing, for good."""
        ...


class Tenants(Protocol):
    """What operators ask the registry."""

    def tenants(self) -> list[Tenant]:
        """All tenants by name."""
        ...

    def tenant(self, name: str) -> Tenant | None:
        """One of them."""
        ...


class Reindexer(Protocol):
    """Moves tenants from one index to another: see ragdrop.operate.reindex."""

    def run(
        self, name: str, wanted: ActiveIndex, progress: Progress = ..., *, anew: bool = False
    ) -> ReindexReport | None:
        """Bring a tenant to an index like *wanted*; None where it is there already."""
        ...

    def rollback(self, name: str) -> Tenant:
        """Let the index before the last switch answer again."""
        ...

    def drop_previous(self, name: str) -> int:
        """Remove the index before the last switch; chunks removed."""
        ...

    def abort(self, name: str) -> int:
        """Remove the index that is being built; chunks removed."""
        ...


class Sweeper(Protocol):
    """Sweeps one tenant: see ragdrop.operate.sweep_tenants."""

    def one(
        self,
        name: str,
        deadline: Deadline,
        *,
        reading: Reading = ...,
        dry_run: bool = ...,
        allow_mass_delete: bool = ...,
    ) -> SweepReport:
        """Rebuild what its index lost, compare, and ask ingest to recheck what differs."""
        ...


class Restorer(Protocol):
    """Makes tenants again from the document bucket: see ragdrop.operate.restore."""

    def names(self) -> list[str]:
        """The tenants that the bucket has documents of."""
        ...

    def __call__(self, name: str, progress: Progress, *, wait: Callable[[float], None]) -> RestoreReport:
        """Restore one of them."""
        ...


class Calibrator(Protocol):
    """Fits one tenant's calibration: see ragdrop.operate.calibrate."""

    def __call__(self, name: str, deadline: Deadline, *, dry_run: bool = ..., progress: Progress = ...) -> Calibrated:
        """Learn from the tenant's own titles and headings."""
        ...


class Examiner(Protocol):
    """Looks at a deployment from inside: see ragdrop.operate.diagnose."""

    def steps(self) -> Mapping[str, Callable[[Deadline], Verdict]]:
        """What is looked at, by name."""
        ...


class DeadLetters(Protocol):
    """What was given up on."""

    def redrive(self) -> int:
        """Move some messages back; how many, 0 where none is left."""
        ...


class TenantDeletion(Protocol):
    """Removes a tenant: see ragdrop.tenants.delete."""

    def __call__(self, name: str, deadline: Deadline, *, wait: Callable[[float], None]) -> TenantReceipt:
        """Remove it from every place."""
        ...


class Deployment(Protocol):
    """The parts of ragdrop that operator commands use; `ragdrop.bootstrap.OperateParts` has them all."""

    @property
    def settings(self) -> Settings:
        """What the deployment says."""
        ...

    @property
    def registry(self) -> Tenants:
        """The registry."""
        ...

    @property
    def operator(self) -> Operator:
        """Tenants and keys."""
        ...

    @property
    def sweep_tenants(self) -> Sweeper:
        """The rebuild of indexes, and the comparison of bucket, registry and index."""
        ...

    @property
    def restore(self) -> Restorer:
        """Tenants out of the document bucket."""
        ...

    @property
    def calibrate(self) -> Calibrator:
        """The fit of what scores are worth."""
        ...

    @property
    def delete_tenant(self) -> TenantDeletion:
        """The end of a tenant."""
        ...

    @property
    def queue(self) -> DeadLetters:
        """The queue that feeds ingest, and its dead-letter queue."""
        ...

    @property
    def examine(self) -> Examiner:
        """The steps of doctor."""
        ...

    @property
    def reindex(self) -> Reindexer:
        """The move from one index to another."""
        ...


def deployed(environ: Mapping[str, str]) -> Deployment:
    """The deployment that *environ* names.

    Raises:
        ConfigurationError: Settings are missing, or this is the bare wheel without the AWS packages.
    """
    with packages():
        from ragdrop.bootstrap import build_app  # late: `ragdrop ask` from the bare wheel has no boto3

        app = build_app(environ=environ)
        _ = app.ports.registry  # so that a missing package is told before anything is done
    return app.operate


def stack_named(name: str) -> DeployedStack:
    """The deployed stack *name*, as AWS tells it.

    Raises:
        ConfigurationError: There is none, or this is the bare wheel without the AWS packages.
        DependencyError: AWS did not answer.
    """
    with packages():
        from ragdrop.bootstrap import deployed_stack

        return deployed_stack(name)


@contextmanager
def packages() -> Iterator[None]:
    """Where the operator's packages are first needed.

    Raises:
        ConfigurationError: One of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as exc:
        message = f"operator commands need the package {exc.name}; `pip install 'ragdrop[operator]'` brings it"
        raise ConfigurationError(message) from exc
