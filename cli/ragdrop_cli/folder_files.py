"""The files of a folder as documents: what is ignored, links, names, and archives as folders."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".ragdropignore"
MAX_PATH_BYTES = 900  # of a document's path: an S3 key has 1,024 with tenant and vault
MAX_MEMBERS = 10_000
MAX_MEMBER_BYTES = 50 * 1024 * 1024  # the largest document
MAX_ARCHIVE_BYTES = 1024 * 1024 * 1024
MAX_RATIO = 200
_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, NotImplementedError, LookupError, ValueError)


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file to send: its document's path, where it is, and its name inside an archive.

    `stamp` changes whenever the file may have: size, time and inode.
    """

    path: str
    file: Path
    member: str | None = None
    stamp: tuple[int, ...] = ()

    def md5(self) -> str:
        """The MD5 of its bytes. Raises OSError if it cannot be read."""
        with self.opened() as copy, copy.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """A file with its bytes: itself, or a copy of what an archive holds, for as long as the block runs.

        Raises OSError if it cannot be read.
        """
        if self.member is None:
            yield self.file
            return
        with TemporaryDirectory(prefix="ragdrop-") as folder:
            copy = Path(folder) / "member"
            try:
                with zipfile.ZipFile(self.file) as archive, archive.open(self.member) as packed, copy.open("wb") as to:
                    shutil.copyfileobj(packed, to)
            except _UNREADABLE as exc:
                message = "it wants a password" if isinstance(exc, RuntimeError) else "it is damaged in its archive"
                raise OSError(0, message) from exc
            yield copy


@dataclass(slots=True)
class FolderFiles:
    """All files of a folder by their paths, in order, and what is left out with the reason.

    `unknown` are paths that could not be looked at: a mirror must not take what is at or under them for gone.
    """

    files: dict[str, FolderFile] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)

    def leave_out(self, path: str, reason: str, *, unknown: bool = False) -> None:
        """Note that *path* is not sent."""
        self.left_out.append((shown(path), reason))
        if unknown:
            self.unknown.add(path)

    def under(self, prefix: str) -> FolderFiles:
        """The same files as documents below *prefix*, which ends with a slash or is empty."""
        files = {prefix + path: replace(file, path=prefix + path) for path, file in self.files.items()}
        return FolderFiles(files, self.left_out, {prefix + path for path in self.unknown})

    def may_hold(self, path: str) -> bool:
        """Whether the folder has *path*, or may have it."""
        name = composed(path)  # an older push may have stored another form
        return path in self.files or any(name == each or name.startswith(f"{each}/") for each in self.unknown)


def files_of(folder: Path) -> FolderFiles:
    """The files under *folder*, or the file of that name, whatever it is called.

    Hidden names, what a `.ragdropignore` names, and links that lead out of the folder or to a folder are left out;
    only links are reported.  An archive `a.zip` is a folder of that name.  Paths are in NFC, as people type them.

    Raises OSError if the folder itself, or a `.ragdropignore` of it, cannot be read whole.
    """
    os.stat(folder)  # noqa: PTH116 - os.walk is silent about a folder that is gone
    found = FolderFiles()
    root = folder.resolve()
    if not root.is_dir():
        _add(found, composed(folder.absolute().name), root, root.parent)
        return found
    specs: list[tuple[str, GitIgnoreSpec]] = []

    def unreadable(error: OSError) -> None:
        path = composed(Path(str(error.filename)).relative_to(folder).as_posix())
        found.leave_out(path, error.strerror or "it cannot be read", unknown=True)

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        inside = composed(Path(parent).relative_to(folder).as_posix().removeprefix(".").removeprefix("/"))
        specs = [(above, spec) for above, spec in specs if not above or f"{inside}/".startswith(f"{above}/")]
        if IGNORE_FILE in names:
            specs.append((inside, _spec(Path(parent) / IGNORE_FILE, f"{inside}/{IGNORE_FILE}".lstrip("/"))))
        entered = []
        for name in sorted(folders):
            path = composed(f"{inside}/{name}".lstrip("/"))
            if is_hidden(name) or _ignored(specs, f"{path}/"):
                continue
            if (Path(parent) / name).is_symlink():
                found.leave_out(path, "it is a link to a folder, which is not followed")
            else:
                entered.append(name)
        folders[:] = entered
        for name in sorted(names):
            path = composed(f"{inside}/{name}".lstrip("/"))
            if not is_hidden(name) and not _ignored(specs, path):
                _add(found, path, Path(parent) / name, root)
    found.files = dict(sorted(found.files.items()))
    return found


