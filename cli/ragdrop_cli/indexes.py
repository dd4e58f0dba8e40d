"""`ragdrop reindex`, `calibrate`, `sweep` and `restore`: what operators do for the indexes of tenants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import ActiveIndex, Tenant, index_name
from ragdrop.errors import ConfigurationError, ConflictError, InvalidParamsError, RagdropError
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import code_of, describe, exit_code, note, progress, say, say_object
from ragdrop_cli.session import Deployment, packages, session_of

if TYPE_CHECKING:
    from ragdrop.domain.models import Calibration
from typing import TYPE_CHECKING

from ragdrop.operate.sweep import SweepReport
from ragdrop.ports.indexes import ALL_BYTES, SOME_BYTES, BytesToRead
from ragdrop_cli.folder_files import shown
from ragdrop_cli.output import FAILED

if TYPE_CHECKING:
    from ragdrop.operate.restore import Restore, RestoreReport


Outcome = tuple[list[str], dict[str, Any]]
"""What came of a step: lines for people, fields for `--json`."""
Step = Callable[[Deployment, Tenant], Outcome]


def build(target: ActiveIndex, *, again: bool, by_workers: bool = False) -> Step:
    """The step that brings a tenant to an index of the same make as *target*; its name is chosen for each tenant.

    *again* builds also where the tenant's index is of that make; *by_workers* plans it for the ingest functions.
    """

    def step(deployment: Deployment, tenant: Tenant) -> Outcome:
        now = tenant.active
        if not again and tenant.building is None and now.make == target.make:
            # asked here too: one that was just switched is not in the way of a command that continues with the others
            return ([f"{now.name} is so already"], {"changed": False, "index": now.name})
        command = f"ragdrop reindex --tenant {tenant.name}"
        with packages():
            move = deployment.planned_reindex if by_workers else deployment.reindex
        try:
            with progress(f"reindexing {tenant.name}", tenant.documents, unit="documents") as show:
                report = move.run(tenant.name, target, show, again=again)
        except KeyboardInterrupt:
            note(f"stopped; the same command continues where it was, {command} --abort gives the new index up")
            raise
        if report is None:
            return ([f"{now.name} is so already"], {"changed": False, "index": now.name})
        lines = [
            f"{report.to_index} answers now, {report.from_index} stays",
            f"{report.documents} documents in {report.chunks} chunks, {report.copied} copied",
            f"to go back: {command} --rollback",
            f"to drop the old index: {command} --drop-old",
        ]
        counts = {"documents": report.documents, "chunks": report.chunks, "copied": report.copied}
        return (lines, {"changed": True, "index": report.to_index, "previous": report.from_index, **counts})

    return step


def estimate(target: ActiveIndex, *, again: bool) -> Step:
    """The step that says what a reindex will take, and changes nothing."""

    def step(_deployment: Deployment, tenant: Tenant) -> Outcome:
        if not again and tenant.building is None and tenant.active.make == target.make:
            return ([f"{tenant.active.name} is so already"], {"changed": False, "index": tenant.active.name})
        with packages():
            from ragdrop.operate.planned_reindex import estimated
        fields = asdict(estimated(tenant, target))
        tokens = f"up to {fields['tokens']} tokens" if fields["tokens"] else "no tokens"
        lines = [
            f"{fields['documents']} documents, about {fields['chunks']} chunks, {fields['items']} items of a plan",
            f"{tokens} to embed; stored vectors are used again where a passage stays the same",
            f"functions, queue, table and bucket cost about ${fields['usd']:.2f} by list price; models are not in it",
        ]
        return (lines, {"changed": False, **fields})

    return step


def plan_status(deployment: Deployment, tenant: Tenant) -> Outcome:
    """How far the plan of a tenant's new index is."""
    with packages():
        from ragdrop.operate.planned_reindex import usd_of

        now = deployment.planned_reindex.status(tenant)
    if now is None or tenant.building is None:
        return (["no plan is under way"], {"planned": False})
    counts, seconds = now.counts, max(now.ended_at_s - now.begun_at_s, 0.0)
    spent = asdict(counts) | {"items": now.planned, "done": now.done, "usd": round(usd_of(now), 4)}
    listed = "all are listed" if now.after is None else "listing continues"
    lines = [
        f"{tenant.building.name}: {now.done} of {now.planned} items done, {now.listed} documents listed, {listed}",
        f"{counts.documents} documents, {counts.chunks} chunks, {counts.embedded} texts embedded in {seconds:.0f} s",
        f"functions worked {counts.milliseconds / 1_000:.0f} s: about ${usd_of(now):.2f} by list price, without models",
    ]
    return (lines, {"planned": True, "index": tenant.building.name, "listed_all": now.after is None, **spent})


