"""Nothing that somebody outside may rely on is removed or changed: compared with the names of commit 73baed3."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.public_names import api_names, public_names

BASELINE = Path(__file__).with_name("public_names_73baed3.txt")


def test_every_public_name_of_73baed3_is_still_there() -> None:
    assert set(BASELINE.read_text("utf-8").splitlines()) - public_names() == set()


def test_a_field_that_changes_its_type_is_reported() -> None:
    def names(kind: str) -> set[str]:
        schema = {"properties": {"count": {"type": kind}}, "required": ["count"]}
        return set(api_names({"paths": {}, "components": {"schemas": {"Planted": schema}}}))

    assert names("integer") - names("string") == {"schema Planted.count: integer"}
