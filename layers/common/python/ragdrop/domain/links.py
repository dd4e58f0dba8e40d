"""Links between documents: the possible targets of a link as written."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from ragdrop.domain.documents import MAX_PATHS_OF_A_NAME, Name, folded_name
from ragdrop.domain.keys import NAME_PATTERN, DocumentKey

MAX_STORED_LINKS = 100  # of each document the index keeps so many, with its first chunk
_FOLDER_FILES = ("README.md", "index.md", "readme.md")
_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:|//)")


@dataclass(frozen=True, order=True, slots=True)
class Link:
    """A link as written: `target` is where it leads, a wikilink with its brackets; `text` is what a reader sees."""

    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a link may mean: paths of a vault, likeliest first, and names to look up.

    Without paths it leads out of what may be seen.  A wikilink means any document whose path ends as it says.
    """

    vault: str
    paths: tuple[str, ...] = ()
    names: tuple[Name, ...] = ()
    ending: str | None = None


def followable(links: Sequence[Link]) -> tuple[Link, ...]:
    """The first 100 links that may lead to documents, each target once: those that the index keeps.

    >>> followable([Link("https://a.example"), Link("b.md"), Link("#top")])
    (Link(target='b.md', text=''),)
    """
    first = {link.target: link for link in reversed(links) if not _is_elsewhere(link.target)}
    return tuple(first.values())[::-1][:MAX_STORED_LINKS]


def reference(target: str, source: DocumentKey, *, across_vaults: bool = False) -> Reference | None:
    """What *target*, a link as written in *source*, may mean; None where it leads out of ragdrop or to its own page.

    Args:
        target: A relative path, a path from the root of the vault, a URL or a wikilink; anchors do not count.
        source: The document that holds the link.
        across_vaults: Whether `../` may go up from a vault into the one beside it.

    >>> key = DocumentKey("acme", "team", "notes/a.md")
    >>> reference("../b%20c.md#top", key).paths[0], reference("[[b|B]]", key).ending
    ('b c.md', 'b')
    >>> reference("https://a.example/b.md", key) is None
    True
    """
    if _is_elsewhere(target):
        return None
    if target.lstrip("!").startswith("[["):
        return _wikilink(target, source)
    written = target.partition("#")[0].partition("?")[0].strip()
    if "/" not in written:
        written = written.replace("\\", "/")
    paths: list[str] = []
    vault = source.vault
    for form in dict.fromkeys((unquote(written), written)):
        place = _place(form, source, across_vaults=across_vaults)
        if place is not None:
            vault, path = place
            paths += _candidates(path)
            if form.startswith(f"/{source.vault}/"):  # as in a link to the published site, or an S3 key
                paths += _candidates(path.removeprefix(f"{source.vault}/"))
    names = tuple(dict.fromkeys(Name(source.tenant, vault, folded_name(path)) for path in paths[:1]))
    return Reference(vault, tuple(dict.fromkeys(paths)), names)


def candidates(target: Reference, source: DocumentKey, named: Mapping[Name, tuple[str, ...]]) -> list[DocumentKey]:
    """The documents that a link may mean, likeliest first; whether one is there its head says.

    A path as written comes first, then one that differs in case only, then for a wikilink the nearest that ends so.  A
    path that the list of its name would hold, were it there, is left out.  Blanks may be hyphens in a file's name.
    """
    paths = [path for name in target.names for path in named.get(name, ())]
    by_case = {_folded(path): path for path in reversed(paths)}
    found = [path for path in target.paths if path in paths]
    found += [by_case[_folded(path)] for path in target.paths if _folded(path) in by_case]
    if target.ending is not None:
        hyphenated = "-".join(target.ending.split())
        ends = [path for path in paths if _ends(path, target.ending) or _ends(path, hyphenated)]
        found += sorted(ends, key=lambda path: (-_shared_folders(path, source.path), path.count("/"), path))
    whole = {name.name for name in target.names if 0 < len(named.get(name, ())) < MAX_PATHS_OF_A_NAME}
    found += [path for path in target.paths if folded_name(path) not in whole]
    return [DocumentKey(source.tenant, target.vault, path) for path in dict.fromkeys(found)]


def _is_elsewhere(target: str) -> bool:
    return not target or target.startswith(("#", "?")) or bool(_SCHEME.match(target))


def _wikilink(target: str, source: DocumentKey) -> Reference | None:
    inner = target.lstrip("!").strip("[]").partition("|")[0].partition("#")[0].partition("^")[0].strip().strip("/")
    if not inner:
        return None
    last = inner.rsplit("/", 1)[-1]
    folder = source.path.rpartition("/")[0]
    paths = [path for base in (folder, "") for path in (_joined(base, inner), _joined(base, f"{inner}.md"))]
    names = (unicodedata.normalize("NFC", last).casefold(), folded_name(last), "-".join(folded_name(last).split()))
    keys = tuple(dict.fromkeys(Name(source.tenant, source.vault, name) for name in names))
    return Reference(source.vault, tuple(dict.fromkeys(path for path in paths if path)), keys, inner)


def _place(written: str, source: DocumentKey, *, across_vaults: bool) -> tuple[str, str] | None:
    """Vault and path that a path means; None where it leads out."""
    parts = [] if written.startswith("/") else source.path.split("/")[:-1]
    above = False
    for part in written.split("/"):
        if part == ".." and not parts:
            if above:
                return None
            above = True
        elif part == "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    slash = "/" if written.endswith(("/", "/.", "/..")) or written in {".", ".."} else ""
    if not above:
        return source.vault, "/".join(parts) + slash
    if not across_vaults or len(parts) < 2 or not NAME_PATTERN.fullmatch(parts[0]):
        return None
    return parts[0], "/".join(parts[1:]) + slash


def _candidates(path: str) -> list[str]:
    if not path or path.endswith("/"):
        folder = path.rstrip("/")
        return [_joined(folder, file) for file in _FOLDER_FILES]
    found = [path]
    if path.endswith((".html", ".htm")):
        found.append(path.rpartition(".")[0] + ".md")
    if not path.endswith(".md"):
        found += [f"{path}.md", *(_joined(path, file) for file in _FOLDER_FILES)]
    return found


def _joined(folder: str, file: str) -> str:
    return f"{folder}/{file}" if folder else file


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _ends(path: str, ending: str) -> bool:
    target = _folded(ending)
    whole = "/" + _folded(path)
    return whole.endswith("/" + target) or whole.rpartition(".")[0].endswith("/" + target)


def _shared_folders(path: str, other: str) -> int:
    """How many folders two paths share from the root on."""
    pairs = zip(path.split("/")[:-1], other.split("/")[:-1], strict=False)
    shared = 0
    for one, another in pairs:
        if one != another:
            break
        shared += 1
    return shared