def roll_back(deployment: Deployment, tenant: Tenant) -> Outcome:
    """Let the index before the last switch answer again."""
    after = deployment.reindex.rollback(tenant.name)
    left = after.previous.name if after.previous else tenant.active.name
    lines = [
        f"{after.active.name} answers again, {left} stays",
        f"to drop the other index: ragdrop reindex --tenant {tenant.name} --drop-old",
    ]
    return (lines, {"index": after.active.name, "previous": left})


def drop_old_index(deployment: Deployment, tenant: Tenant) -> Outcome:
    """Remove the index before the last switch."""
    removed = deployment.reindex.drop_previous(tenant.name)
    old = tenant.previous.name if tenant.previous else None
    return ([f"{old} is removed, {removed} chunks"], {"dropped": old, "chunks_removed": removed})


def give_up(deployment: Deployment, tenant: Tenant) -> Outcome:
    """Remove the index that is being built, with its plan."""
    with packages():
        deployment.planned_reindex.abort(tenant)
    removed = deployment.reindex.abort(tenant.name)
    new = tenant.building.name if tenant.building else None
    lines = [f"{new} is given up, {removed} chunks removed; {tenant.active.name} continues to answer"]
    return (lines, {"dropped": new, "chunks_removed": removed})


TenantNames = Annotated[
    list[str] | None, typer.Option("--tenant", help="Only this tenant; may be given several times.", show_default="all")
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
Workers = Annotated[
    bool, typer.Option("--workers", help="Let the stack's functions do it, many at once, by a plan in the registry.")
]
Status = Annotated[bool, typer.Option("--status", help="Show how far plans are, and what they cost so far.")]
Estimated = Annotated[bool, typer.Option("--dry-run", help="Show what it takes and costs; change nothing.")]


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
    workers: Workers = False,
    status: Status = False,
    dry_run: Estimated = False,
    as_json: AsObject = False,
) -> None:
    """Build a new index beside the old one from the stored texts, then let it answer (operator).

    The model is the one of the settings, and so are the chunk sizes that are not given.  --to moves between the bucket
    index and OpenSearch; for both directions INDEX_URL names the OpenSearch.  Meanwhile the old index
    answers, and it stays up to date until --drop-old.  Cut off, the same command continues where it was.  With
    --workers the ingest functions do the work, and the command waits for them; --dry-run shows before what it takes.

    With --json one object a tenant is printed, one a line.
    """
    given: dict[str, Any] = {"chunk_tokens": chunk_tokens, "chunk_overlap_tokens": chunk_overlap_tokens}
    sizes = {name: size for name, size in given.items() if size is not None}
    if rollback + drop_old + abort + status + bool(sizes or outdated or to or workers or dry_run) > 1:
        message = "--rollback, --drop-old, --abort, --status and what a new index is like exclude each other"
        raise typer.BadParameter(message)
    deployment = session_of(context).deployment()
    tenants = named(deployment, tenant)
    step: Step
    if rollback or drop_old:
        step = roll_back if rollback else drop_old_index
        tenants = [each for each in tenants if tenant or each.previous]
    elif abort or status:
        step = give_up if abort else plan_status
        tenants = [each for each in tenants if tenant or each.building]
    else:
        target = replace(deployment.settings, **sizes).seed_index()
        if to == "opensearch" and deployment.settings.engine == "bucket":
            raise ConfigurationError(
                "INDEX_URL names no OpenSearch: deploy with IndexUrl set to its URL first; tenants stay where they are"
            )
        target = replace(target, name=index_name(target.space, to)) if to else target
        step = estimate(target, again=outdated) if dry_run else build(target, again=outdated, by_workers=workers)
    if not tenants:
        note("there is no tenant to do that for")
    in_turn({each.name: partial(step, deployment, each) for each in tenants}, as_json=as_json)


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


def in_turn(steps: Mapping[str, Callable[[], Outcome]], *, as_json: bool) -> None:
    """Do the step of every tenant, by name, and print what came of it; one that fails does not stop the others.

    Raises typer.Exit with the highest exit code of those that failed.
    """
    worst = 0
    for name, step in steps.items():
        try:
            lines, fields = step()
        except RagdropError as error:
            worst = max(worst, exit_code(error))
            for line in describe(error):
                note(f"{name}: {line}")
            if as_json:
                problem = {"code": code_of(error), "message": error.message, "details": error.details}
                say_object({"tenant": name, "error": problem})
            continue
        if as_json:
            say_object({"tenant": name, **fields})
            continue
        for line in lines:
            say(f"{name}: {line}")
    if worst:
        raise typer.Exit(worst)


LONGEST_S = 3_600.0
DryFit = Annotated[bool, typer.Option("--dry-run", help="Show the fit; keep what is in force.")]


