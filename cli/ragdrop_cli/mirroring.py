"""What a vault holds already, and what of it a folder does not have: so that a push sends and deletes only that."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping

import typer

from ragdrop.client import RagdropClient
from ragdrop.domain.documents import is_mass_delete
from ragdrop.errors import RagdropError
from ragdrop_cli.failures import FAILED, USAGE
from ragdrop_cli.folder_files import FolderFile, FolderFiles
from ragdrop_cli.output import note
from ragdrop_cli.pushing import PushOutcome, failed

SIDECAR_SUFFIX = ".metadata.json"
PAGE_SIZE = 1_000  # documents: the most that the API lists at once
SHOWN = 10

Holdings = Mapping[str, str | None]
"""Paths of a vault with their S3 etags, None where the API does not tell; sidecars too."""


def holdings(client: RagdropClient, vault: str, prefix: str) -> Holdings:
    """What the vault holds under *prefix*, whether it is indexed yet or not."""
    held: dict[str, str | None] = {}
    for page in client.documents(vault, prefix or None, page_size=PAGE_SIZE):
        for record in page.get("documents") or []:
            path = str(record.get("path"))
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
    """What the folder does not have; hidden names, which are never sent, are left alone.

    >>> sorted(surplus_of({"a.md": "x", "b.zip/c.md": "y", ".ragdrop.json": "z"}, FolderFiles()))
    ['a.md', 'b.zip/c.md']
    >>> surplus_of({"b.zip/c.md": "y"}, FolderFiles(unknown={"b.zip"}))
    set()
    """
    gone = (path for path in held if not folder.may_hold(path))
    return {path for path in gone if not any(segment.startswith(".") for segment in path.split("/"))}


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
    if yes:
        return
    if not sys.stdin.isatty():
        note(f"{len(surplus)} documents of vault {vault} would be deleted; nothing was done: --yes says that they may")
        raise typer.Exit(USAGE)
    for path in sorted(surplus)[:SHOWN]:
        note(f"  {path}")
    if not typer.confirm(f"delete these {len(surplus)} documents of vault {vault}?", err=True):
        raise typer.Exit(FAILED)


def delete_path(client: RagdropClient, vault: str, path: str) -> PushOutcome:
    """Delete one document; one that is gone meanwhile is told as a failure."""
    try:
        return PushOutcome(path, client.delete_document(vault, path))
    except RagdropError as exc:
        return failed(path, exc)
