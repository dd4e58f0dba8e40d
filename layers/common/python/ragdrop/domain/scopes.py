"""Scopes: which vaults and folders of a tenant a query may look into."""

from __future__ import annotations

from collections.abc import Sequence

from ragdrop.domain.chunks import Filters, Folder
from ragdrop.errors import InvalidParamsError


def visible_vaults(known: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """The vaults that a caller may know of: all, or those that its key is scoped to.

    >>> visible_vaults(["a1", "b1"], []), visible_vaults(["a1", "b1"], ["b1", "zz"])
    (('a1', 'b1'), ('b1',))
    """
    return tuple(sorted(vault for vault in known if not allowed or vault in allowed))


def resolve(
    *, vaults: Sequence[str], folders: Sequence[str], known: Sequence[str], allowed: Sequence[str] = ()
) -> Filters:
    """What a query's vaults and folders mean.

    Args:
        vaults: As asked for; empty means all that the caller may see.
        folders: `path` or `vault/path`: where the first segment names a vault it means that vault.
        known: The tenant's vaults.
        allowed: The vaults that the caller's key is scoped to; empty means all.

    Raises:
        InvalidParamsError: A vault is unknown to the caller; one out of its scope is as if it were not there.

    >>> resolve(vaults=[], folders=["team/notes/", "notes"], known=["team"]).folders
    (Folder(path='notes', vault='team'), Folder(path='notes', vault=None))
    """
    visible = visible_vaults(known, allowed)
    for vault in vaults:
        if vault not in visible:
            raise InvalidParamsError(
                f"there is no vault named {vault[:80]!r}", field="vaults", value=vault[:80], allowed=list(visible)
            )
    limited = tuple(dict.fromkeys(vaults)) or (tuple(allowed) if allowed else ())
    return Filters(vaults=limited, folders=tuple(_folder(folder, visible) for folder in folders))


def _folder(folder: str, visible: Sequence[str]) -> Folder:
    path = folder.strip("/")
    if not path:
        raise InvalidParamsError("a folder must not be empty", field="folders", value=folder[:80])
    vault, _, rest = path.partition("/")
    return Folder(rest, vault) if vault in visible else Folder(path)