def _add(found: FolderFiles, path: str, file: Path, root: Path) -> None:
    problem = name_problem(path) or ("another file has this name" if path in found.files else None)
    if problem is None and file.is_symlink():
        try:
            if not file.resolve(strict=True).is_relative_to(root):
                problem = "it is a link that leads out of the folder"
        except (OSError, RuntimeError):  # it leads nowhere: whoever sends it reports that
            found.files[path] = FolderFile(path, file)
            return
    if problem is not None:
        found.leave_out(path, problem)
        return
    try:
        status = file.stat()
    except OSError as exc:
        found.leave_out(path, exc.strerror or "it cannot be read", unknown=True)
        return
    stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
    if path.lower().endswith(".zip") and stat.S_ISREG(status.st_mode):
        _add_members(found, path, file, stamp)
    else:
        found.files[path] = FolderFile(path, file, None, stamp)


def _add_members(found: FolderFiles, path: str, archive: Path, stamp: tuple[int, ...]) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
    except _UNREADABLE:
        found.leave_out(path, "it is no archive that can be read", unknown=True)
        return
    total = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or total > MAX_ARCHIVE_BYTES:
        found.leave_out(path, f"it unpacks to {total} bytes in {len(members)} files, which is too much")
        return
    for member in members:
        name = member.filename.replace("\\", "/")
        if member.is_dir() or any(part.startswith(".") and part not in {".", ".."} for part in name.split("/")):
            continue
        inside = composed(f"{path}/{name}")
        problem = name_problem(inside) or _member_problem(member)
        if name.startswith(("/", "__MACOSX/")) or ":" in name.split("/")[0]:
            problem = problem or "its name leads out of the archive"
        if problem is not None:
            if not name.startswith("__MACOSX/"):
                found.leave_out(inside, problem)
            continue
        found.files[inside] = FolderFile(inside, archive, member.filename, (*stamp, member.CRC, member.file_size))


def _member_problem(member: zipfile.ZipInfo) -> str | None:
    if member.flag_bits & 1:
        return "it wants a password"
    if member.file_size > MAX_MEMBER_BYTES:
        return "it has over 50 MB"
    if member.file_size > 1_000_000 and member.file_size > MAX_RATIO * max(member.compress_size, 1):
        return f"it unpacks to {member.file_size} bytes, over {MAX_RATIO} times its size"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "it is a link in an archive"
    return None


def name_problem(path: str) -> str | None:
    r"""Why a path cannot be that of a document; None where it can.

    >>> name_problem("notes/größe 😀.md"), name_problem("a/../b"), name_problem("a\udcff"), name_problem("a\nb")
    (None, 'its name has empty or dotted parts', 'its name is not UTF-8', 'its name has control characters')
    """
    try:
        encoded = path.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if len(encoded) > MAX_PATH_BYTES:
        return f"its path has {len(encoded)} bytes, at most {MAX_PATH_BYTES} are possible"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "its name has control characters"
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return "its name has empty or dotted parts"
    return None


def shown(path: str) -> str:
    """A path as it can be printed."""
    return path.encode("utf-8", "backslashreplace").decode().replace("\n", "\\n")


def composed(name: str) -> str:
    """*name* in NFC: the file systems of macOS give accents as characters of their own."""
    return unicodedata.normalize("NFC", name)


def is_hidden(name: str) -> bool:
    """Whether a file or folder is never sent for its name: a hidden one, or what Office and Windows put beside files.

    >>> [name for name in (".git", "~$plan.docx", "Thumbs.db", "plan.docx~", "a.md") if is_hidden(name)]
    ['.git', '~$plan.docx', 'Thumbs.db']
    """
    return name.startswith((".", "~$")) or name.lower() in {"thumbs.db", "desktop.ini"}


_WINDOWS_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*\\(?:\w|$)")  # .gitignore has no use for it: \\x is x


def _spec(file: Path, shown_path: str) -> GitIgnoreSpec:
    """The patterns of an ignore file, in NFC.

    Raises OSError if one of them cannot be understood: what the file withholds must not be sent.
    """
    if not file.is_file():
        raise OSError(0, f"{shown_path} is no file that can be read")
    body = file.read_bytes()
    try:
        text = body.decode("utf-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        raise OSError(0, f"{shown_path} is not UTF-8: save it so") from None
    lines = composed(text).splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if _WINDOWS_SEPARATOR.search(line):
            raise OSError(0, f"{shown_path}, line {number}: {line[:80]} has a backslash where .gitignore has a /")
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            raise OSError(0, f"{shown_path}, line {number}: {line[:80]} is no pattern of .gitignore") from None
    return GitIgnoreSpec.from_lines(lines)


def _ignored(specs: list[tuple[str, GitIgnoreSpec]], path: str) -> bool:
    """Whether the innermost file that says something of *path* ignores it."""
    for above, spec in reversed(specs):
        result = spec.check_file(path[len(above) + 1 :] if above else path)
        if result.include is not None:
            return result.include
    return False
