"""What `make release` writes beside the packages: sums that any tool checks, and a signature that OpenSSH verifies."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checks.release import NAMESPACE, ROOT, SUMS, checksums, sign

PAGE = (ROOT / "docs/release.md").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ragdrop-9.9.9.tar.gz").write_bytes(b"an archive")
    (tmp_path / ".gitignore").write_text("*")
    (tmp_path / SUMS).write_text(checksums(tmp_path), "utf-8")
    return tmp_path


def checked(folder: Path) -> int:
    command = ["sha256sum", "--check", "--quiet", SUMS]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_one_altered_byte_of_a_package_is_found_by_the_sums(folder: Path) -> None:
    assert checked(folder) == 0

    (folder / "ragdrop-9.9.9.tar.gz").write_bytes(b"an Archive")

    assert checked(folder) != 0


def test_the_sums_list_neither_themselves_nor_hidden_files(folder: Path) -> None:
    (folder / f"{SUMS}.sig").write_text("signature")

    assert [line.split("  ")[1] for line in checksums(folder).splitlines()] == ["ragdrop-9.9.9.tar.gz"]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_the_documented_command_verifies_a_signature_and_refuses_altered_sums(folder: Path) -> None:
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    sign(folder / SUMS, key)
    public = (folder / "key.pub").read_text("utf-8")
    (folder / "allowed_signers").write_text(f"release@example.org {public}", "utf-8")
    [command] = re.findall(r"^ssh-keygen -Y verify .*$", PAGE, re.MULTILINE)

    def verified() -> int:
        return subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False).returncode  # noqa: S602

    assert f"-n {NAMESPACE} " in command
    assert verified() == 0

    (folder / SUMS).write_text(checksums(folder).replace("a", "b", 1), "utf-8")

    assert verified() != 0
