"""Composition root: settings -> ports -> the parts that handlers, routes and commands call.

`app/ports.py` is the outside world.  One module a function builds its parts over the ports: `query`, `generate`,
`ingest`; `documents` and `operate` build what their other routes, the sweep and commands call.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.app.ports import Ports
from ragdrop.config import DOCUMENT_KEY, Settings

if TYPE_CHECKING:
    from ragdrop.app.document_parts import DocumentParts, PastParts
    from ragdrop.app.generate import GenerateParts
    from ragdrop.app.ingest import IngestParts
    from ragdrop.app.operate import OperateParts
    from ragdrop.app.query import QueryParts
    from ragdrop.app.tenant_parts import TenantParts
    from ragdrop.ports.message_queue import DeployedStack

__all__ = ["App", "Ports", "build_app", "compose", "deployed_settings", "deployed_stack"]


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
