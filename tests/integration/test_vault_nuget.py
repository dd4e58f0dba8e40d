"""A real documentation vault of 463 files through `ragdrop push`: all accounted for, and nothing done twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.integration.commands import WHOLE, Tenant
from tests.integration.stub_embeddings import StubEmbeddings
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

VAULT = "nuget"
PUSHED_S = 600.0
FILES_A_DAY = 120  # in `make test`; `make test-long` pushes all 463 and what lies with them


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the vault: every file, or as many of them, evenly spread."""
    given = os.environ.get("RAGDROP_EVAL_DATA")
    if not given or not (Path(given) / "vault-nuget").is_dir():
        pytest.skip("RAGDROP_EVAL_DATA names no folder with vault-nuget")
    source, target = Path(given) / "vault-nuget", tmp_path_factory.mktemp("vaults") / VAULT
    files = sorted(path for path in source.rglob("*") if path.is_file())
    step = 1 if WHOLE else -(-len(files) // FILES_A_DAY)
    for file in files[::step]:
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return target


@pytest.fixture(scope="module")
def tenant(counted_stack: LocalStack) -> Tenant:
    return Tenant.created(counted_stack, "nuget")


def push(tenant: Tenant, folder: Path) -> str:
    """What `ragdrop push --wait` says, in one line."""
    done = tenant.ragdrop("push", str(folder), "--vault", VAULT, "--wait", timeout_s=PUSHED_S)
    assert done.returncode == 0 or "failed" in done.stdout, done.stderr
    return done.stdout.strip()


def passages(embeddings: StubEmbeddings) -> int:
    """Texts of chunks, which have a title over them; a tenant's fit may still be asking titles and questions."""
    return sum("\n" in text for text in embeddings.model.given)


def test_a_real_vault_is_all_accounted_for_and_nothing_of_it_is_done_twice(
    tenant: Tenant, folder: Path, embeddings: StubEmbeddings
) -> None:
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    told = push(tenant, folder)

    records = tenant.listed(VAULT)
    assert {record["path"] for record in records} == files, told
    assert all(record["status"] == "indexed" or record["error"]["code"] for record in records), told
    assert sum(record["status"] == "indexed" for record in records) > 0.99 * len(files), told

    embedded, kept = passages(embeddings), versions(tenant)
    assert embedded > len(files)
    assert push(tenant, folder) == f"0 files to vault {VAULT}: {len(files)} unchanged"
    assert (passages(embeddings), versions(tenant)) == (embedded, kept)

    longest = max(records, key=lambda record: int(record["chunk_count"] or 0))
    edit_a_paragraph(folder / longest["path"])
    assert push(tenant, folder) == f"1 file to vault {VAULT}: 1 indexed, {len(files) - 1} unchanged"
    assert 1 <= passages(embeddings) - embedded <= 3, longest["path"]


def versions(tenant: Tenant) -> int:
    """Object versions of the vault, old ones too."""
    pages = tenant.stack.client("s3").get_paginator("list_object_versions")
    found = pages.paginate(Bucket=tenant.stack.bucket, Prefix=f"{tenant.name}/{VAULT}/")
    return sum(len(page.get("Versions", [])) for page in found)


def edit_a_paragraph(file: Path) -> None:
    """Put a few words into a paragraph in the middle of *file*."""
    text = file.read_text(encoding="utf-8")
    sentence = text.index(". ", len(text) // 2)
    file.write_text(f"{text[:sentence]}, as the heliotrope feed shows{text[sentence:]}", encoding="utf-8")
