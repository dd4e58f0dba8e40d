"""`ragdrop reindex`: tenants to an index with another model or chunk size, while they go on answering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import typer

from ragdrop.domain.tenants import ActiveIndex, Engine, Tenant, index_name
from ragdrop.errors import ConfigurationError, InvalidParamsError, RagdropError
from ragdrop_cli.deployment import Deployment
from ragdrop_cli.failures import code_of, describe, exit_code
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, say, say_object
from ragdrop_cli.reindexing import Step, Told, build, drop_old_index, give_up, roll_back
from ragdrop_cli.session import session_of

TenantNames = Annotated[
    list[str] | None,
    typer.Option("--tenant", help="Only this tenant; may be given several times.", show_default="all"),
]
ChunkTokens = Annotated[
    int | None,
    typer.Option(
        "--chunk-tokens",
        min=32,
        max=8_192,
        help="Tokens of a chunk, at most the model's window.",
        show_default="settings",
    ),
]
ChunkOverlapTokens = Annotated[
    int | None,
    typer.Option(
        "--chunk-overlap-tokens", min=0, max=1_024, help="Tokens that neighbours share.", show_default="settings"
    ),
]
Rollback = Annotated[
    bool, typer.Option("--rollback", help="Let the index before the last switch answer again; a second time undoes it.")
]
DropOld = Annotated[bool, typer.Option("--drop-old", help="Remove the index before the last switch: no way back then.")]
Outdated = Annotated[
    bool,
    typer.Option("--outdated", help="Rebuild even if nothing changed, so that sizes of settings files take effect."),
]
To = Annotated[
    Literal["bucket", "opensearch"] | None,
    typer.Option("--to", help="The kind of index to move to.", show_default="that of INDEX_URL"),
]
Abort = Annotated[bool, typer.Option("--abort", help="Give up the index that is being built, and remove it.")]


def reindex(
    context: typer.Context,
    tenant: TenantNames = None,
    chunk_tokens: ChunkTokens = None,
    chunk_overlap_tokens: ChunkOverlapTokens = None,
    to: To = None,
    *,
    outdated: Outdated = False,
    rollback: Rollback = False,
    drop_old: DropOld = False,
    abort: Abort = False,
    as_json: AsObject = False,
) -> None:
    """Build a new index beside the old one from the texts that are kept, then let it answer (operator).

    The model is the one of the settings, and so are the chunk sizes that are not given.  --to moves between the bucket
    index and OpenSearch; for both directions INDEX_URL names the OpenSearch.  Meanwhile the old index
    answers, and it is kept up to date until --drop-old.  Cut off, the same command goes on where it was.

    With --json one object a tenant is printed, one a line.
    """
    sizes = {"chunk_tokens": chunk_tokens, "chunk_overlap_tokens": chunk_overlap_tokens}
    sizes = {name: size for name, size in sizes.items() if size is not None}
    if rollback + drop_old + abort + bool(sizes or outdated or to) > 1:
        raise typer.BadParameter("--rollback, --drop-old, --abort and what a new index is like exclude each other")
    deployment = session_of(context).deployment()
    tenants = named(deployment, tenant)
    step: Step
    if rollback or drop_old:
        step = roll_back if rollback else drop_old_index
        tenants = [each for each in tenants if tenant or each.previous]
    elif abort:
        step = give_up
        tenants = [each for each in tenants if tenant or each.building]
    else:
        wanted = deployment.settings.model_copy(update=sizes).seed_index()
        step = build(moved_to(wanted, to, deployment.settings.engine) if to else wanted, anew=outdated)
    if not tenants:
        note("there is no tenant to do that for")
    each_in_turn(deployment, tenants, step, as_json=as_json)


def moved_to(wanted: ActiveIndex, to: Engine, configured: Engine) -> ActiveIndex:
    """*wanted* as an index of the other kind.

    Raises:
        ConfigurationError: It would be in OpenSearch, and INDEX_URL names none.
    """
    if to == "opensearch" and configured == "bucket":
        raise ConfigurationError(
            "INDEX_URL names no OpenSearch: deploy with IndexUrl set to its URL first; tenants stay where they are"
        )
    return replace(wanted, name=index_name(wanted.space, to))


def named(deployment: Deployment, names: Sequence[str] | None) -> list[Tenant]:
    """The tenants of these names, each once; all where none is given.

    Raises:
        InvalidParamsError: One of them does not exist; nothing has been done then.
    """
    if not names:
        return deployment.registry.tenants()
    found = []
    for name in dict.fromkeys(names):
        tenant = deployment.registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        found.append(tenant)
    return found


def each_in_turn(deployment: Deployment, tenants: Sequence[Tenant], step: Step, *, as_json: bool) -> None:
    """Do *step* for every tenant and print what came of it; a tenant that fails does not stop the others.

    Raises:
        typer.Exit: With the highest exit code of those that failed.
    """
    in_turn({tenant.name: partial(step, deployment, tenant) for tenant in tenants}, as_json=as_json)


def in_turn(steps: Mapping[str, Callable[[], Told]], *, as_json: bool) -> None:
    """Do the step of every tenant, by name, in the same way.

    Raises:
        typer.Exit: With the highest exit code of those that failed.
    """
    worst = 0
    for name, step in steps.items():
        try:
            told = step()
        except RagdropError as error:
            worst = max(worst, exit_code(error))
            for line in describe(error):
                note(f"{name}: {line}")
            if as_json:
                problem = {"code": code_of(error), "message": error.message, "details": error.details}
                say_object({"tenant": name, "error": problem})
            continue
        if as_json:
            say_object({"tenant": name, **told.fields})
            continue
        for line in told.lines:
            say(f"{name}: {line}")
    if worst:
        raise typer.Exit(worst)
