"""Pointers in DynamoDB: one item a promoted document, one item a name with the paths that have it.

Every pointer carries the revision that wrote it, and is removed on condition that no later one did: a clean-up that
looked before a new revision came cannot take that one's pointer away.
"""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import (
    MAX_PATHS_OF_A_NAME,
    Detail,
    Head,
    Name,
    Promoted,
    name_of,
    nothing_answers_until,
    nothing_is_promoted_until,
)
from ragdrop.domain.keys import DocumentKey
from ragdrop.stores.dynamodb.items import Item, encode
from ragdrop.stores.dynamodb.table import DynamoDbTable, ItemKey

NAME_SK = "N"
PATH_PREFIX = "P/"  # an attribute a path; without the prefix a path could be called PK


class DynamoDbPointers:
    """The part of the registry that leads to documents.  `self._table` is the registry's."""

    _table: DynamoDbTable

    def point(self, detail: Detail, *, known: bool = False) -> None:
        if not (known and self._note_again(detail.key, detail.revision)):
            self._note_name(detail.key, detail.revision)
        level = detail.facts.promotion_level
        if level != "standard":
            self._table.conditional(
                _promoted_key(detail.key),
                {
                    "UpdateExpression": "SET #level = :level, revision = :revision",
                    "ConditionExpression": "attribute_not_exists(PK) OR revision <= :revision",
                    "ExpressionAttributeNames": {"#level": "level"},
                    "ExpressionAttributeValues": encode({":level": level, ":revision": detail.revision}),
                },
            )

    def unpoint(self, head: Head) -> None:
        gone = nothing_answers_until(head)
        if gone:
            self._forget_name(head.key, gone)
        standard = nothing_is_promoted_until(head)
        if standard:
            self._table.delete_if(_promoted_key(head.key), "revision <= :revision", {":revision": standard})

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        deadline.timeout_s(1.0, stage="registry")
        found = []
        for item in self._table.query(f"C#{tenant}"):
            vault, path = item["SK"].split("/", 1)
            found.append(Promoted(DocumentKey(tenant, vault, path), item["level"]))
        return sorted(found)

    def _note_name(self, key: DocumentKey, revision: int) -> None:
        names = {"#path": PATH_PREFIX + key.path, "#count": "count"}
        values = encode({":revision": revision, ":one": 1, ":most": MAX_PATHS_OF_A_NAME})
        added = self._table.conditional(
            name_key(name_of(key)),
            {
                "UpdateExpression": "SET #path = :revision ADD #count :one",
                "ConditionExpression": "attribute_not_exists(#path) AND"
                " (attribute_not_exists(#count) OR #count < :most)",
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": values,
            },
        )
        if added.won or names["#path"] not in (added.item or {}):
            return  # noted, or no room
        if not self._note_again(key, revision):
            self._note_name(key, revision)  # a clean-up was in between

    def _note_again(self, key: DocumentKey, revision: int) -> bool:
        """Note a later revision of a path that the name has; False where it has not."""
        path = PATH_PREFIX + key.path
        noted = self._table.conditional(
            name_key(name_of(key)),
            {
                "UpdateExpression": "SET #path = :revision",
                "ConditionExpression": "#path <= :revision",
                "ExpressionAttributeNames": {"#path": path},
                "ExpressionAttributeValues": encode({":revision": revision}),
            },
        )
        return noted.won or path in (noted.item or {})

    def _forget_name(self, key: DocumentKey, revision: int) -> None:
        removed = self._table.conditional(
            name_key(name_of(key)),
            {
                "UpdateExpression": "REMOVE #path ADD #count :less",
                "ConditionExpression": "#path <= :revision",
                "ExpressionAttributeNames": {"#path": PATH_PREFIX + key.path, "#count": "count"},
                "ExpressionAttributeValues": encode({":revision": revision, ":less": -1}),
            },
        )
        if removed.won and removed.item and removed.item["count"] < 1:
            self._table.delete_if(name_key(name_of(key)), "#count < :one", {":one": 1}, {"#count": "count"})


def _promoted_key(key: DocumentKey) -> ItemKey:
    return f"C#{key.tenant}", key.vault_path


def name_key(name: Name) -> ItemKey:
    """Where the paths of a name are kept."""
    return f"N#{name.tenant}/{name.vault}#{name.name}", NAME_SK


def paths_of(item: Item) -> tuple[str, ...]:
    """The paths in the decoded item of a name, sorted.

    >>> paths_of({"PK": "N#acme/team#b", "SK": "N", "count": 2, "P/c/b.md": 7, "P/b.md": 8})
    ('b.md', 'c/b.md')
    """
    return tuple(sorted(name.removeprefix(PATH_PREFIX) for name in item if name.startswith(PATH_PREFIX)))
