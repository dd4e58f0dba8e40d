"""The command `ragdrop`: its commands, its version, and how an error ends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ragdrop import __version__
from ragdrop.errors import RagdropError
from ragdrop_cli import (
    audit,
    connect,
    costs,
    doctor,
    documents,
    evaluation,
    history,
    import_kb,
    indexes,
    invoke,
    push,
    questions,
    replay,
    stats,
    tenants,
)
from ragdrop_cli.options import JSON_REQUESTED
from ragdrop_cli.output import INTERRUPTED, body_of, describe, exit_code, note, own_body, say, say_body, say_object
from ragdrop_cli.session import Session

EXIT_CODES = (
    "Exit codes: 0 all went well; 1 the request or a file failed; 2 the command or its settings are wrong; "
    "3 the API, or a service behind it, could not be reached; 130 Ctrl-C."
)
WHERE = (
    "The API is where RAGDROP_API_URL and RAGDROP_API_KEY say, else where .local/stack.json says, here or in a parent "
    "folder (RAGDROP_STACK names another file)."
)

PANELS = {
    **dict.fromkeys(("push", "watch", "import-kb", "ls", "show", "access", "rm", "retry"), "Documents"),
    **dict.fromkeys(("history", "diff", "rollback"), "The past"),
    **dict.fromkeys(("stages", "promote", "discard"), "Staged changes"),
    **dict.fromkeys(("search", "ask", "verify", "replay", "threads", "eval", "mcp", "open"), "Questions"),
    **dict.fromkeys(("tenant", "key", "connect", "calibrate", "sweep", "restore", "reindex"), "Operating, with AWS"),
    **dict.fromkeys(("stats", "vaults", "doctor", "canary"), "How it is"),
    **dict.fromkeys(("cost", "invoke", "completion"), "At your desk"),
}


class Commands(TyperGroup):
    """The root group: what ragdrop raises on purpose ends as two lines on standard error, not as a trace."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error becomes its exit code, with `--json` it is printed as a body too."""
        try:
            return super().invoke(ctx)
        except RagdropError as error:
            if ctx.meta.get(JSON_REQUESTED):
                body = body_of(error)
                say_object(own_body(error)) if body is None else say_body(body)
            for line in describe(error):
                note(line)
            raise typer.Exit(exit_code(error)) from error


