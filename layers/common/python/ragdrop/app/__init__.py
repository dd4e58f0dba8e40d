"""Composition root: settings -> ports -> the parts that handlers, routes and commands call.

`app/ports.py` is the outside world.  One module a function builds its parts over the ports: `query`, `generate`,
`ingest`; `documents` and `operate` build what their other routes, the sweep and commands call.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ragdrop.app.ports import Ports
from ragdrop.config import DOCUMENT_KEY, Settings
from ragdrop.errors import ConfigurationError, DependencyError

if TYPE_CHECKING:
    from ragdrop.app.document_parts import DocumentParts, PastParts
    from ragdrop.app.generate import GenerateParts
    from ragdrop.app.ingest import IngestParts
    from ragdrop.app.operate import OperateParts
    from ragdrop.app.query import QueryParts
    from ragdrop.app.tenant_parts import TenantParts
    from ragdrop.ports.message_queue import DeployedStack

logger = logging.getLogger(__name__)

REREAD_S = 60.0  # a changed document is in force everywhere after this long

T = TypeVar("T")

__all__ = ["App", "Ports", "Reloaded", "build_app", "compose", "deployed_settings", "deployed_stack"]


class App:
    """The parts of ragdrop over the same ports.  A module of `app` is imported, with all that it builds, at first use.

    So a function loads what it calls and nothing else: a start for a search waits for no route of documents.
    """

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    @cached_property
    def tenants(self) -> TenantParts:
        from ragdrop.app.tenant_parts import TenantParts

        return TenantParts(self.ports)

    @cached_property
    def query(self) -> QueryParts:
        from ragdrop.app.query import build_query

        return build_query(self.ports, self.tenants)

    @cached_property
    def generate(self) -> GenerateParts:
        from ragdrop.app.generate import GenerateParts

        return GenerateParts(self.ports, self.tenants, self.query)

    @cached_property
    def ingest(self) -> IngestParts:
        from ragdrop.app.ingest import IngestParts

        return IngestParts(self.ports, self.tenants.writers_directory)

    @cached_property
    def documents(self) -> DocumentParts:
        from ragdrop.app.document_parts import DocumentParts

        return DocumentParts(self.ports, self.tenants)

    @cached_property
    def past(self) -> PastParts:
        from ragdrop.app.document_parts import PastParts

        return PastParts(self.ports, self.tenants, self.documents, lambda: self.query.uncached_search)

    @cached_property
    def operate(self) -> OperateParts:
        from ragdrop.app.operate import OperateParts

        return OperateParts(self.ports, self.tenants, self.ingest, self.past)


def build_app(function: str = "", environ: Mapping[str, str] | None = None) -> App:
    """Compose the application over the real adapters, once per execution environment.

    Args:
        function: The name of the function in metrics; empty in a command, which emits none.
        environ: The source of the settings; the environment of the process if None.

    Raises:
        ConfigurationError: A setting is missing or wrong; the error names every one of them.
        DependencyError: The settings document could not be read.
    """
    return compose(Ports(deployed_settings(environ), function=function))


def deployed_settings(environ: Mapping[str, str] | None = None, *, quick: bool = False) -> Settings:
    """Read the environment and the settings document in the state bucket.

    Args:
        environ: The environment; the one of the process if None.
        quick: Do not wait longer than a quarter of a second for the document.

    Raises:
        ConfigurationError: A setting is missing or wrong; the error names every one of them.
        DependencyError: The document could not be read.
    """
    from ragdrop.stores.aws.clients import quick_client
    from ragdrop.stores.s3_objects import S3ObjectStore

    settings = Settings.from_environment(environ)
    state = S3ObjectStore(settings.state_bucket, quick_client("s3") if quick else None)
    document = state.get(DOCUMENT_KEY)
    return settings if document is None else Settings.from_environment(environ, document)


def compose(ports: Ports) -> App:
    """Compose the application over *ports*: `compose(ports.replace(embedder=HashingEmbedder()))` in a test."""
    return App(ports)


def deployed_stack(name: str) -> DeployedStack:
    """Read the stack *name* from the account and region of the AWS credentials.

    Raises:
        ConfigurationError: The stack does not exist, is not finished, or is not ragdrop's.
        DependencyError: AWS did not answer, or the credentials lack the permission.
    """
    from ragdrop.stores.aws.deployment import read_stack

    return read_stack(name)


class Reloaded(Generic[T]):
    """What a function serves.  The settings document is read again at most once a minute, before a request.

    If it changed, everything is composed again, as in a new execution environment.  An invalid document stops a new
    environment; one that runs keeps its settings and logs an error.

    Args:
        function: The name of the function in metrics.
        make: Makes what is served of the application.
        read: Reads the settings, `quick` while a request waits.
        clock: Seconds, for the time between two reads.
    """

    def __init__(
        self,
        function: str,
        make: Callable[[App], T],
        *,
        read: Callable[..., Settings] = deployed_settings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._function = function
        self._make = make
        self.read = read
        self._clock = clock
        self._settings = read()
        self._read_at_s = clock()
        self.app, self._served = self._made()

    def __call__(self) -> T:
        """What is served by the settings in force."""
        if self._clock() - self._read_at_s >= REREAD_S:
            self._read_at_s = self._clock()
            self._reread()
        return self._served

    async def asgi(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, if what is served is an ASGI application."""
        await self()(scope, receive, send)  # type: ignore[operator]

    def _made(self) -> tuple[App, T]:
        from ragdrop.observability import configure  # only functions have the Logger's library

        app = compose(Ports(self._settings, function=self._function))
        configure(self._settings.log_level)
        return app, self._make(app)

    def _reread(self) -> None:
        try:
            settings = self.read(quick=True)
        except DependencyError as exc:
            logger.warning("could not read the settings document", extra={"service": exc.service})
        except ConfigurationError:
            logger.exception("the settings document is not usable, the previous settings stay in force")
        else:
            if settings != self._settings:
                self._settings = settings
                self.app, self._served = self._made()
                logger.info("changed settings are in force")
