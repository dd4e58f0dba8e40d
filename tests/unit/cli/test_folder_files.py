"""Folders as people have them: what is ignored, links, odd names, and archives."""

from __future__ import annotations

import os
import unicodedata
import zipfile
from pathlib import Path

import pytest
from typer.testing import Result

from ragdrop_cli.folder_files import files_of
from tests.unit.cli.world import API_KEY, API_URL, CommandLine


def push(ragdrop: CommandLine, *options: str) -> Result:
    return ragdrop.run("push", str(ragdrop.folder / "in"), "--vault", "team", *options)


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x", "utf-8")


def archive(file: Path, members: dict[str, str]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)


def test_what_an_ignore_file_names_is_left_out_in_the_syntax_of_gitignore(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a.log", "keep.log", "build/x.md", "docs/build.md", "docs/tmp/y.md", "docs/z.bak", "z.bak")
    (tmp_path / ".ragdropignore").write_text("*.log\n!keep.log\n/build/\ntmp/\n# a comment\n", "utf-8")
    (tmp_path / "docs/.ragdropignore").write_text("*.bak\n", "utf-8")

    assert list(files_of(tmp_path).files) == ["a.md", "docs/build.md", "keep.log", "z.bak"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_an_ignore_file_that_windows_wrote_withholds_its_first_line_too(tmp_path: Path, encoding: str) -> None:
    write(tmp_path, "salary.md", "a.md")
    (tmp_path / ".ragdropignore").write_bytes("salary.md\r\n".encode(encoding))

    assert list(files_of(tmp_path).files) == ["a.md"]


COMPOSED, DECOMPOSED = unicodedata.normalize("NFC", "Löhne"), unicodedata.normalize("NFD", "Löhne")


@pytest.mark.parametrize(("pattern", "name"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_a_name_is_ignored_in_whatever_form_of_unicode_it_is_written(tmp_path: Path, pattern: str, name: str) -> None:
    write(tmp_path, f"{name}/may.md", f"b/{name}/x.md", "a.md")
    (tmp_path / ".ragdropignore").write_text(f"/{pattern}/\n", "utf-8")
    (tmp_path / f"b/{name}/.ragdropignore").write_text("x.md\n", "utf-8")

    assert list(files_of(tmp_path).files) == ["a.md"]


def test_a_name_of_macos_becomes_the_one_that_people_type(ragdrop: CommandLine) -> None:
    ragdrop.write(f"in/{DECOMPOSED}/{DECOMPOSED}.md")
    archive(ragdrop.folder / f"in/{DECOMPOSED}.zip", {f"{DECOMPOSED}.md": "x"})

    assert push(ragdrop).exit_code == 0
    assert sorted(ragdrop.api.bodies) == [f"team/{COMPOSED}.zip/{COMPOSED}.md", f"team/{COMPOSED}/{COMPOSED}.md"]


def test_of_two_names_that_look_the_same_one_is_left_out_by_name(tmp_path: Path) -> None:
    write(tmp_path, f"{COMPOSED}.md", f"{DECOMPOSED}.md")

    found = files_of(tmp_path)

    assert [*found.files] == [f"{COMPOSED}.md"]
    assert found.left_out == [(f"{COMPOSED}.md", "another file has this name")]


def test_a_mirror_replaces_the_name_of_an_older_push(ragdrop: CommandLine) -> None:
    ragdrop.write(f"in/{DECOMPOSED}.md")
    ragdrop.connect(API_URL, API_KEY).put_document("team", f"{DECOMPOSED}.md", b"x", media_type="text/markdown")

    result = push(ragdrop, "--delete", "--yes")

    assert (result.exit_code, [*ragdrop.api.documents]) == (0, [f"team/{COMPOSED}.md"])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"salary.md\n!\n", ".ragdropignore, line 2: ! is no pattern of .gitignore"),
        (b"salary.md\n[z-a].md\n", ".ragdropignore, line 2: [z-a].md is no pattern of .gitignore"),
        (b"private\\\n", ".ragdropignore, line 1: private\\ has a backslash where .gitignore has a /"),
        (b"private\\salary.md\n", ".ragdropignore, line 1: private\\salary.md has a backslash where"),
        ("L\xf6hne.md".encode("latin-1"), ".ragdropignore is not UTF-8: save it so"),
    ],
)
def test_nothing_is_sent_where_an_ignore_file_cannot_be_understood(
    ragdrop: CommandLine, body: bytes, problem: str
) -> None:
    ragdrop.write("in/salary.md")
    (ragdrop.folder / "in/.ragdropignore").write_bytes(body)

    result = push(ragdrop)

    assert (result.exit_code, ragdrop.api.bodies) == (2, {})
    assert problem in " ".join(result.stderr.replace("│", "").split())


def test_escapes_and_comments_of_gitignore_are_no_separators_of_windows(tmp_path: Path) -> None:
    write(tmp_path, "#a.md", "!b.md", "c.md", "d*.md")
    (tmp_path / ".ragdropignore").write_text("# not C:\\tmp\n\\#a.md\n\\!b.md\nd\\*.md\n", "utf-8")

    assert list(files_of(tmp_path).files) == ["c.md"]


def test_what_office_and_windows_put_beside_files_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "plan.docx", "~$plan.docx", "Thumbs.db", "sub/desktop.ini")

    assert list(files_of(tmp_path).files) == ["plan.docx"]


