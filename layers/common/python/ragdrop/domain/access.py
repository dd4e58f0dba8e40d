"""Who may read a document: the rules of its vault, what file and tag state, and the groups of a caller.  Pure.

A vault's `.ragdrop.json` has `"access": [{"path": "hr/**", "groups": ["hr"]}]`; a file states `access: [hr, board]`;
a tag of the S3 object `ragdrop-access` is `hr board`.
Without all three everybody who may see the vault may read the document.  What cannot be read denies.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragdrop.domain.chunks import Folder, HiddenFolder
from ragdrop.domain.documents import EVERYONE

MAX_RULES = 200  # of a vault
MAX_GROUPS = 100  # of a rule, a file or a key
ACCESS_TAG = "ragdrop-access"
NOBODY = "!"  # begins what stands for a tag that lets nobody read: no tag of S3 can hold it
UNREAD_TAGS = f"{NOBODY}could not be read"
NO_RULES_READABLE = False  # stands for rules that could not be read: as no list, it denies
ALLOWED_GROUP = 'a name of 1 to 100 of A-Z, a-z, 0-9 and . _ @ : / + = -, or "*" for everybody'
_GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/+=-]{0,99}")
_WILDCARD = re.compile(r"[*?\[\]{}]")
_FIELDS = frozenset({"path", "groups", "widen"})


def is_group(name: object) -> bool:
    """Whether *name* may name a group of callers.

    >>> is_group("hr"), is_group("eng@acme.example"), is_group("*"), is_group("a b")
    (True, True, False, False)
    """
    return isinstance(name, str) and _GROUP.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One rule of a vault: who may read what lies at *folder* and below it; the empty folder is the whole vault.

    No groups: nobody but admins.  *widen*: what a file below states counts alone.
    """

    folder: str
    groups: tuple[str, ...]
    widen: bool = False

    def holds(self, path: str) -> bool:
        """Whether *path*, in NFC, is the folder of the rule or lies below it."""
        return not self.folder or path == self.folder or path.startswith(f"{self.folder}/")

    @property
    def pattern(self) -> str:
        """The rule's path, as a settings file has it."""
        return f"{self.folder}/**" if self.folder else "**"


