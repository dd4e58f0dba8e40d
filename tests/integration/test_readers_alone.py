"""`readers` installed alone in a fresh environment reads files without ragdrop."""

from __future__ import annotations

import subprocess
from pathlib import Path

from checks.import_graph import ROOT
from tests import document_files, office_files

PROGRAM = """
import sys
from pathlib import Path
import readers
for path in sorted(Path(sys.argv[1]).iterdir()):
    document = readers.read(path)
    print(path.name, document.media_type, "the pump" in document.text.lower(), sep="\\t")
try:
    import ragdrop
except ImportError:
    print("no ragdrop")
"""


def test_it_is_installed_and_reads_where_ragdrop_is_not(tmp_path: Path) -> None:
    uv, python = str(ROOT / ".venv/bin/uv"), str(tmp_path / "env/bin/python")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"# The pump")
    (folder / "b.csv").write_bytes(b"part,of\nseal,the pump\n")
    (folder / "c.pdf").write_bytes(document_files.pdf(["The pump leaks."]))
    (folder / "d.xlsx").write_bytes(office_files.xlsx({"Parts": [["of"], ["the pump"]]}))
    for command in (
        [uv, "venv", "-q", str(tmp_path / "env")],
        [uv, "pip", "install", "-q", "--python", python, str(ROOT / "layers/common/python/readers")],
    ):
        subprocess.run(command, check=True, timeout=300)

    command = [python, "-I", "-c", PROGRAM, str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=tmp_path).stdout

    assert said.splitlines() == [
        "a.md\ttext/markdown\tTrue",
        "b.csv\ttext/csv\tTrue",
        "c.pdf\tapplication/pdf\tTrue",
        "d.xlsx\tapplication/vnd.openxmlformats-officedocument.spreadsheetml.sheet\tTrue",
        "no ragdrop",
    ]
