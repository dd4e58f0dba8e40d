"""Keys: tenant, vault and path of a document, its S3 key, and ids of chunks."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

from ragdrop.errors import InvalidParamsError

MAX_DEPTH = 2  # segments below the vault: deeper ones belong to the folder above them
MAX_NAME_BYTES = 300  # a longer name is not ranked

MAX_KEY_BYTES = 900  # S3 allows 1,024; the rest is room for the suffix of a sidecar
NAME_PATTERN = re.compile(r"[a-z0-9-]{2,63}")
SIDECAR_SUFFIX = ".metadata.json"
SETTINGS_NAME = ".ragdrop.json"


class DocumentKey(NamedTuple):
    """Where a document lives: `{tenant}/{vault}/{path}` in the document bucket.

    A tuple, as each search looks some hundred up: its hash and comparisons run no line of Python.

    The tenant's own settings file, `{tenant}/.ragdrop.json`, is the only key with an empty vault.
    """

    tenant: str
    vault: str
    path: str

    @property
    def s3_key(self) -> str:
        """The object's key in the document bucket.

        >>> DocumentKey("acme", "team", "notes/a.md").s3_key
        'acme/team/notes/a.md'
        """
        return f"{self.tenant}/{self.vault_path}"

    @property
    def vault_path(self) -> str:
        """Vault and path, as a caller who knows only one tenant names the document."""
        return f"{self.vault}/{self.path}" if self.vault else self.path

    @property
    def is_settings(self) -> bool:
        """Whether this is a settings file, of the tenant or of a vault: it is applied and never indexed.

        >>> DocumentKey.parse("acme/.ragdrop.json").is_settings, DocumentKey("acme", "team", "a.md").is_settings
        (True, False)
        """
        return self.path == SETTINGS_NAME

    @property
    def digest(self) -> str:
        """SHA-256 of vault and path in hex: a name for derived objects, of bounded length."""
        return hashlib.sha256(self.vault_path.encode()).hexdigest()

    @classmethod
    def parse(cls, s3_key: str) -> DocumentKey:
        """Read an S3 key.

        Raises:
            InvalidParamsError: It is neither `{tenant}/{vault}/{path}` nor `{tenant}/.ragdrop.json`, a name has other
                characters, or it is too long.

        >>> DocumentKey.parse("acme/team/notes/a b.md").path
        'notes/a b.md'
        """
        tenant, _, rest = s3_key.partition("/")
        if rest == SETTINGS_NAME:
            return cls(check_name("tenant", tenant), "", rest)
        vault, _, path = rest.partition("/")
        return cls.checked(tenant, vault, path)

    @classmethod
    def of_object(cls, s3_key: str) -> DocumentKey:
        """The key of any object that lies in a vault; what is wrong with its path, `problem` has.

        Raises:
            InvalidParamsError: There is no vault, or no path in it.

        >>> DocumentKey.of_object("acme/team/notes//b.md").problem
        "path 'notes//b.md' has an empty, '.' or '..' segment"
        """
        tenant, _, rest = s3_key.partition("/")
        vault, _, path = rest.partition("/")
        if rest == SETTINGS_NAME or not path:
            return cls.parse(s3_key)
        return cls(check_name("tenant", tenant), check_name("vault", vault), path)

    @property
    def problem(self) -> str | None:
        """Why an object of this key cannot be a document; None where it can."""
        found = _path_problem(self.path)
        if found:
            return f"path {self.path[:200]!r} {found}"
        size = len(self.s3_key.encode())
        return f"the key has {size} bytes, at most {MAX_KEY_BYTES} are allowed" if size > MAX_KEY_BYTES else None

    @classmethod
    def checked(cls, tenant: str, vault: str, path: str) -> DocumentKey:
        """A key of parts that came from outside.

        Raises InvalidParamsError: a name or the path is not allowed; `field` says which.
        """
        check_name("tenant", tenant)
        check_name("vault", vault)
        key = cls(tenant, vault, path)
        if problem := key.problem:
            long = problem.startswith("the key has")
            raise InvalidParamsError(
                problem, field="path", **({"allowed": MAX_KEY_BYTES} if long else {"value": path[:200]})
            )
        return key


def is_folder(path: str, size_bytes: int) -> bool:
    """Whether an object is nothing but a folder, as consoles and sync tools make them: an empty one that ends in `/`.

    >>> is_folder("team/notes/", 0), is_folder("team/notes/", 7), is_folder("team/notes", 0)
    (True, False, False)
    """
    return size_bytes == 0 and path.endswith("/")


def _path_problem(path: str) -> str | None:
    if not path or path.endswith("/"):
        return "names a folder, not a document"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "has control characters"
    if not path.isprintable() and any("\ud800" <= character <= "\udfff" for character in path):
        return "is not valid Unicode"
    if any(segment in {"", ".", ".."} for segment in path.split("/")):
        return "has an empty, '.' or '..' segment"
    return None


def check_name(field: str, name: str) -> str:
    """Give back *name* if it may name a tenant or a vault.

    Raises:
        InvalidParamsError: Other than 2 to 63 of a-z, 0-9 and `-`.

    >>> check_name("vault", "team-notes")
    'team-notes'
    """
    if not NAME_PATTERN.fullmatch(name):
        raise InvalidParamsError(
            f"{field} {name[:80]!r} is not a name", field=field, value=name[:80], allowed="2 to 63 of a-z, 0-9 and -"
        )
    return name


@lru_cache(maxsize=4_096)  # a query asks for the id of each of its hits several times
def chunk_id(key: DocumentKey, revision: int, ordinal: int) -> str:
    """The id of a chunk: SHA-256 of the length-prefixed tenant, vault, path, revision and ordinal, in hex.

    The lengths keep `a/b` + `c` apart from `a` + `b/c`.

    >>> chunk_id(DocumentKey("acme", "team", "a.md"), 1, 0)[:12]
    'd70134023a8c'
    """
    digest = hashlib.sha256()
    for part in (key.tenant, key.vault, key.path, str(revision), str(ordinal)):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "big"))
        digest.update(encoded)
    return digest.hexdigest()


Order = tuple[str, int, int]


def order_of(key: DocumentKey, revision: int, ordinal: int) -> Order:
    """What chunks of one score are ordered by: their document's digest, their ordinal, the revision.

    >>> order_of(DocumentKey("acme", "team", "a.md"), 1, 0) < order_of(DocumentKey("acme", "team", "a.md"), 2, 1)
    True
    """
    return key.digest, ordinal, revision


def folder_of(key: DocumentKey) -> str | None:
    """The folder that a document counts for, as `vault/a/b`; None where it lies in the vault itself.

    >>> folder_of(DocumentKey("acme", "team", "a/b/c/d.md")), folder_of(DocumentKey("acme", "team", "d.md"))
    ('team/a/b', None)
    """
    parents = key.path.split("/")[:-1][:MAX_DEPTH]
    name = "/".join((key.vault, *parents))
    return name if parents and len(name.encode()) <= MAX_NAME_BYTES else None
