"""The process that reads documents: it answers like a reader in place, and what it cannot bear ends only itself."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from readers.content import ContentParser
from readers.formats import read_here
from readers.isolated_reader import IsolatedReader
from readers.read_errors import CorruptFileError, FileTooLargeError, UnsafeFileError
from tests import document_files
from tests.interpreters import printed

MEMORY_BYTES = 256 * 1024 * 1024


@pytest.fixture(scope="module")
def reader() -> Iterator[IsolatedReader]:
    made = IsolatedReader(timeout_s=4.0, memory_bytes=MEMORY_BYTES)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"<html><h1>Pump</h1><p>It leaks: caf\xc3\xa9</html>", "a.html"),
        (b"a,b\n1,2\n", "a.csv"),
        (b'{"a": "\\ud800 b"}', "a.json"),
        (b"def start():\n    pass\n", "a.py"),
        (document_files.pdf(["The pump leaks."]), "a.pdf"),
        (document_files.docx(document_files.paragraph("It leaks.")), "a.docx"),
    ],
)
def test_it_reads_as_a_reader_in_place_does(reader: IsolatedReader, body: bytes, name: str) -> None:
    assert ContentParser(reader).parse(body, name=name) == ContentParser(read_here).parse(body, name=name)


def test_an_error_arrives_with_its_kind_and_details(reader: IsolatedReader) -> None:
    with pytest.raises(FileTooLargeError) as caught:
        ContentParser(reader).parse(document_files.pdf(*[[] for _ in range(5_001)]), name="a.pdf")

    assert caught.value.details["limit_pages"] == 5_000


def test_a_document_that_takes_too_long_is_stopped_and_the_next_one_is_read(reader: IsolatedReader) -> None:
    started = time.monotonic()

    with pytest.raises(UnsafeFileError, match=r"longer than|signal"):
        reader("html", b"<div>" * 400_000, "a.html")

    assert time.monotonic() - started < 10
    assert reader("csv", b"a,b\n1,2\n", "a.csv").tables


def test_a_document_that_takes_too_much_memory_is_unsafe_and_the_next_one_is_read(reader: IsolatedReader) -> None:
    with pytest.raises(UnsafeFileError):
        reader("json", b"[" + b"[],{}," * 2_400_000 + b"[]]", "a.json")

    assert reader("csv", b"a,b\n1,2\n", "a.csv").tables


def test_a_reader_that_breaks_makes_the_document_corrupt(reader: IsolatedReader) -> None:
    with pytest.raises(CorruptFileError):
        reader("no such kind", b"x", "a")


def test_a_large_parent_does_not_make_every_document_start_a_new_process() -> None:
    ballast = b"x" * (400 * 1024 * 1024)  # a child inherits its parent's peak in getrusage, which is not its own
    reader = IsolatedReader()
    try:
        reader("csv", b"a,b\n1,2\n", "a.csv")
        first = reader._process
        reader("csv", b"a,b\n1,2\n", "b.csv")

        assert first is not None
        assert reader._process is first
        assert ballast
    finally:
        reader.close()


def test_reading_markdown_imports_no_reader_of_another_format() -> None:
    heavy = [
        "python_calamine",
        "olefile",
        "striprtf",
        "selectolax",
        "pypdfium2",
        "mammoth",
        "pygments.lexers.python",
        "email.message",
    ]
    program = (
        "import sys\nfrom readers.content import ContentParser\n"
        "from readers.isolated_reader import IsolatedReader\n"
        "ContentParser(IsolatedReader()).parse(b'# Pump', name='a.md')\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )

    assert printed(program) == "[]\n"


def test_closing_leaves_no_process_behind() -> None:
    reader = IsolatedReader()
    reader("csv", b"a,b\n1,2\n", "a.csv")
    process = reader._process
    assert process is not None

    reader.close()

    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.parametrize(
    "line",
    [
        "import socket; socket.socket()",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/x')",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os; os.fork()",
    ],
)
def test_the_process_can_open_no_connection_and_start_no_program(line: str) -> None:
    program = (
        "import sys\nfrom readers.read_errors import UnsafeFileError\n"
        "from readers.isolated_reader import refuse_connections\nsys.addaudithook(refuse_connections)\n"
        f"try:\n    {line}\nexcept UnsafeFileError:\n    print('refused')"
    )

    assert printed(program) == "refused\n"
