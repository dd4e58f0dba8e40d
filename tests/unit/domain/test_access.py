"""Rules of access: for any rules, files and groups, what cannot be read denies and nothing widens by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bucketindex.lexical import FacetFilter, admitted, facets_of, hidden_of
from ragdrop.domain.access import AccessRule, Readable, VaultRules, access_left_by, narrowest, read_rules, stated_groups
from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.documents import Facts

GROUPS = st.lists(st.sampled_from(["hr", "eng", "board", "*"]), max_size=3).map(lambda each: tuple(sorted(set(each))))
FOLDERS = st.sampled_from(["", "hr", "hr/open", "hr/open/deep", "eng"])
PATHS = st.sampled_from(["hr", "hr/a.md", "hr/open/b.md", "hr/open/deep/c.md", "hrx/d.md", "eng/e.md", "f.md"])
RULES = st.lists(st.builds(AccessRule, FOLDERS, GROUPS, st.booleans()), max_size=6).map(
    lambda rules: VaultRules(tuple(rules))
)
OWN = st.none() | GROUPS
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(RULES, PATHS, OWN, GROUPS)
def test_a_file_never_widens_its_folder_unless_the_rule_says_so(
    rules: VaultRules, path: str, own: tuple[str, ...] | None, groups: tuple[str, ...]
) -> None:
    rule = rules.rule_of(path)
    allowed = rules.verdict(path, own).allows(groups)

    if own is not None and not rules.verdict("", own).allows(groups) and rules.rule_of("") is None:
        assert not allowed
    if rule is not None and not rule.widen:
        assert not allowed or VaultRules((rule,)).verdict(path, None).allows(groups)


@given(RULES, PATHS, OWN, GROUPS, GROUPS)
def test_more_groups_never_read_less(
    rules: VaultRules, path: str, own: tuple[str, ...] | None, groups: tuple[str, ...], more: tuple[str, ...]
) -> None:
    verdict = rules.verdict(path, own)

    assert verdict.allows({*groups, *more}) >= verdict.allows(groups)


@given(JSON)
def test_whatever_the_rules_are_they_are_read_and_a_problem_denies_something(value: object) -> None:
    rules, problems = read_rules(value)

    if problems:
        assert any(rule.groups == () for rule in rules.rules)


@given(st.binary(max_size=60))
def test_a_refused_file_that_speaks_of_access_never_opens_a_vault(body: bytes) -> None:
    left = access_left_by(b'{"access": ' + body, {"access": [{"path": "**", "groups": ["hr"]}]})

    rules = read_rules((left or {}).get("access"))[0]
    assert left is not None
    assert rules.rules or left["access"] == [] or left["access"] is None


@given(st.lists(GROUPS, min_size=1, max_size=3), st.sampled_from(["hr", "eng", "board"]))
def test_of_several_lists_of_a_file_the_narrowest_wins(lists: list[tuple[str, ...]], group: str) -> None:
    whole = narrowest(lists)

    assert ("*" in whole or group in whole) == all("*" in each or group in each for each in lists)


@given(RULES, st.dictionaries(PATHS, OWN, min_size=1), GROUPS.map(lambda each: tuple(g for g in each if g != "*")))
def test_an_index_leaves_out_nothing_that_the_caller_may_read(
    rules: VaultRules, files: dict[str, tuple[str, ...] | None], groups: tuple[str, ...]
) -> None:
    readable = Readable(groups, (("team", rules),))
    facets: dict[str, list[int]] = {}
    for number, (path, own) in enumerate(sorted(files.items())):
        for name in facets_of("team", path, Facts("t", "v", "", access=own)):
            facets.setdefault(name, []).extend((number, number + 1))
    stated = [name.removeprefix("access\x1f") for name in facets if name.startswith("access\x1f")]
    query = CandidateQuery(None, None, Filters(), 1, hidden=readable.hidden, groups=groups)

    found = admitted(facets, FacetFilter(hidden=hidden_of(query, stated)), len(files))

    kept = {path for at, path in enumerate(sorted(files)) if any(first <= at < behind for first, behind in found)}
    assert {path for path, own in files.items() if readable.allows("team", path, own)} <= kept
    if not any(rule.widen for rule in rules.rules):
        assert kept == {path for path, own in files.items() if readable.allows("team", path, own)}


def test_names_that_differ_in_their_composition_alone_are_one_folder() -> None:
    rules, _ = read_rules([{"path": "caf\u00e9/**", "groups": ["hr"]}])

    assert not rules.verdict("cafe\u0301/menu.md", None).allows([])


def test_a_text_of_groups_is_a_list_and_anything_else_is_none() -> None:
    assert stated_groups("hr board") == ("board", "hr")
    assert stated_groups(["hr", 7]) is stated_groups("") is stated_groups(7) is stated_groups(["a b"]) is None
