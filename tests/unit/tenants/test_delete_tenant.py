"""A tenant that is deleted leaves nothing, anywhere, and its neighbours are as they were."""

from __future__ import annotations

from array import array

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller, Tenant, key_hash
from ragdrop.errors import InvalidParamsError, ObjectStoreError, UnauthenticatedError
from ragdrop.tenants.administer import SETTLE_S, TenantReceipt
from tests.world import World

VECTOR: Vector = array("f", [0.5, 0.5])


class Town:
    """A world whose tenant has something in every place, and a neighbour."""

    def __init__(self) -> None:
        self.world = World("acme")
        self.waited: list[float] = []
        self.secret = self._settle("acme")
        self.world.tenant = "acme-b"  # its name begins like the other's
        self.neighbours_secret = self._settle("acme-b")
        self.world.tenant = "acme"

    def _settle(self, tenant: str) -> str:
        world = self.world
        if world.registry.tenant(tenant) is None:
            world.app.operate.operator.create_tenant(tenant)
        world.put("team/pump.md", "---\npromotion_level: critical\n---\n\n# Pump\n\nThe pump is red.")
        world.put("team/old.md", "# Old\n\nThis was.")
        world.put("team/old.md", "# Old\n\nThis is.")
        world.put("ops/gone.md", "# Gone")
        world.delete("ops/gone.md")
        world.put(".ragdrop.json", '{"max_results": 7}')
        world.state.put(f"index/{tenant}/bucket-v1/left.seg", b"x", media_type="application/octet-stream")
        world.state.put(f"sweeps/{tenant}.json", b"{}", media_type="application/json")
        world.telemetry.put_query_vectors(tenant, {"q": VECTOR}, world.now_s + 60)
        world.chat.reply = "The pump is red. [1]"
        asked = Caller(tenant, "admin")
        world.app.generate.ask(Question(Query("pump red")), asked, Deadline.after(10))
        return world.app.operate.operator.create_key(tenant, "admin")[0]

    def delete(self) -> TenantReceipt:
        return self.world.app.operate.delete_tenant("acme", Deadline.after(10), wait=self.waited.append)

    def tenant(self, name: str) -> Tenant:
        """A tenant that is there."""
        found: Tenant | None = self.world.registry.tenant(name)
        assert found is not None
        return found

    def stored(self, tenant: str) -> list[str]:
        """Where something of a tenant is left."""
        world = self.world
        at = [f"documents {each.key}" for each in world.documents.entries(f"{tenant}/")]
        at += [f"state {each.key}" for each in world.state.entries("") if f"/{tenant}/" in each.key.replace(".", "/")]
        listed = world.registry.page(tenant, vault=None, prefix="", status=None, cursor=None, limit=100)
        at += [f"head {head.key.s3_key}" for head in listed.heads]
        at += [f"key {key.id}" for key in world.registry.api_keys(tenant)]
        at += [f"promoted {each}" for each in world.registry.promoted(tenant, Deadline.after(5))]
        return at + (["tenant"] if world.registry.tenant(tenant) else [])


@pytest.fixture
def town() -> Town:
    return Town()


def test_every_place_is_emptied_and_counted(town: Town) -> None:
    assert town.stored("acme")

    receipt = town.delete()

    assert town.stored("acme") == []
    assert receipt.versions == 6  # pump, old twice, gone and its marker, settings
    assert receipt.documents == 4
    assert receipt.receipts == 1
    counts = (receipt.derived, receipt.chunks, receipt.registry_items, receipt.telemetry)
    assert all(count > 0 for count in counts), receipt


def test_its_key_opens_nothing_and_a_tenant_of_the_same_name_begins_with_nothing(town: Town) -> None:
    town.delete()
    town.world.app.operate.operator.create_tenant("acme")
    town.world.now_s += 61  # keys are cached for a minute

    with pytest.raises(UnauthenticatedError):
        town.world.app.tenants.directory.caller(town.secret)
    assert town.world.texts("pump red") == []


def test_a_neighbour_whose_name_begins_alike_keeps_everything(town: Town) -> None:
    index = town.tenant("acme-b").index
    before = town.stored("acme-b"), town.world.index.count(index, Deadline.after(5))
    assert before[1] > 0

    town.delete()

    assert (town.stored("acme-b"), town.world.index.count(index, Deadline.after(5))) == before
    assert town.world.registry.api_key(key_hash(town.neighbours_secret)) is not None


def test_it_is_disabled_first_and_what_is_on_its_way_may_end(town: Town) -> None:
    town.delete()

    assert town.waited == [SETTLE_S]


def test_one_that_was_disabled_before_is_not_waited_for(town: Town) -> None:
    town.world.app.operate.operator.set_enabled("acme", enabled=False)

    town.delete()

    assert town.waited == []


def test_cut_off_in_between_it_stays_disabled_and_the_same_call_removes_the_rest(town: Town) -> None:
    town.world.state.fail_with = ObjectStoreError("down", service="object_store")
    with pytest.raises(ObjectStoreError):
        town.delete()
    assert town.tenant("acme").enabled is False

    town.world.state.fail_with = None
    town.delete()

    assert town.stored("acme") == []


def test_an_unknown_tenant_is_an_error(town: Town) -> None:
    with pytest.raises(InvalidParamsError, match="no tenant named 'nobody'"):
        town.world.app.operate.delete_tenant("nobody", Deadline.after(10), wait=town.waited.append)
