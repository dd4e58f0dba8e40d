"""Calibrate: a fit from the tenant's own titles and headings, of its active index, the same each time."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop.calibration.calibrate import Calibrated
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import Calibration
from ragdrop.domain.tenants import Tenant, calibration_of
from ragdrop.errors import ConflictError, InvalidParamsError
from tests.world import TENANT, World

SUBJECTS = (
    "harbour lighthouse keeper",
    "copper turbine blades",
    "glacier melt stations",
    "orchard frost alarms",
    "violin varnish recipes",
    "railway signal boxes",
    "desert well pumps",
    "paper mill rollers",
    "beehive weight sensors",
    "canal lock gates",
    "granite quarry saws",
    "tram overhead wires",
    "salt marsh ditches",
    "wind tunnel scales",
    "cheese cellar humidity",
    "bell tower clockwork",
)


def fill(world: World, copies: int = 1) -> None:
    for copy in range(copies):
        for number, subject in enumerate(SUBJECTS):
            text = f"# The {subject}\n\nWho looks after the {subject} reads page {number} of the {subject} book.\n"
            world.put(f"team/{copy}-{number}.md", text if copy == 0 else text.replace("The ", f"Volume {copy}, "))


def calibrate(world: World, vault: str = "team", **options: Any) -> Calibrated:
    return world.app.operate.calibrate(TENANT, vault, Deadline.after(60), **options)


def stored(world: World) -> Calibration | None:
    tenant: Tenant | None = world.registry.tenant(TENANT)
    assert tenant is not None
    return tenant.fits.get("team")


def test_a_fit_is_stored_and_in_force(world: World) -> None:
    fill(world)

    done = calibrate(world)

    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    assert done.written
    assert done.before.basis == "generic"
    assert calibration_of(tenant, "team") == done.after
    assert (done.after.pairs, done.after.documents, done.after.basis) == (16, 16, "fitted")


def test_own_chunks_are_separated_from_random_ones(world: World) -> None:
    fill(world)

    assert (calibrate(world).after.separation or 0) > 0.95


def test_a_dry_run_stores_nothing(world: World) -> None:
    fill(world)

    done = calibrate(world, dry_run=True)

    assert not done.written
    assert stored(world) is None


def test_the_same_documents_give_the_same_fit(world: World) -> None:
    fill(world)

    assert calibrate(world).after == calibrate(world).after


def test_too_few_titles_are_refused_and_what_is_in_force_stays(world: World) -> None:
    world.put("team/a.md", "# The harbour lighthouse\n\nIts keeper.")

    with pytest.raises(ConflictError, match=r"'acme/team' has 1 documents to learn from, 12 are needed"):
        calibrate(world)

    assert stored(world) is None


def test_near_duplicates_of_every_document_do_not_spoil_the_fit(world: World) -> None:
    fill(world)
    alone = calibrate(world).after
    fill(world, copies=3)

    among_copies = calibrate(world).after

    assert among_copies.vector.operating_point == pytest.approx(alone.vector.operating_point, abs=0.1)


def test_documents_without_a_usable_title_count_for_nothing(world: World) -> None:
    fill(world)
    for number in range(10):
        world.put(f"team/note-{number}.md", "# Notes\n\nNothing to see.")

    assert calibrate(world).after.pairs == 16


def test_deleted_documents_are_not_learned_from(world: World) -> None:
    fill(world)
    world.delete("team/0-0.md")

    assert calibrate(world).after.pairs == 15


def test_progress_reports_the_documents_read(world: World) -> None:
    fill(world)
    reported: list[tuple[int, int]] = []

    calibrate(world, progress=lambda done, total: reported.append((done, total)))

    assert reported[-1] == (16, 16)


def test_an_unknown_tenant_is_named(world: World) -> None:
    with pytest.raises(InvalidParamsError, match="nobody"):
        world.app.operate.calibrate("nobody", "team", Deadline.after(60))


def test_documents_without_titles_are_fitted_by_questions_that_nothing_answers(world: World) -> None:
    for number, subject in enumerate(SUBJECTS):
        world.put(f"team/{number}.txt", f"Who looks after the {subject} reads its book.")

    after = calibrate(world).after

    assert (after.basis, after.pairs, after.separation) == ("fitted", 16, None)


def test_no_other_vault_moves_the_fit_of_one(world: World) -> None:
    fill(world)
    alone = calibrate(world).after
    for number in range(30):
        world.put(f"other/{number}.md", f"# How bread {number} rises\n\nSourdough bread rises in the oven {number}.")

    beside = calibrate(world).after

    assert beside == alone
    assert calibrate(world, "other").after.vector != alone.vector


def test_the_questions_that_nothing_answers_are_embedded_once(world: World) -> None:
    fill(world)
    calibrate(world)
    before = world.embedder.calls
    calibrate(world)

    assert world.embedder.calls == before + 1  # the titles
