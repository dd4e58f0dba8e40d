"""Filters turned into an SQL condition on the table `chunks`.

Every value is bound, lists as one JSON array each, so that the text of a statement depends on which filters are set and
never on what is in them.
"""

# ruff: noqa: S608 - the parts of a statement are constants of this package

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ragdrop.domain.chunks import CandidateQuery, Filters, Folder
from ragdrop.stores.sqlite.schema import attribute_token, storable

# The ranges are those of strings that start with `folder/`: `0` is the character after `/`.  A path that is the folder
# itself matches too.  SQLite compares text byte by byte, so this is case-sensitive and has no wildcards.
_IN_FOLDERS = """chunks.number IN (
    SELECT inside.number FROM json_each(:folders) AS folder JOIN chunks AS inside
      ON (inside.path = folder.value ->> 1
          OR (inside.path > (folder.value ->> 1) || '/' AND inside.path < (folder.value ->> 1) || '0'))
    WHERE folder.value ->> 0 IS NULL OR folder.value ->> 0 = inside.vault)"""

_NOT_WITHOUT = """(chunks.vault, chunks.path, chunks.revision) NOT IN (
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:without))"""


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition, empty where nothing restricts, and the values it binds."""

    sql: str
    values: dict[str, str] = field(default_factory=dict)

    def after(self, word: str) -> str:
        """The condition behind WHERE or AND; nothing where nothing restricts.

        >>> Condition("a = 1").after("WHERE"), Condition("").after("WHERE")
        (' WHERE a = 1', '')
        """
        return f" {word} {self.sql}" if self.sql else ""


def condition(query: CandidateQuery, tenant: str) -> Condition:
    """What the chunks of *tenant* must be to answer *query*: its filters hold, its excluded revisions do not."""
    parts, values = _fields(query.filters)
    folder_parts, folder_values = _folders(query.filters.folders)
    parts += folder_parts
    values |= folder_values
    for name, value in (("date_from", query.filters.date_from), ("date_to", query.filters.date_to)):
        if value is not None:
            values[name] = storable(value)
    if query.filters.date_from is not None:
        parts.append("chunks.date >= :date_from")
    if query.filters.date_to is not None:
        day = len(query.filters.date_to) == len("2026-01-31")  # a day includes all of its times
        parts.append("substr(chunks.date, 1, 10) <= :date_to" if day else "chunks.date <= :date_to")
    without = [[key.vault, key.path, revision] for key, revision in query.without if key.tenant == tenant]
    if without:
        parts.append(_NOT_WITHOUT)
        values["without"] = json.dumps(sorted(without))
    return Condition(" AND ".join(parts), values)


def _fields(filters: Filters) -> tuple[list[str], dict[str, str]]:
    parts: list[str] = []
    values: dict[str, str] = {}
    for column, wanted in (
        ("vault", filters.vaults),
        ("doc_type", filters.doc_types),
        ("content_type", filters.content_types),
        ("category", filters.categories),
        ("session_id", filters.session_ids),
        ("promotion_level", filters.promotion_levels),
    ):
        if wanted:
            parts.append(f"chunks.{column} IN (SELECT value FROM json_each(:{column}))")
            values[column] = _json(wanted)
    if filters.tags:
        parts.append(
            "EXISTS (SELECT 1 FROM json_each(chunks.tags) AS tag"
            " WHERE tag.value IN (SELECT value FROM json_each(:tags)))"
        )
        values["tags"] = _json(filters.tags)
    if filters.attributes:
        parts.append(
            "NOT EXISTS (SELECT 1 FROM json_each(:attributes) AS wanted"
            " WHERE wanted.value NOT IN (SELECT value FROM json_each(chunks.attributes)))"
        )
        values["attributes"] = _json([attribute_token(name, value) for name, value in filters.attributes.items()])
    return parts, values


def _folders(folders: tuple[Folder, ...]) -> tuple[list[str], dict[str, str]]:
    if not folders or any(not folder.path and folder.vault is None for folder in folders):
        return [], {}  # an empty path in every vault is the whole tenant
    parts: list[str] = []
    values: dict[str, str] = {}
    named = [[folder.vault, storable(folder.path)] for folder in folders if folder.path]
    whole = [folder.vault for folder in folders if not folder.path and folder.vault is not None]
    if named:
        parts.append(_IN_FOLDERS)
        values["folders"] = json.dumps(named)
    if whole:
        parts.append("chunks.vault IN (SELECT value FROM json_each(:whole_vaults))")
        values["whole_vaults"] = _json(whole)
    return [f"({' OR '.join(parts)})"], values


def _json(texts: tuple[str, ...] | list[str]) -> str:
    return json.dumps([storable(text) for text in texts])