def _print_version(requested: bool) -> None:  # noqa: FBT001 -- Typer calls it with the option's value
    if requested:
        say(f"ragdrop {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 -- its callback acts before anything else runs
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Drop files, ask questions, get answers whose every citation was checked."""
    if context.obj is None:
        context.obj = Session()


def build() -> typer.Typer:
    """The command line; `CliRunner.invoke(build(), [...], obj=Session(...))` runs it on something else."""
    connect.answer_shells()
    app = typer.Typer(
        name="ragdrop",
        cls=Commands,
        callback=_root,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,  # a trace must not show local variables: they may hold keys or documents
        epilog=f"{EXIT_CODES}\n\n{WHERE}\n\nExample: ragdrop push notes --vault team --wait",
    )
    tenant = typer.Typer(
        no_args_is_help=True,
        help="Make, list and close tenants (operator).",
        epilog="Example: ragdrop tenant create acme",
    )
    key = typer.Typer(
        no_args_is_help=True,
        help="Make, list, rotate and revoke API keys (operator).",
        epilog="Example: ragdrop key create acme --role reader",
    )
    audits = typer.Typer(
        no_args_is_help=True,
        help="Export receipts of answers, and check what was exported.",
        epilog="Example: ragdrop audit export audit",
    )
    commands: list[tuple[typer.Typer, str, Callable[..., None], str]] = [
        (app, "push", push.push, "ragdrop push notes --vault team --wait"),
        (app, "search", questions.search, 'ragdrop search "pump code" --vault team --limit 3'),
        (app, "ask", questions.ask, 'ragdrop ask "What is the code of the pump?" --vault team'),
        (app, "verify", questions.verify, "ragdrop verify answer.txt --source notes/pump.md"),
        (app, "replay", replay.replay, "ragdrop replay 0123456789abcdef0123456789abcdef"),
        (app, "threads", replay.threads, "ragdrop threads pump"),
        (app, "open", connect.open_page, "ragdrop open --print"),
        (app, "ls", documents.ls, "ragdrop ls --vault team --failed"),
        (app, "show", documents.show, "ragdrop show team/notes/pump.md"),
        (app, "access", documents.access, "ragdrop access team/notes/pump.md"),
        (
            app,
            "table",
            documents.table,
            'ragdrop table team/office/bike-tours.csv --query "How many tours were longer than 80 km?"',
        ),
        (app, "rm", documents.rm, "ragdrop rm team/notes/pump.md"),
        (app, "history", history.history, "ragdrop history team/notes/pump.md --changes"),
        (app, "watch", push.watch, "ragdrop watch notes --vault team --yes"),
        (app, "import-kb", import_kb.import_kb, "ragdrop import-kb ZKFSFUG3QO --vault team"),
        (app, "diff", replay.diff, "ragdrop diff 0123456789abcdef0123456789abcdef"),
        (app, "rollback", history.rollback, "ragdrop rollback team/notes --to 2026-01-31T10:00:00Z --dry-run"),
        (app, "stages", history.stages, "ragdrop stages team"),
        (app, "promote", history.promote, "ragdrop promote team spring"),
        (app, "discard", history.discard, "ragdrop discard team spring"),
        (app, "retry", documents.retry, "ragdrop retry team/notes/pump.md"),
        (app, "doctor", doctor.doctor, "ragdrop doctor --skip-accuracy"),
        (app, "canary", evaluation.canary, "ragdrop canary --vault team"),
        (app, "stats", stats.stats, "ragdrop stats 7d"),
        (app, "vaults", stats.vaults, "ragdrop vaults"),
        (app, "calibrate", indexes.calibrate, "ragdrop calibrate --tenant acme --dry-run"),
        (app, "sweep", indexes.sweep, "ragdrop sweep --tenant acme --dry-run"),
        (app, "restore", indexes.restore, "ragdrop restore"),
        (app, "reindex", indexes.reindex, "ragdrop reindex --tenant acme --chunk-tokens 240"),
        (app, "eval", evaluation.evaluate, "ragdrop eval questions.jsonl --vault team --gate 0.8"),
        (app, "invoke", invoke.invoke, "ragdrop invoke query events/search.json"),
        (app, "mcp", connect.mcp, "ragdrop mcp --wait-s 60"),
        (app, "connect", connect.connect, "ragdrop connect ragdrop-dev --tenant acme"),
        (app, "cost", costs.cost, "ragdrop cost --before deploy"),
        (app, "completion", connect.completion, 'eval "$(ragdrop completion bash)"'),
        (tenant, "create", tenants.create, "ragdrop tenant create acme --if-missing"),
        (tenant, "list", tenants.list_all, "ragdrop tenant list"),
        (tenant, "limit", tenants.limit, "ragdrop tenant limit acme --per-minute 600 --key-per-minute 120"),
        (tenant, "disable", tenants.disable, "ragdrop tenant disable acme"),
        (tenant, "enable", tenants.enable, "ragdrop tenant enable acme"),
        (tenant, "delete", tenants.delete, "ragdrop tenant delete old-project --yes"),
        (
            key,
            "create",
            tenants.create_key,
            "ragdrop key create acme --role reader --vault team --group hr --expires 90d",
        ),
        (key, "list", tenants.list_keys, "ragdrop key list acme"),
        (key, "rotate", tenants.rotate_key, "ragdrop key rotate acme 0123456789ab --overlap 24h"),
        (key, "revoke", tenants.revoke_key, "ragdrop key revoke acme 0123456789ab"),
        (audits, "export", audit.export, "ragdrop audit export s3://acme-audit/ragdrop --retain 365d"),
        (audits, "verify", audit.verify, "ragdrop audit verify audit"),
    ]
    for group, name, command, example in commands:
        group.command(name, epilog=f"Example: {example}", rich_help_panel=PANELS.get(name))(command)
    app.add_typer(tenant, name="tenant", rich_help_panel=PANELS["tenant"])
    app.add_typer(key, name="key", rich_help_panel=PANELS["key"])
    app.add_typer(audits, name="audit", rich_help_panel=PANELS["stats"])
    return app


def main() -> None:
    """Run the command line on this process's arguments.

    What the output's encoding lacks is escaped: a pipe on Windows has 256 characters.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        build()()
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # the interpreter's own end would wait for the threads of a push, up to 30 s