def calibrate(
    context: typer.Context, tenant: TenantNames = None, *, dry_run: DryFit = False, as_json: AsObject = False
) -> None:
    """Fit what 0.7 means to the documents of each vault (operator); ingest and the sweep do it as a vault grows.

    Up to 150 documents are read; their titles and headings are asked as questions, beside questions that no vault
    answers.  The same documents give the same fit.  A vault with too few documents keeps what is in force; if it
    is the tenant's only one, the exit code is 1.

    With --json one object a vault is printed, one a line.
    """
    deployment = session_of(context).deployment()
    tenants = named(deployment, tenant)
    if not tenants:
        note("there is no tenant to do that for")
    vaults = {f"{each.name}/{vault}": (each, vault) for each in tenants for vault in each.vaults or ("",)}
    steps = {name: partial(_calibrated, deployment, *place, dry_run=dry_run) for name, place in vaults.items()}
    in_turn(steps, as_json=as_json)


def _calibrated(deployment: Deployment, tenant: Tenant, vault: str, *, dry_run: bool) -> Outcome:
    named_by = {"tenant": tenant.name, "vault": vault}
    with packages():
        fit = deployment.calibrate
    try:
        with progress(f"calibrating {tenant.name}/{vault}", tenant.documents, unit="documents") as show:
            done = fit(tenant.name, vault, Deadline.after(LONGEST_S), dry_run=dry_run, progress=show)
    except ConflictError as exc:  # too few documents
        if len(tenant.vaults) <= 1:
            raise
        return [exc.message], {**named_by, "unchanged": exc.message}
    after = done.after
    lexical = f"from {after.lexical.operating_point:.2f}" if after.lexical else "no fit, the threshold is skipped"
    won = (
        "there are too few titles to ask"
        if after.separation is None
        else f"own chunks score over random ones in {100 * after.separation:.1f} % of cases"
    )
    learned = "documents" if after.separation is None else "titles and headings"
    lines = [
        f"before: {_curve(done.before)}",
        f"{'now' if done.written else 'the fit would be'}: {_curve(after)}",
        f"fitted on {after.pairs} {learned}; {won}",
        f"lexical only (BM25), where there are no vectors: {lexical}",
    ]
    return lines, {**named_by, "before": asdict(done.before), "after": asdict(after), "written": done.written}


def _curve(calibration: Calibration) -> str:
    point, floor = calibration.vector.operating_point, calibration.noise_floor
    source = f"{calibration.basis}, {calibration.space.model}"
    return f"a cosine of {point:.3f} is worth 0.70, one under {floor:.3f} is noise ({source})"


LONGEST_SWEEP_S = 24 * 3_600.0
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report what differs; change and send nothing.")]
Verify = Annotated[bool, typer.Option("--verify", help="Read every byte of the index, not only what is due.")]
AllowMassDelete = Annotated[
    bool, typer.Option("--allow-mass-delete", help="Accept that over 20 % and over 20 documents of a vault are gone.")
]
MEANINGS = {
    "new": "in the bucket, not in the registry",
    "changed": "another version in the bucket",
    "gone": "in the registry, not in the bucket",
    "stuck": "begun and left",
}


def sweep(
    context: typer.Context,
    tenant: TenantNames = None,
    *,
    dry_run: DryRun = False,
    verify: Verify = False,
    allow_mass_delete: AllowMassDelete = False,
    as_json: AsObject = False,
) -> None:
    """Rebuild what the index lost, and find documents whose events were lost (operator); the schedule does so hourly.

    The index is compared with its manifest by names, sizes and ETags; of one up to 64 MB every byte is read, of a
    larger one the share that is due, with --verify all of it.  What is missing or damaged is rebuilt from stored texts
    and vectors, without embedding.  Documents that differ are only rechecked: ingest asks the bucket for the truth.

    The exit code is 0 where all is well or was rebuilt.  It is 1 where the index is not whole: after a dry run that
    found damage, where the time was over, or where a stored text is gone too.  It is 1 as well where so much of a vault
    is gone that the listing is likelier wrong (nothing of that is done), and where a service failed.

    With --json one object a tenant is printed, one a line; `index_fault`, `rebuilt` and `index_whole` are the index's.
    """
    deployment = session_of(context).deployment()
    worst = 0
    for each in named(deployment, tenant):
        try:
            with packages():
                step = deployment.sweep_tenants
            reading = BytesToRead(ALL_BYTES, progress=_shown(each.name)) if verify else SOME_BYTES
            until = Deadline.after(LONGEST_SWEEP_S)
            report = step.one(each.name, until, reading=reading, dry_run=dry_run, allow_mass_delete=allow_mass_delete)
        except RagdropError as error:
            worst = max(worst, exit_code(error))
            for line in describe(error):
                note(f"{each.name}: {line}")
            if as_json:
                say_object({"tenant": each.name, "error": {"code": code_of(error), "message": error.message}})
            continue
        worst = max(worst, FAILED if report.refused or report.failed or not report.index_whole else 0)
        if as_json:
            say_object(asdict(report))
        else:
            _say(report)
        _warn(report)
    if worst:
        raise typer.Exit(worst)


