"""`ragdrop reindex` and `ragdrop calibrate`: tenants to another index, and what scores are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import ActiveIndex, Engine, Tenant, index_name
from ragdrop.errors import ConfigurationError, InvalidParamsError, RagdropError
from ragdrop_cli.failures import code_of, describe, exit_code
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, progress, say, say_object
from ragdrop_cli.session import Deployment, packages, session_of

if TYPE_CHECKING:
    from ragdrop.domain.calibration import Calibration
    from ragdrop.operate.calibrate import Calibrated


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a step: lines for people, fields for `--json`."""

    lines: list[str]
    fields: dict[str, Any] = field(default_factory=dict)


Step = Callable[[Deployment, Tenant], Told]


def build(wanted: ActiveIndex, *, anew: bool = False) -> Step:
    """The step that brings a tenant to an index of the same make as *wanted*; its name is chosen for each tenant.

    *anew* builds also where the tenant's index is as wanted.
    """

    def step(deployment: Deployment, tenant: Tenant) -> Told:
        now = tenant.active
        if not anew and tenant.building is None and now.make == wanted.make:
            # asked here too: one that was just switched is not in the way of a command that goes on with the others
            return Told([f"{now.name} is as wanted already"], {"changed": False, "index": now.name})
        command = f"ragdrop reindex --tenant {tenant.name}"
        with packages():
            move = deployment.reindex
        try:
            with progress(f"reindexing {tenant.name}", tenant.documents, unit="documents") as show:
                report = move.run(tenant.name, wanted, show, anew=anew)
        except KeyboardInterrupt:
            note(f"stopped; the same command goes on where it was, {command} --abort gives the new index up")
            raise
        if report is None:
            return Told([f"{now.name} is as wanted already"], {"changed": False, "index": now.name})
        lines = [
            f"{report.to_index} answers now, {report.from_index} is kept",
            f"{report.documents} documents in {report.chunks} chunks, {report.copied} copied",
            f"to go back: {command} --rollback",
            f"to drop the old index: {command} --drop-old",
        ]
        counts = {"documents": report.documents, "chunks": report.chunks, "copied": report.copied}
        return Told(lines, {"changed": True, "index": report.to_index, "previous": report.from_index, **counts})

    return step


def roll_back(deployment: Deployment, tenant: Tenant) -> Told:
    """Let the index before the last switch answer again."""
    after = deployment.reindex.rollback(tenant.name)
    left = after.previous.name if after.previous else tenant.active.name
    lines = [
        f"{after.active.name} answers again, {left} is kept",
        f"to drop the other index: ragdrop reindex --tenant {tenant.name} --drop-old",
    ]
    return Told(lines, {"index": after.active.name, "previous": left})


def drop_old_index(deployment: Deployment, tenant: Tenant) -> Told:
    """Remove the index before the last switch."""
    removed = deployment.reindex.drop_previous(tenant.name)
    old = tenant.previous.name if tenant.previous else None
    return Told([f"{old} is removed, {removed} chunks"], {"dropped": old, "chunks_removed": removed})


def give_up(deployment: Deployment, tenant: Tenant) -> Told:
    """Remove the index that is being built."""
    removed = deployment.reindex.abort(tenant.name)
    new = tenant.building.name if tenant.building else None
    lines = [f"{new} is given up, {removed} chunks removed; {tenant.active.name} goes on answering"]
    return Told(lines, {"dropped": new, "chunks_removed": removed})


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
    given: dict[str, Any] = {"chunk_tokens": chunk_tokens, "chunk_overlap_tokens": chunk_overlap_tokens}
    sizes = {name: size for name, size in given.items() if size is not None}
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
        wanted = replace(deployment.settings, **sizes).seed_index()
        step = build(moved_to(wanted, to, deployment.settings.engine) if to else wanted, anew=outdated)
    if not tenants:
        note("there is no tenant to do that for")
    each_in_turn(deployment, tenants, step, as_json=as_json)


def moved_to(wanted: ActiveIndex, to: Engine, configured: Engine) -> ActiveIndex:
    """*wanted* as an index of the other kind.

    Raises ConfigurationError if it would be in OpenSearch, and INDEX_URL names none.
    """
    if to == "opensearch" and configured == "bucket":
        raise ConfigurationError(
            "INDEX_URL names no OpenSearch: deploy with IndexUrl set to its URL first; tenants stay where they are"
        )
    return replace(wanted, name=index_name(wanted.space, to))


def named(deployment: Deployment, names: Sequence[str] | None) -> list[Tenant]:
    """The tenants of these names, each once; all where none is given.

    Raises InvalidParamsError if one of them does not exist; nothing has been done then.
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

    Raises typer.Exit with the highest exit code of those that failed.
    """
    in_turn({tenant.name: partial(step, deployment, tenant) for tenant in tenants}, as_json=as_json)


def in_turn(steps: Mapping[str, Callable[[], Told]], *, as_json: bool) -> None:
    """Do the step of every tenant, by name, in the same way.

    Raises typer.Exit with the highest exit code of those that failed.
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


LONGEST_S = 3_600.0
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the fit; keep what is in force.")]


def calibrate(
    context: typer.Context, tenant: TenantNames = None, *, dry_run: DryRun = False, as_json: AsObject = False
) -> None:
    """Fit what 0.7 means to the tenant's own documents (operator); the sweep does it as a tenant grows.

    Up to 150 documents are read; their titles and headings are asked as questions, beside questions that no tenant
    answers.  The same documents give the same fit.  A tenant with too few titles keeps what is in force, and the exit
    code is 1.

    With --json one object a tenant is printed, one a line.
    """
    deployment = session_of(context).deployment()
    tenants = named(deployment, tenant)
    if not tenants:
        note("there is no tenant to do that for")
    each_in_turn(deployment, tenants, _fit(dry_run=dry_run), as_json=as_json)


def _fit(*, dry_run: bool) -> Step:
    """The step that calibrates a tenant."""

    def step(deployment: Deployment, tenant: Tenant) -> Told:
        with packages():
            fit = deployment.calibrate
        with progress(f"calibrating {tenant.name}", tenant.documents, unit="documents") as show:
            done = fit(tenant.name, Deadline.after(LONGEST_S), dry_run=dry_run, progress=show)
        return _told(done)

    return step


def _told(done: Calibrated) -> Told:
    after = done.after
    lexical = f"from {after.lexical.operating_point:.2f}" if after.lexical else "no fit, the threshold is skipped"
    won = f"own chunks score over random ones in {100 * (after.separation or 0):.1f} % of cases"
    lines = [
        f"before: {_curve(done.before)}",
        f"{'now' if done.written else 'the fit would be'}: {_curve(after)}",
        f"fitted on {after.pairs} titles and headings; {won}",
        f"words alone (BM25), where there are no vectors: {lexical}",
    ]
    fields = {"before": asdict(done.before), "after": asdict(after), "written": done.written}
    return Told(lines, fields)


def _curve(calibration: Calibration) -> str:
    point, floor = calibration.vector.operating_point, calibration.noise_floor
    source = f"{calibration.basis}, {calibration.space.model}"
    return f"a cosine of {point:.3f} is worth 0.70, one under {floor:.3f} is noise ({source})"
