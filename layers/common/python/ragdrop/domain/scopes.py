"""Scopes: which vaults and folders of a tenant a query may look into, and which it would rather."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragdrop.domain.chunks import Filters, Folder
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.queries import Query
from ragdrop.errors import InvalidDocTypeError, InvalidParamsError

MAX_PREFERRED = 10  # each is asked by itself; the weights 1.0, 0.9 … have ended at 0.1 by then
WEIGHT_STEP = 0.1
MIN_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Scopes:
    """Where to look.

    Args:
        whole: What a chunk must match, whatever is preferred.
        preferred: Folders within it, first ones first; each is asked by itself too, so that it has candidates.
        vaults: The vaults in scope; empty means all of the tenant.
    """

    whole: Filters
    preferred: tuple[Folder, ...] = ()
    vaults: tuple[str, ...] = ()

    def each(self) -> list[Filters]:
        """The filters of every scope: each preferred folder, then the whole."""
        within = [replace(self.whole, folders=(folder,)) for folder in self._askable()]
        return [*within, self.whole]

    def weight(self, key: DocumentKey) -> float:
        """What a document's place is worth: 1.0, 0.9 … 0.1 by the first preferred folder that holds it.

        What is in none of them comes behind the last; without preferences all weigh the same.

        >>> scopes = Scopes(Filters(), (Folder("runbooks"), Folder("", "ops")))
        >>> [scopes.weight(DocumentKey("acme", *place)) for place in (("a", "runbooks/x"), ("ops", "x"), ("a", "x"))]
        [1.0, 0.9, 0.8]
        """
        place = next((at for at, folder in enumerate(self.preferred) if folder.holds(key)), len(self.preferred))
        return max(MIN_WEIGHT, round(1.0 - WEIGHT_STEP * place, 1))

    def then(self, folders: Sequence[Folder]) -> Scopes:
        """These scopes with *folders* preferred behind those that are, ten in all at most."""
        return replace(self, preferred=tuple(dict.fromkeys((*self.preferred, *folders)))[:MAX_PREFERRED])

    def _askable(self) -> list[Folder]:
        """The preferred folders that lie in the strict ones: the index ORs folders, so both cannot be asked at once."""
        strict = self.whole.folders
        return [folder for folder in self.preferred if not strict or any(_inside(folder, outer) for outer in strict)]


def visible_vaults(known: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """The vaults that a caller may know of: all, or those that its key is scoped to.

    >>> visible_vaults(["a1", "b1"], []), visible_vaults(["a1", "b1"], ["b1", "zz"])
    (('a1', 'b1'), ('b1',))
    """
    return tuple(sorted(vault for vault in known if not allowed or vault in allowed))


def resolve(
    query: Query, *, known: Sequence[str], allowed: Sequence[str] = (), doc_types: Sequence[str] | None = None
) -> Scopes:
    """What a query's vaults, folders and filters mean.

    Args:
        query: As asked; no vaults means all that the caller may see.
        known: The tenant's vaults.
        allowed: The vaults that the caller's key is scoped to; empty means all.
        doc_types: Those that there are; None where that is not known.

    Raises:
        InvalidParamsError: A vault is unknown to the caller; one out of its scope is as if it were not there.
        InvalidDocTypeError: A doc_type that nothing has, in any case of its letters.

    >>> resolve(Query("pump", folders=("team/notes/", "notes")), known=["team"]).whole.folders
    (Folder(path='notes', vault='team'), Folder(path='notes', vault=None))
    """
    visible = visible_vaults(known, allowed)
    for vault in query.vaults:
        if vault not in visible:
            raise InvalidParamsError(
                f"there is no vault named {vault[:80]!r}", field="vaults", value=vault[:80], allowed=list(visible)
            )
    limited = tuple(dict.fromkeys(query.vaults)) or (tuple(allowed) if allowed else ())
    preferred = [_folder(folder, visible, "prefer_folders") for folder in query.prefer_folders]
    return Scopes(
        Filters(
            vaults=limited,
            folders=tuple(_folder(folder, visible, "folders") for folder in query.folders),
            doc_types=query.doc_types if doc_types is None else _spellings(query.doc_types, doc_types),
            content_types=query.content_types,
            categories=query.categories,
            tags=query.tags,
            session_ids=query.session_ids,
            promotion_levels=query.promotion_levels,
            date_from=query.date_from,
            date_to=query.date_to,
            attributes=query.attributes,
        ),
        tuple(dict.fromkeys(preferred))[:MAX_PREFERRED],
        limited,
    )


def _spellings(asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Every spelling that documents use of the doc_types *asked* for: an index compares them letter by letter.

    >>> _spellings(["RUNBOOK"], ["Runbook", "note", "runbook"])
    ('Runbook', 'runbook')
    """
    found: list[str] = []
    for doc_type in asked:
        spelled = [each for each in known if each.casefold() == doc_type.casefold()]
        if not spelled:
            raise InvalidDocTypeError(
                f"there is no doc_type {doc_type[:80]!r}",
                field="doc_types",
                value=doc_type[:80],
                allowed=sorted(known),
            )
        found += spelled
    return tuple(dict.fromkeys(found))


def _folder(folder: str, visible: Sequence[str], field: str) -> Folder:
    path = folder.strip("/")
    if not path:
        raise InvalidParamsError("a folder must not be empty", field=field, value=folder[:80], allowed=None)
    vault, _, rest = path.partition("/")
    return Folder(rest, vault) if vault in visible else Folder(path)


def _inside(inner: Folder, outer: Folder) -> bool:
    """Whether all of *inner* lies in *outer*.

    >>> _inside(Folder("a/b", "team"), Folder("a")), _inside(Folder("a"), Folder("a", "team"))
    (True, False)
    """
    return outer.vault in {None, inner.vault} and (
        not outer.path or inner.path == outer.path or inner.path.startswith(outer.path + "/")
    )