def _shown(name: str) -> Callable[[int, int], None]:
    return lambda done, of: note(f"{name}: {done / 1e6:.1f} of {of / 1e6:.1f} MB of the index are read")


def _say(report: SweepReport) -> None:
    verb = "would be rechecked" if report.dry_run else "are rechecked"
    say(f"{report.tenant}: {report.objects} documents in {report.vaults} vaults; {report.asked} {verb}")
    if report.index_fault:
        say(f"index: {report.index_fault}", indent=2)
        say("would be rebuilt from stored texts" if report.dry_run else f"{report.rebuilt} documents rebuilt", indent=2)
    for kind, count in report.found.items():
        if count:
            say(f"{count} {kind} ({MEANINGS[kind]}): {_some(report.names[kind], count)}", indent=2)
    if report.recent:
        say(f"{report.recent} changed too lately, left for the next sweep", indent=2)
    if report.unusable:
        names = [shown(name) for name in report.unusable_names]
        say(f"{report.unusable} keys name no document: {_some(names, report.unusable)}", indent=2)
    if report.orphans:
        done = "would be removed" if report.dry_run else f"removed, {report.orphan_chunks} chunks"
        say(f"{report.orphans} orphaned revisions {done}", indent=2)
    if report.expired:
        done = "would be removed" if report.dry_run else "removed"
        say(f"{report.expired} revisions gone for 30 days {done}, {report.expired_objects} objects", indent=2)
    if any(report.corrected.values()):
        off = ", ".join(f"{name} {amount:+}" for name, amount in report.corrected.items())
        say(f"counters {'are off by' if report.dry_run else 'corrected by'}: {off}", indent=2)


def _some(names: list[str], count: int) -> str:
    shown = ", ".join(names[:5])
    return shown + (f" and {count - 5} more" if count > 5 else "")


def _warn(report: SweepReport) -> None:
    for each in report.refused:
        note(
            f"{report.tenant}: REFUSED: {each.gone} of {each.known} documents of vault {each.vault} are gone within "
            "24 hours; nothing was done about them"
        )
        note("next: look whether the bucket is whole; if it is, run it again with --allow-mass-delete")
    if not report.index_whole and not report.dry_run:
        note(f"{report.tenant}: the index is not whole: stored texts are gone too; write those documents again")
    if report.failed:
        note(f"{report.tenant}: retired segments could not be deleted ({report.failed}); the next sweep tries again")
    if not report.finished:
        note(f"{report.tenant}: the time was over; the same command continues where this one was")


def restore(context: typer.Context, tenant: TenantNames = None, *, as_json: AsObject = False) -> None:
    """Restore what the registry and the state bucket lost, from the document bucket alone (operator).

    Tenants that only the bucket knows are created again, their settings files take effect, and ingest indexes what is
    missing; stored vectors are used again.  What was deleted stays deleted, and what waited in a stage waits.  Cut off,
    the same command continues; with nothing lost it changes nothing.  API keys are in no bucket: make new ones.

    With --json one object a tenant is printed, one a line.
    """
    session = session_of(context)
    with packages():
        step = session.deployment().restore
    names = tenant or step.names()
    if not names:
        note("the bucket has no documents")
    in_turn({name: partial(_restored, step, name, session.sleep) for name in names}, as_json=as_json)


def _restored(step: Restore, name: str, wait: Callable[[float], None]) -> Outcome:
    try:
        with progress(f"restoring {name}", 0, unit="documents") as show:
            report = step(name, show, wait=wait)
    except KeyboardInterrupt:
        note("stopped; the same command continues where it was")
        raise
    fields = asdict(report)
    del fields["tenant"]
    return _lines(report), fields


def _lines(report: RestoreReport) -> list[str]:
    failed = ", ".join(f"{count} {code}" for code, count in sorted(report.failed.items()))
    lines = ["the tenant is created again"] if report.created else []
    lines += [
        f"{report.indexed} documents indexed, {report.staged} waiting in stages, {report.deleted} deleted",
        f"{sum(report.failed.values())} failed{': ' if failed else ''}{failed}",
        f"{report.embedded} chunks embedded, {report.reused} with stored vectors",
    ]
    if not report.keys:
        lines.append(f"it has no API keys: ragdrop key create {report.tenant} --role admin")
    return lines
