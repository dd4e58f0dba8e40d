"""A file over the limit of a request, pushed to the live stack: it goes by a presigned form, and is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.commands import Tenant
from tests.stacks import LocalStack

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def tenant(counted_stack: LocalStack) -> Tenant:
    return Tenant.created(counted_stack, "large")


def test_a_pushed_file_of_over_4_mb_is_indexed_and_not_sent_again(tenant: Tenant, tmp_path: Path) -> None:
    comment = "nothing to see here " * 250_000
    (tmp_path / "big page ü.html").write_text(
        f"<!doctype html><html><body><!-- {comment} --><p>The gate code is Heliotrope.</p></body></html>", "utf-8"
    )

    first = tenant.ragdrop("push", str(tmp_path), "--vault", "large", "--wait", timeout_s=300)

    assert (first.returncode, first.stdout) == (0, "1 file to vault large: 1 indexed\n"), first.stderr
    assert "Heliotrope" in tenant.search("gate code", "large")
    again = tenant.ragdrop("push", str(tmp_path), "--vault", "large")
    assert again.stdout == "0 files to vault large: 1 unchanged\n"
