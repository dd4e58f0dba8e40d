"""What a tenant's questions and documents cost."""

from __future__ import annotations

from ragdrop.operate.costs import ASK_GB_S, INGEST_GB_S, CostLine, unit_usd
from tests.world import World


def costs(world: World) -> dict[str, CostLine]:
    """The lines of the last day by name."""
    operate = world.app.operate
    lines = operate.read_costs(world.caller, "24h", operate.read_stats(world.caller, "24h"))
    return {line.name: line for line in lines}


def counts(world: World) -> dict[str, int | None]:
    return {name: line.count for name, line in costs(world).items()}


def test_documents_are_counted_by_what_became_of_them() -> None:
    world = World()
    world.put("team/a.md", "The pump is red.")
    world.put("side/b.md", "The tap drips.")
    world.put("team/a.md", "The pump is blue.")
    world.delete("side/b.md")
    world.put("team/c.pdf", b"%PDF-1.4 broken")

    found = counts(world)

    names = ("new documents", "changed documents", "deletions", "failed documents", "chunks stored")
    assert [found[name] for name in names] == [2, 1, 1, 1, 1]


def test_searches_are_distinguished_from_those_of_the_cache() -> None:
    world = World()
    world.put("team/a.md", "The pump is red.")
    for text in ("pump", "pump", "red"):
        world.search(text)

    found = counts(world)

    assert (found["searches"], found["searches from the cache"], found["answers"]) == (2, 1, 0)


def test_what_is_older_than_the_range_is_not_counted() -> None:
    world = World()
    world.put("team/a.md", "The pump is red.")
    world.now_s += 3 * 86_400

    assert counts(world)["new documents"] == 0


def test_a_line_is_its_count_times_the_price_of_one() -> None:
    world = World()
    for number in range(3):
        world.put(f"team/{number}.md", f"Pump {number} is red.")

    line = costs(world)["new documents"]

    one = unit_usd("bucket", "new document, one chunk", INGEST_GB_S, messages=True)
    assert line == CostLine("new documents", 3, 3 * one, "counted")


def test_chat_tokens_have_no_price_where_none_is_set() -> None:
    line = costs(World())["chat tokens"]

    assert (line.count, line.usd) == (0, None)


def test_an_answer_costs_more_than_its_requests_for_it_waits_for_a_model() -> None:
    assert unit_usd("bucket", "ask", ASK_GB_S, messages=False) > unit_usd("bucket", "ask", 0.0, messages=False)
