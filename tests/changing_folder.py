"""A folder that changes at random, and what it holds, for tests of what keeps a vault equal to it."""

from __future__ import annotations

import random
import shutil
import zipfile
from pathlib import Path

from ragdrop_cli.folder_files import files_of

KINDS = ("write", "write", "append", "remove", "move", "folder", "folders", "archive", "ignore", "link")


def in_folder(folder: Path) -> dict[str, bytes]:
    """The bytes of each file that is to be sent, by its path."""
    found = {}
    for path, file in files_of(folder).files.items():
        if not file.file.is_file():
            continue  # a link that leads nowhere
        with file.opened() as copy:
            found[path] = copy.read_bytes()
    return found


def change(folder: Path, chance: random.Random, step: int) -> None:
    """One change: a file written, appended to, removed or moved, a folder moved or removed, an archive, a link."""
    names = [f"{chance.choice(('', 'a/', 'a/b/', 'c/'))}{chance.randrange(12)}.md" for _ in range(2)]
    file, other = (folder / name for name in names)
    kind = chance.choice(KINDS)
    if kind == "remove":
        file.unlink(missing_ok=True)
    elif kind == "move" and file.exists():
        other.parent.mkdir(parents=True, exist_ok=True)
        file.replace(other)
    elif kind == "folder" and (folder / "c").is_dir() and not (folder / "d").exists():
        (folder / "c").rename(folder / "d")
    elif kind == "folders":
        shutil.rmtree(folder / chance.choice(("a/b", "d")), ignore_errors=True)
    elif kind == "archive":
        with zipfile.ZipFile(folder / "old.zip", "w") as packed:
            for number in range(chance.randrange(3)):
                packed.writestr(f"{number}.md", f"{step}")
    elif kind == "ignore":
        (folder / ".ragdropignore").write_text(f"{chance.randrange(12)}.md\n", "utf-8")
    elif kind == "link":
        (folder / "link.md").unlink(missing_ok=True)
        (folder / "link.md").symlink_to(file)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a" if kind == "append" else "w", encoding="utf-8") as stream:
            stream.write(f"{step} {chance.random()}\n")
