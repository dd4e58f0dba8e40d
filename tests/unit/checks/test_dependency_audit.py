"""The audit of dependencies tells what it does not know."""

from __future__ import annotations

from pathlib import Path

from checks.dependency_audit import Audit, locks, pins


def test_what_could_not_be_looked_up_is_reported_and_fails_only_where_an_audit_is_required() -> None:
    audit = Audit()
    audit.add({"dependencies": [{"name": "a", "skip_reason": "Dependency not found"}, {"name": "b", "vulns": []}]})

    assert audit.verdict() == (0, "NOT AUDITED: 1 of 2 packages: a")
    assert audit.verdict(required=True)[0] == 1


def test_a_vulnerability_fails_and_names_its_id_and_where_it_is_mended() -> None:
    audit = Audit()
    found = {"id": "PYSEC-2026-1", "fix_versions": ["1.2"]}
    audit.add({"dependencies": [{"name": "a", "version": "1.1", "vulns": [found]}]})

    assert audit.verdict() == (1, "VULNERABLE: a 1.1 has PYSEC-2026-1, fixed in 1.2")


def test_two_versions_of_a_package_are_both_asked_for(tmp_path: Path) -> None:
    for name, text in {
        "x.txt": "a==1 \\\n    --hash=sha256:0\nb==1 \\\n",
        "y.txt": "a==2 ; python_version < '4' \\\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    assert pins([tmp_path / "x.txt", tmp_path / "y.txt"]) == [["a==1", "b==1"], ["a==2"]]


def test_all_locks_are_found() -> None:
    names = {"/".join(lock.parts[-3:]) for lock in locks()}

    assert "common/python/requirements.txt" in names
    assert any(name.endswith("functions/query/requirements.txt") for name in names)
    assert any(name.endswith("requirements/audit.txt") for name in names)
