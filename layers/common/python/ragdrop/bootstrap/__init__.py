"""Composition root: settings -> ports -> the parts that handlers and routes call.

Read it from the top: `build_app` makes the ports, `compose` hands them to one `build_*` function a package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragdrop.bootstrap.answering import (
    GenerateParts,
    QueryParts,
    TenantParts,
    build_generate,
    build_query,
    build_tenants,
)
from ragdrop.bootstrap.operating import OperateParts, build_operate
from ragdrop.bootstrap.past import HistoryParts, build_history
from ragdrop.bootstrap.ports import Ports
from ragdrop.bootstrap.writing import DocumentParts, IngestParts, build_documents, build_ingest
from ragdrop.config import DOCUMENT_KEY, Settings

if TYPE_CHECKING:
    from ragdrop.ports.message_queue import DeployedStack

__all__ = [
    "App",
    "Ports",
    "build_app",
    "build_documents",
    "build_generate",
    "build_history",
    "build_ingest",
    "build_operate",
    "build_query",
    "build_tenants",
    "compose",
    "deployed_settings",
    "deployed_stack",
]


@dataclass(frozen=True)
class App:
    """The parts of ragdrop, by package, over the same ports."""

    ports: Ports
    tenants: TenantParts
    history: HistoryParts
    query: QueryParts
    generate: GenerateParts
    ingest: IngestParts
    documents: DocumentParts
    operate: OperateParts


def build_app(function: str = "", environ: Mapping[str, str] | None = None) -> App:
    """Compose the application over the real adapters, once per execution environment.

    Args:
        function: The name of the function in metrics; empty in a command, which emits none.
        environ: The source of the settings; the environment of the process if None.

    Raises:
        ConfigurationError: A setting is missing or wrong; the error names every one of them.
        DependencyError: The settings document could not be read.
    """
    return compose(Ports.from_settings(deployed_settings(environ), function=function))


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
    tenants = build_tenants(ports)
    documents = build_documents(ports, tenants)
    query = build_query(ports, tenants)
    history = build_history(ports, tenants, documents, query)
    ingest = build_ingest(ports, tenants)
    return App(
        ports=ports,
        tenants=tenants,
        history=history,
        query=query,
        generate=build_generate(ports, tenants, query),
        ingest=ingest,
        documents=documents,
        operate=build_operate(ports, tenants, ingest, history),
    )


def deployed_stack(name: str) -> DeployedStack:
    """Read the stack *name* from the account and region of the AWS credentials.

    Raises:
        ConfigurationError: The stack does not exist, is not finished, or is not ragdrop's.
        DependencyError: AWS did not answer, or the credentials lack the permission.
    """
    from ragdrop.stores.aws.deployment import read_stack

    return read_stack(name)