@dataclass(frozen=True, slots=True)
class AccessVerdict:
    """Who may read one document: a caller with a group of each of *needs*.

    *by* says where each comes from.
    """

    needs: tuple[tuple[str, ...], ...] = ()
    by: tuple[str, ...] = ()

    @property
    def each(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Each of `needs` with what says so."""
        return tuple(zip(self.needs, self.by, strict=True))

    def narrowed(self, tags: Sequence[str]) -> AccessVerdict:
        """The same for a document with these tags (`tag_of`), which narrow and never widen.

        >>> AccessVerdict().narrowed(["board hr", "!could not be read"]).each
        ((('board', 'hr'), 'tag'), ((), 'tag: could not be read'))
        """
        needs, by = [_tagged(tag) for tag in tags], [": ".join(("tag", *tag.split(NOBODY)[1:])) for tag in tags]
        return AccessVerdict((*self.needs, *needs), (*self.by, *by))

    def allows(self, groups: Collection[str]) -> bool:
        """Whether a caller of *groups* may read it.

        >>> verdict = AccessVerdict((("hr", "board"), ("board",)), ("rule hr/**", "file"))
        >>> verdict.allows(["hr"]), verdict.allows(["board"]), AccessVerdict().allows([])
        (False, True, True)
        """
        return all(_admits(need, groups) for need in self.needs)

    def refusing(self, groups: Collection[str]) -> list[str]:
        """What keeps a caller of *groups* from reading it.

        >>> AccessVerdict((("hr",), ("board",)), ("rule hr/**", "file")).refusing(["hr"])
        ['file']
        """
        return [by for need, by in self.each if not _admits(need, groups)]


@dataclass(frozen=True, slots=True)
class VaultRules:
    """The rules of one vault."""

    rules: tuple[AccessRule, ...] = ()

    def rule_of(self, path: str) -> AccessRule | None:
        """The narrowest rule that holds *path*: the one of the deepest folder; of two for one folder the last.

        >>> rules = read_rules([{"path": "hr/**", "groups": ["hr"]}, {"path": "hr/open/**", "groups": ["*"]}])[0]
        >>> [rule and rule.folder for rule in map(rules.rule_of, ("hr/a.md", "hr/open/b.md", "hrx.md"))]
        ['hr', 'hr/open', None]
        """
        plain = unicodedata.normalize("NFC", path)
        holding = [rule for rule in self.rules if rule.holds(plain)]
        return max(enumerate(holding), key=lambda each: (len(each[1].folder), each[0]))[1] if holding else None

    def verdict(self, path: str, own: Sequence[str] | None) -> AccessVerdict:
        """Who may read the document at *path* that states *own* groups; None states nothing.

        A file narrows what its folder allows.  It widens it only where the rule says so.

        >>> rules = read_rules([{"path": "hr/**", "groups": ["hr"]}])[0]
        >>> [rules.verdict("hr/a.md", own).allows(["hr"]) for own in (None, ["board"], ["hr", "board"], ["*"])]
        [True, False, True, True]
        >>> rules.verdict("hr/a.md", ["*"]).allows([]), rules.verdict("b.md", None).allows([])
        (False, True)
        """
        rule = self.rule_of(path)
        stated = () if own is None else ((tuple(own), "file"),)
        ruled = () if rule is None or (rule.widen and stated) else ((rule.groups, f"rule {rule.pattern}"),)
        found = (*ruled, *stated)
        return AccessVerdict(tuple(groups for groups, _ in found), tuple(by for _, by in found))

    def hidden_from(self, vault: str, groups: Collection[str]) -> list[HiddenFolder]:
        """The folders of *vault* whose rules refuse a caller of *groups*, with the folders in them that do not.

        An index leaves them out early.  It may leave in too much: each document is checked again by its verdict.

        >>> rules = read_rules([{"path": "hr/**", "groups": ["hr"]}, {"path": "hr/open/**", "groups": ["*"]}])[0]
        >>> rules.hidden_from("team", [])
        [HiddenFolder(folder=Folder(path='hr', vault='team'), but=(Folder(path='hr/open', vault='team'),))]
        """
        last = {rule.folder: rule for rule in self.rules}
        found = []
        for rule in last.values():
            if rule.widen or _admits(rule.groups, groups):
                continue
            below = [each for each in last.values() if each is not rule and rule.holds(each.folder) and each.folder]
            open_ = [each for each in below if each.widen or _admits(each.groups, groups)]
            but = tuple(Folder(each.folder, vault) for each in sorted(open_, key=lambda each: each.folder))
            found.append(HiddenFolder(Folder(rule.folder, vault), but))
        return found


NO_RULES = VaultRules()
DENY_ALL = VaultRules((AccessRule("", ()),))


def read_rules(value: object) -> tuple[VaultRules, list[str]]:
    """The rules in the `access` of a settings file, and what is wrong with them; None has none.

    What cannot be read denies: a rule with other groups denies its path, one with an unknown path what it may begin
    with, and other values the whole vault.

    >>> read_rules([{"path": "hr/**", "groups": "hr"}])
    (VaultRules(rules=(AccessRule(folder='hr', groups=(), widen=False),)), ['access[0].groups: not a list of groups'])
    >>> read_rules("all") == (DENY_ALL, ['access: not a list of rules']), read_rules(None) == (NO_RULES, [])
    (True, True)
    """
    if value is None:
        return NO_RULES, []
    if not isinstance(value, list) or len(value) > MAX_RULES:
        most = f"over {MAX_RULES} rules" if isinstance(value, list) else "not a list of rules"
        return DENY_ALL, [f"access: {most}"]
    problems: list[str] = []
    return VaultRules(tuple(_rule(each, f"access[{place}]", problems) for place, each in enumerate(value))), problems


def _rule(value: object, name: str, problems: list[str]) -> AccessRule:
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str):
        problems.append(f"{name}.path: not a path")
        return AccessRule("", ())
    folder, is_known = _folder(value["path"])
    groups = _groups(value.get("groups"))
    widen = value.get("widen", False)
    if not is_known:
        problems.append(f"{name}.path: neither a path, a folder with /** behind it, nor **")
    if groups is None:
        problems.append(f"{name}.groups: not a list of groups")
    if not isinstance(widen, bool):
        problems.append(f"{name}.widen: not true or false")
    if more := sorted(map(str, value.keys() - _FIELDS)):
        problems.append(f"{name}.{more[0][:40]}: no such field")
    is_whole = is_known and groups is not None and isinstance(widen, bool) and not more
    return AccessRule(folder, groups or (), widen) if is_whole else AccessRule(folder, ())


def _folder(path: str) -> tuple[str, bool]:
    """The folder of a rule's path, and whether the path is of a known form; else the folder that it begins with."""
    plain = unicodedata.normalize("NFC", path)
    folder = plain.removesuffix("**") if plain == "**" or plain.endswith("/**") else plain
    wildcard = _WILDCARD.search(folder)
    if wildcard is not None:
        return folder[: wildcard.start()].rpartition("/")[0], False
    folder = folder.removesuffix("/")
    segments = folder.split("/") if folder else []
    is_path = bool(path.strip()) and not any(segment in {"", ".", ".."} for segment in segments)
    return (folder, True) if is_path else ("", False)


def _groups(value: object) -> tuple[str, ...] | None:
    """A list of groups, sorted; None where it is none.  An empty list names nobody."""
    if not isinstance(value, list | tuple) or len(value) > MAX_GROUPS:
        return None
    groups = sorted({each for each in value if each == EVERYONE or is_group(each)}) if _are_texts(value) else []
    return tuple(groups) if len(groups) == len(set(map(str, value))) else None


def _are_texts(value: Collection[object]) -> bool:
    return all(isinstance(each, str) for each in value)


def stated_groups(value: object) -> tuple[str, ...] | None:
    """The groups that a file states, from a list, or a text with commas or blanks between; None where it is neither.

    >>> stated_groups(["hr", "board"]), stated_groups("hr, board"), stated_groups('["hr"]'), stated_groups({"hr": 1})
    (('board', 'hr'), ('board', 'hr'), ('hr',), None)
    """
    if isinstance(value, str):
        if value[:1] == "[":
            try:
                return _groups(json.loads(value))
            except (ValueError, RecursionError):
                return None
        words = [word for word in re.split(r"[\s,]+", value) if word]
        return _groups(words) if words else None
    return _groups(value)


def narrowest(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The groups that each of the *lists* of one file admits; nobody where they have none in common.

    >>> narrowest([["hr"], ["hr", "board"]]), narrowest([["*"], ["hr"]]), narrowest([["hr"], ["board"]])
    (('hr',), ('hr',), ())
    """
    narrow = [set(each) for each in lists if EVERYONE not in each]
    return tuple(sorted(set.intersection(*narrow))) if narrow else (EVERYONE,)


def tag_of(tags: Mapping[str, str]) -> str:
    """Who may read an object by its tags, as a head stores it: groups with blanks between, "" where no tag says.

    A tag that lets nobody read gives `!` and why.

    >>> tag_of({"ragdrop-access": "hr board"}), tag_of({"team": "a"}), tag_of({"ragdrop-access": "a + b"})
    ('board hr', '', '!not a list of groups')
    """
    values = [value for name, value in tags.items() if name.strip().lower().replace("_", "-") == ACCESS_TAG]
    lists = [stated_groups(value) for value in values]
    if None in lists:
        return f"{NOBODY}not a list of groups"
    return " ".join(narrowest([each or () for each in lists])) or f"{NOBODY}no group in common" if lists else ""


def tags_admit(tags: Sequence[str], groups: Collection[str]) -> bool:
    """Whether a document with these tags (`tag_of`) may be read by a caller of *groups*.

    >>> tags_admit([], []), tags_admit(["board hr"], ["hr"]), tags_admit(["hr", "board"], ["hr"])
    (True, True, False)
    """
    return all(_admits(_tagged(tag), groups) for tag in tags)


def _tagged(tag: str) -> tuple[str, ...]:
    return () if tag.startswith(NOBODY) else tuple(tag.split())


def _admits(need: Collection[str], groups: Collection[str]) -> bool:
    return EVERYONE in need or any(group in need for group in groups)


def access_left_by(body: bytes, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What counts of a settings file that was refused, beside what was valid *before*: its rules alone; None: nothing.

    A file that is no JSON and may speak of access denies the whole vault, as nobody knows what it was to say.

    >>> access_left_by(b'{"min_relevance": 7, "access": [{"path": "hr", "groups": ["hr"]}]}', {"fusion": "rrf"})
    {'fusion': 'rrf', 'access': [{'path': 'hr', 'groups': ['hr']}]}
    >>> [access_left_by(body, {}) for body in (b'{"access": [', b'{"access": 1, "access": []}', b"{")]
    [{'access': False}, {'access': False}, None]
    """
    given = _object_of(body)
    if given is not None and isinstance(nested := given.get("access"), dict):
        return {**before, "access": nested.get("rules", NO_RULES_READABLE)}
    if given is not None:
        return {**before, "access": given["access"]} if "access" in given else None
    may_speak = "access" in before or b"access" in body or b"\\u" in body
    return {**before, "access": NO_RULES_READABLE} if may_speak else None


def speaks_of_access(body: bytes) -> bool:
    """Whether a settings file has rules of access, or may have: it is no JSON object.

    >>> speaks_of_access(b'{"fusion": "rrf"}'), speaks_of_access(b'{"access": []}'), speaks_of_access(b"{")
    (False, True, True)
    """
    given = _object_of(body)
    return given is None or "access" in given


def _object_of(body: bytes) -> dict[str, Any] | None:
    """The JSON object in *body*; None where it is none, or has a name twice."""
    try:
        given = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


@dataclass(frozen=True, slots=True)
class Readable:
    """What one caller may read of a tenant: its groups, and the rules by vault.  Hashable.

    `stamp` stays the same while neither rules nor tags change.
    """

    groups: tuple[str, ...] = ()
    rules: tuple[tuple[str, VaultRules], ...] = field(default=())
    stamp: tuple[str, int] = ("", 0)

    def verdict(self, vault: str, path: str, own: Sequence[str] | None) -> AccessVerdict:
        """Who may read a document."""
        return next((rules for name, rules in self.rules if name == vault), NO_RULES).verdict(path, own)

    def allows(self, vault: str, path: str, own: Sequence[str] | None) -> bool:
        """Whether the caller may read a document.

        >>> rules = read_rules([{"path": "hr/**", "groups": ["hr"]}])[0]
        >>> Readable(("hr",), (("team", rules),)).allows("team", "hr/a.md", None), Readable().allows("team", "b", ())
        (True, False)
        """
        if own is None and not self.rules:  # most: nobody states anything
            return True
        return self.verdict(vault, path, own).allows(self.groups)

    @property
    def hidden(self) -> tuple[HiddenFolder, ...]:
        """The folders that an index leaves out."""
        return tuple(each for vault, rules in self.rules for each in rules.hidden_from(vault, self.groups))
