"""What every Registry does with a tenant's calibration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragdrop.domain.models import Calibration, Curve
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import new_tenant_name, tenant_of


@pytest.fixture
def fit() -> Calibration:
    return Calibration(
        tenant_of("any").active.space,
        Curve(0.4213, 0.0517),
        lexical=Curve(7.0, 1.0),
        basis="fitted",
        pairs=120,
        documents=80,
        separation=1.0,
        fitted_at="2026-01-02T03:04:05Z",
    )


def test_a_new_tenant_has_no_fit(registry: Registry) -> None:
    tenant = tenant_of(new_tenant_name())
    registry.create_tenant(tenant)

    found = registry.tenant(tenant.name)

    assert found is not None
    assert found.calibration is None


def test_a_fit_comes_back_as_it_was_written_and_raises_the_generation(registry: Registry, fit: Calibration) -> None:
    tenant = tenant_of(new_tenant_name())
    registry.create_tenant(tenant)

    assert registry.put_calibration(tenant.name, fit)

    assert registry.tenant(tenant.name) == replace(tenant, calibration=fit, generation=1)


def test_a_later_fit_replaces_all_of_the_one_before(registry: Registry, fit: Calibration) -> None:
    tenant = tenant_of(new_tenant_name())
    registry.create_tenant(tenant)
    registry.put_calibration(tenant.name, fit)
    later = replace(fit, lexical=None, separation=None, pairs=240)

    registry.put_calibration(tenant.name, later)

    found = registry.tenant(tenant.name)
    assert found is not None
    assert found.calibration == later


def test_the_fits_of_vaults_stand_beside_each_other(registry: Registry, fit: Calibration) -> None:
    tenant = tenant_of(new_tenant_name())
    registry.create_tenant(tenant)
    other = replace(fit, pairs=240)

    registry.put_calibration(tenant.name, fit, vault="hr")
    registry.put_calibration(tenant.name, other, vault="team.notes")

    found = registry.tenant(tenant.name)
    assert found is not None
    assert found.fits == {"hr": fit, "team.notes": other}


def test_a_fit_of_an_unknown_tenant_makes_no_tenant(registry: Registry, fit: Calibration) -> None:
    name = new_tenant_name()

    assert not registry.put_calibration(name, fit)

    assert registry.tenant(name) is None
