"""What a vault holds already, and what of it a folder does not have: so that a push sends and deletes only that."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.domain.documents import is_mass_delete
from ragdrop.errors import RagdropError
from ragdrop_cli.failures import FAILED, USAGE
from ragdrop_cli.folder_files import FolderFile, FolderFiles, name_problem
from ragdrop_cli.output import note
from ragdrop_cli.pushing import PushOutcome, failed

SIDECAR_SUFFIX = ".metadata.json"
PAGE_SIZE = 1_000  # documents: the most that the API lists at once
SHOWN = 10

Holdings = Mapping[str, str | None]
"""Paths of a vault with their S3 etags, None where the API does not tell; sidecars too."""


def records(client: RagdropClient, vault: str, prefix: str) -> dict[str, Mapping[str, Any]]:
    """The records of the vault's documents under *prefix*, indexed yet or not, by their paths."""
    pages = client.documents(vault, prefix or None, page_size=PAGE_SIZE)
    return {str(record.get("path")): record for page in pages for record in page.get("documents") or []}


def holdings(found: Mapping[str, Mapping[str, Any]]) -> Holdings:
    """What a vault with these records holds.

    >>> holdings({"a.md": {"etag": "x", "sidecar_etag": "y"}})
    {'a.md': 'x', 'a.md.metadata.json': 'y'}
    """
    held: dict[str, str | None] = {}
    for path, record in found.items():
        held[path] = record.get("etag")
        if record.get("sidecar_etag"):
            held[path + SIDECAR_SUFFIX] = record["sidecar_etag"]
    return held


def is_held(held: Holdings, file: FolderFile) -> bool:
    """Whether the vault has this file with the same bytes: its etag is their MD5, as S3 gives for one sent whole."""
    etag = held.get(file.path)
    if not etag or not file.file.is_file():
        return False
    try:
        return file.md5() == etag
    except OSError:  # whoever sends it tells
        return False


def surplus_of(held: Holdings, folder: FolderFiles) -> set[str]:
    """What the folder does not have; hidden names and those of no document, which are never sent, are left alone.

    >>> sorted(surplus_of({"a.md": "x", "b.zip/c.md": "y", ".ragdrop.json": "z"}, FolderFiles()))
    ['a.md', 'b.zip/c.md']
    >>> surplus_of({"b.zip/c.md": "y"}, FolderFiles(unknown={"b.zip"}))
    set()
    >>> surplus_of({"b//c.md": "y"}, FolderFiles())
    set()
    """
    gone = (path for path in held if not folder.may_hold(path))
    sent = (path for path in gone if not any(segment.startswith(".") for segment in path.split("/")))
    return {path for path in sent if name_problem(path) is None}


def renamed(held: Holdings, surplus: Collection[str], sent: Iterable[PushOutcome]) -> list[tuple[str, str]]:
    """Pairs of a path that the folder does not have and one that was sent with the same bytes.

    >>> renamed({"a.md": "x"}, ["a.md"], [PushOutcome("b.md", md5="x"), PushOutcome("c.md", md5="x")])
    [('a.md', 'b.md')]
    """
    gone = {etag: path for path in surplus if (etag := held.get(path))}
    return [(gone.pop(each.md5), each.path) for each in sent if each.md5 in gone and not each.problem]


def may_delete(surplus: Collection[str], held: int, vault: str, *, yes: bool, allow_mass_delete: bool) -> None:
    """Return if *surplus* may be deleted.

    Raises:
        typer.Exit: With 1 where it is too much or the answer was no; with 2 where nobody can be asked.
    """
    if not surplus:
        return
    if is_mass_delete(len(surplus), held) and not allow_mass_delete:
        note(f"REFUSED: {len(surplus)} of {held} documents of vault {vault} would be deleted; nothing was done")
        note("next: is it the right folder? if it is, run it again with --allow-mass-delete")
        raise typer.Exit(FAILED)
    confirm_deletion(surplus, vault, yes=yes)


def confirm_deletion(paths: Collection[str], vault: str, *, yes: bool) -> None:
    """Return if these documents may be deleted.

    Raises:
        typer.Exit: With 1 where the answer was no; with 2 where nobody can be asked.
    """
    if not paths or yes:
        return
    if not sys.stdin.isatty():
        note(f"{len(paths)} documents of vault {vault} would be deleted; nothing was done: --yes says that they may")
        raise typer.Exit(USAGE)
    for path in sorted(paths)[:SHOWN]:
        note(f"  {path}")
    if not typer.confirm(f"delete these {len(paths)} documents of vault {vault}?", err=True):
        raise typer.Exit(FAILED)


def delete_path(client: RagdropClient, vault: str, path: str) -> PushOutcome:
    """Delete one document; one that is gone meanwhile is told as a failure."""
    try:
        return PushOutcome(path, client.delete_document(vault, path))
    except RagdropError as exc:
        return failed(path, exc)
