"""Permissions: what a caller may read, by the rules in force now and the heads of documents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from ragdrop.domain.access import AccessVerdict, Readable, VaultRules, read_rules, tags_admit
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Heads, Page
from ragdrop.domain.history import ChangeCounts, Stamp
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, ForbiddenError
from ragdrop.ports.search_services import SearchableRegistry

logger = logging.getLogger(__name__)

MAX_TENANTS = 1_000
CACHED_S = 300.0  # rules are read again after this, should counts ever lie: a table restored to an earlier time
TIMEOUT_S = 5.0
MAX_BATCH = 100  # heads of one batch read
Rules = tuple[tuple[str, VaultRules], ...]
"""The vaults with rules, and theirs."""


class Permissions:
    """Says what callers may read; thread-safe, one per process.  Every method raises DatabaseError.

    A change of a settings file is counted in the transaction that makes it.  Rules that were read at the same count
    are those in force, so a check that knows the counts costs no request.

    Args:
        registry: Where counts, rules and heads are.
        clock: Seconds since 1970.
    """

    def __init__(self, registry: SearchableRegistry, *, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._clock = clock
        self._rules: BoundedCache[str, tuple[Stamp, Rules]] = BoundedCache(size=MAX_TENANTS, ttl_s=CACHED_S)

    def of(self, caller: Caller, deadline: Deadline | None = None, counts: ChangeCounts | None = None) -> Readable:
        """What *caller* may read, by the rules at *counts*, which are read unless they are given."""
        within = deadline or Deadline.after(TIMEOUT_S)
        stamp = (counts or self._registry.change_counts(caller.tenant, within)).of_settings
        cached = self._rules.get(caller.tenant, now_s=self._clock())
        if cached is None or cached[0] != stamp:
            tenant = self._registry.tenant(caller.tenant)
            stated = {} if tenant is None else {vault: tenant.settings_of(vault) for vault in sorted(tenant.settings)}
            rules = {vault: read_rules(each["access"])[0] for vault, each in stated.items() if "access" in each}
            cached = stamp, tuple(rules.items())
            self._rules.put(caller.tenant, cached, now_s=self._clock())
        return Readable(caller.groups, cached[1], stamp)

    def heads(
        self, caller: Caller, heads: Heads, deadline: Deadline | None = None, counts: ChangeCounts | None = None
    ) -> Heads:
        """Those of *heads* whose documents *caller* may read; a hidden one is as if there were none."""
        if caller.reads_all or not heads.found:
            return heads
        readable = self.of(caller, deadline, counts)
        return Heads({key: head for key, head in heads.found.items() if may_read(readable, head)}, heads.unread)

    def readable(self, caller: Caller, heads: Iterable[Head]) -> list[Head]:
        """The same for a list, in its order."""
        found = list(heads)
        if caller.reads_all or not found:
            return found
        readable = self.of(caller)
        return [head for head in found if may_read(readable, head)]

    def readable_keys(self, caller: Caller, keys: Iterable[DocumentKey]) -> set[DocumentKey]:
        """Those of *keys* that *caller* may read, by a batch read of a hundred heads each; one without a head is not.

        Whoever reads everything gets all of them, unread.
        """
        asked = list(dict.fromkeys(keys))
        if caller.reads_all:
            return set(asked)
        found: set[DocumentKey] = set()
        for first in range(0, len(asked), MAX_BATCH):
            within = Deadline.after(TIMEOUT_S)
            heads = self._registry.heads(asked[first : first + MAX_BATCH], within)
            found |= self.heads(caller, heads, within).found.keys()
        return found

    def page(self, caller: Caller, read: Callable[..., Page], cursor: str | None, limit: int) -> Page:
        """The next page of *read* that holds what the caller may read; its cursor names the last of these alone."""
        while True:
            page = read(cursor=cursor, limit=limit)
            visible = self.readable(caller, (head for head in page.heads if caller.may_see(head.key.vault)))
            if page.cursor is None or visible == page.heads:
                return Page(visible, page.cursor)
            if visible:
                upto = read(cursor=cursor, limit=page.heads.index(visible[-1]) + 1)
                if upto.heads[-1:] != visible[-1:]:
                    raise DatabaseError("the list changed while it was read", service="registry")
                return Page(visible, upto.cursor)
            cursor = page.cursor

    def allows(self, caller: Caller, key: DocumentKey, head: Head | None) -> bool:
        """Whether *caller* may read the document at *key*, and may know of it; without a head its path decides.

        A refusal is logged, with what refuses and without the path.
        """
        if not caller.may_see(key.vault):
            _note_refusal(caller, key, ["vault"])
            return False
        if caller.reads_all:
            return True
        verdict = self.of(caller).verdict(key.vault, key.path, None if head is None else head.access)
        verdict = verdict.narrowed(() if head is None else head.tags)
        refusing = verdict.refusing(caller.groups)
        if refusing:
            _note_refusal(caller, key, refusing)
        return not refusing

    def verdict(self, caller: Caller, head: Head) -> AccessVerdict:
        """Who may read a document, whoever *caller* is."""
        return self.of(caller).verdict(head.key.vault, head.key.path, head.access).narrowed(head.tags)


def _note_refusal(caller: Caller, key: DocumentKey, by: Iterable[str]) -> None:
    """Log that *caller* named a document and did not get it; the first word of each of *by* names no path."""
    kinds = sorted({each.split(":")[0].split()[0] for each in by})
    extra = {"tenant": key.tenant, "vault": key.vault, "document": key.digest, "credential": caller.credential}
    logger.info("access to a document was refused", extra=extra | {"by": kinds})


def may_read(readable: Readable, head: Head) -> bool:
    """Whether the document of *head* is among what is *readable*."""
    ruled = readable.allows(head.key.vault, head.key.path, head.access)
    return ruled and (not (tags := head.tags) or tags_admit(tags, readable.groups))


def reader_of(caller: Caller, groups: Sequence[str]) -> Caller:
    """A reader of *groups* with the vaults of *caller*. Raises ForbiddenError: *caller* is no admin."""
    if not caller.reads_all:
        message = f"what others may read is for the role admin, the key has {caller.role}"
        raise ForbiddenError(message, role=caller.role, needed="admin")
    return Caller(caller.tenant, "reader", caller.vaults, caller.credential, groups=tuple(groups))