def test_links_are_followed_to_files_within_the_folder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(tmp_path, "in/a.md", "in/sub/b.md", "secret.md")
    (folder / "link.md").symlink_to(folder / "a.md")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "gone.md").symlink_to(folder / "nothing")
    (folder / "loop").symlink_to(folder)
    (folder / "round.md").symlink_to(folder / "round.md")

    found = files_of(folder)

    assert [path for path, file in found.files.items() if file.file.is_file()] == ["a.md", "link.md", "sub/b.md"]
    assert dict(found.left_out) == {
        "loop": "it is a link to a folder, which is not followed",
        "out.md": "it is a link that leads out of the folder",
    }


def test_odd_names_are_sent_and_impossible_ones_named(tmp_path: Path) -> None:
    write(tmp_path, "größe 😀.md", "a%20b?.md", "x" * 200 + ".md", "-rf.md", "café.md")
    for name in (b"bad\xff.md", b"new\nline.md"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x", "utf-8")
    deep = "/".join(["d" * 200] * 5)
    write(tmp_path, f"{deep}/a.md")

    found = files_of(tmp_path)

    assert sorted(found.files) == sorted(["größe 😀.md", "a%20b?.md", "x" * 200 + ".md", "-rf.md", "café.md"])
    assert sorted(reason for _, reason in found.left_out) == [
        "its name has control characters",
        "its name is not UTF-8",
        "its path has 1009 bytes, at most 900 are possible",
    ]


def test_an_archive_is_a_folder_of_its_name(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    archive(ragdrop.folder / "in/old.zip", {"notes/b.md": "b", "__MACOSX/._b.md": "", ".hidden": "", "empty/": ""})

    first, second = push(ragdrop), push(ragdrop)

    assert first.stdout == "2 files to vault team: 2 pending\n"
    assert ragdrop.api.bodies["team/old.zip/notes/b.md"] == b"b"
    assert second.stdout == "0 files to vault team: 2 unchanged\n"


def test_a_large_member_of_an_archive_goes_straight_into_the_bucket(ragdrop: CommandLine) -> None:
    (ragdrop.folder / "in").mkdir()
    with zipfile.ZipFile(ragdrop.folder / "in/a.zip", "w") as packed:
        packed.writestr("big.txt", "x" * (4 * 1024 * 1024 + 1))

    assert push(ragdrop).exit_code == 0
    assert len(ragdrop.api.bodies["team/a.zip/big.txt"]) == 4 * 1024 * 1024 + 1


def test_members_that_lead_out_or_are_bombs_are_left_out(tmp_path: Path) -> None:
    members = {"../out.md": "x", "/etc/x.md": "x", "C:/x.md": "x", "ok.md": "x", "bomb.txt": " " * 20_000_000}
    archive(tmp_path / "a.zip", members)
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no more")

    found = files_of(tmp_path)

    assert list(found.files) == ["a.zip/ok.md"]
    assert {name for name, _ in found.left_out} == {
        "a.zip/../out.md",
        "a.zip//etc/x.md",
        "a.zip/C:/x.md",
        "a.zip/bomb.txt",
        "broken.zip",
    }


def test_an_archive_of_too_many_files_is_left_out(tmp_path: Path) -> None:
    archive(tmp_path / "a.zip", {f"{number}.md": "" for number in range(10_001)})

    assert "too much" in files_of(tmp_path).left_out[0][1]


def test_a_member_that_is_damaged_is_reported_and_the_others_are_sent(ragdrop: CommandLine) -> None:
    (ragdrop.folder / "in").mkdir()
    file = ragdrop.folder / "in/a.zip"
    archive(file, {"bad.md": "the pump leaks " * 50, "good.md": "x"})
    body = bytearray(file.read_bytes())
    body[50:60] = b"\0" * 10
    file.write_bytes(body)

    result = push(ragdrop)

    assert result.exit_code == 1
    assert list(ragdrop.api.bodies) == ["team/a.zip/good.md"]
    assert "damaged in its archive" in result.stderr


def test_a_mirror_leaves_alone_what_it_could_not_look_at(ragdrop: CommandLine) -> None:
    ragdrop.write("in/a.md")
    archive(ragdrop.folder / "in/old.zip", {"b.md": "b"})
    push(ragdrop)
    (ragdrop.folder / "in/old.zip").write_bytes(b"PK\x03\x04 half written")

    result = push(ragdrop, "--delete", "--yes")

    assert "team/old.zip/b.md" in ragdrop.api.documents
    assert "left out old.zip" in result.stderr


def test_a_folder_that_is_gone_is_an_error_and_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        files_of(tmp_path / "nothing")
