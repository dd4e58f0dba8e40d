"""Files of an audit: numbered files of JSON lines, each line chained to the one before, and their check.

A file begins with a line that names tenant, number and time, and ends with one that counts its receipts.  Every line
begins with the SHA-256 of what it says and names the hash of the line before; a receipt is the end of its line, and its
link names its SHA-256.  So each byte is hashed once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from ragdrop.domain.answers import RECEIPT_AGE_S
from ragdrop.errors import ConfigurationError

FORMAT = 1
FILE_NAME = re.compile(r"receipts-(\d{8})\.jsonl")
MAX_FILE_BYTES = 16 << 20
_HASH, _RECORD, _PREVIOUS = b'{"hash":"', b',"record":', b'"previous":"'
_NAMED = re.compile(rb'"receipt":"([0-9a-f]{32})"')
_BODY = len(_HASH) + 66  # behind the hash, its quote and a comma
_HEX, _AT = rb'"([0-9a-f]{64})"', rb'"([0-9T:.Z-]+)"'
_RECEIPT = re.compile(
    rb'"previous":'
    + _HEX
    + rb',"link":(\{"at":'
    + _AT
    + rb',"chain":"([0-9a-f]{32})","content":'
    + _HEX
    + rb',"number":([0-9]+),"previous":(?:null|'
    + _HEX
    + rb'),"previous_at":(?:null|'
    + _AT
    + rb'),"receipt":"([0-9a-f]{32})"\}),"purged":(true|false)'
)
NOT_ITS_OWN = "the receipt is not the one that its link names"
SMALL = 4  # files that one process checks as fast as two


def file_name(number: int) -> str:
    """The name of a file, by its number from 1.

    >>> file_name(7)
    'receipts-00000007.jsonl'
    """
    return f"receipts-{number:08}.jsonl"


def file_numbers(names: Iterable[str]) -> list[int]:
    """The numbers of the files of an audit among *names*, in order.

    >>> file_numbers(["receipts-00000002.jsonl", "notes.txt", "receipts-00000001.jsonl"])
    [1, 2]
    """
    return sorted(int(found[1]) for name in names if (found := FILE_NAME.fullmatch(name)))


@dataclass(frozen=True, slots=True)
class Position:
    """Where an export ended: number of its last file, hash of its last line, id of its last receipt, its tenant."""

    number: int = 0
    hash: str | None = None
    last: str | None = None
    tenant: str | None = None

    @classmethod
    def at_end_of(cls, number: int, data: bytes) -> Position:
        """The position behind a file. Raises ConfigurationError if it is broken."""
        lines = data.splitlines()
        try:
            first, last = json.loads(lines[0]), json.loads(lines[-1])
            return cls(number, last["hash"], last["last"], first["tenant"])
        except (ValueError, KeyError, IndexError, TypeError) as exc:
            message = f"{file_name(number)} is no whole file of an audit; `ragdrop audit verify` says more"
            raise ConfigurationError(message) from exc


class AuditFile:
    """One file while it is filled with receipts, behind *position*.

    Args:
        position: Where the file before ended.
        tenant: Whose receipts they are.

    Raises ConfigurationError: those of the file before are another tenant's.
    """

    def __init__(self, position: Position, tenant: str) -> None:
        if position.tenant not in {None, tenant}:
            raise ConfigurationError(f"{file_name(position.number)} has receipts of the tenant {position.tenant}")
        self.number, self._tenant = position.number + 1, tenant
        self.receipts = 0
        self._last, self._previous = position.last, position.hash
        self._lines: list[bytes] = []
        self._size = 0
        self._add(f'"tenant":{json.dumps(tenant)},"file":{self.number},"format":{FORMAT}')

    @property
    def is_full(self) -> bool:
        """Whether the next receipt belongs in another file."""
        return self._size >= MAX_FILE_BYTES

    def add(self, receipt: Mapping[str, Any]) -> None:
        """Add a receipt as `GET /receipts` returns it."""
        record = receipt["record"]
        said = f'"link":{receipt["link"]},"purged":{"true" if record is None else "false"}'
        self._add(said, "" if record is None else record)
        self._last = receipt["answer_id"]
        self.receipts += 1

    def closed(self, at: str) -> tuple[bytes, Position]:
        """The whole file, whose last receipts were read at *at* (RFC 3339), and the position behind it."""
        self._add(f'"receipts":{self.receipts},"last":{json.dumps(self._last)},"at":{json.dumps(at)}')
        return b"".join(self._lines), Position(self.number, self._previous, self._last, self._tenant)

    def _add(self, said: str, record: str = "") -> None:
        body = f'"previous":{json.dumps(self._previous)},{said}'
        self._previous = hashlib.sha256(body.encode()).hexdigest()
        end = f"{_RECORD.decode()}{record}" if record else ""
        line = f'{{"hash":"{self._previous}",{body}{end}}}\n'.encode()
        self._lines.append(line)
        self._size += len(line)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """What is wrong, and where: `line` counts from 1, `receipt` is an answer's id where one is known."""

    file: str
    line: int
    receipt: str | None
    problem: str


class _Link(NamedTuple):
    """What a line says of its receipt; `text` is the link, whose SHA-256 is the digest."""

    text: bytes
    chain: bytes
    content: bytes
    number: int
    previous: bytes | None
    previous_at: bytes | None
    receipt: bytes
    purged: bool

    @classmethod
    def of(cls, said: bytes) -> _Link | None:
        """The link of a line; None if it has none, or one of another shape."""
        found = _RECEIPT.fullmatch(said)
        if found is None:
            return None
        _, text, _, chain, content, number, previous, previous_at, receipt, purged = found.groups()
        return cls(text, chain, content, int(number), previous, previous_at, receipt, purged == b"true")


@dataclass(slots=True)
class _Run:
    """Receipts of one chain that follow each other in a file: its first link and place, and its last link."""

    first: _Link
    line: int
    number: int
    digest: bytes


@dataclass(slots=True)
class FileReport:
    """What one file holds, as far as it can be checked without the others."""

    name: str
    findings: list[AuditFinding] = field(default_factory=list)
    receipts: int = 0
    purged: int = 0
    previous: str | None = None  # what the first line names
    ends: tuple[bytes, ...] = ()  # hashes that the next file may name
    tenant: str | None = None
    number: int = 0
    at: str = ""
    runs: dict[bytes, _Run] = field(default_factory=dict)
    gaps: list[tuple[_Run, _Link, int]] = field(default_factory=list)  # a run, the link behind it, its line

    def note(self, line: int, receipt: str | None, problem: str) -> None:
        """Add a finding of this file."""
        self.findings.append(AuditFinding(self.name, line, receipt, problem))


@dataclass(slots=True)
class AuditReport:
    """What an audit came to.

    `expired` counts receipts that were 30 days old before an export could read them; `head` is the last line's hash.
    """

    findings: list[AuditFinding] = field(default_factory=list)
    files: int = 0
    receipts: int = 0
    purged: int = 0
    expired: int = 0
    chains: int = 0
    head: str | None = None


def check_file(path: Path) -> FileReport:
    """Check one file: every line's hash and place, every receipt's content, and chains within the file."""
    report = FileReport(path.name)
    lines = path.read_bytes().split(b"\n")
    if lines.pop() != b"" or not lines:
        report.note(len(lines) + 1, None, "the file is cut off")
    expected: tuple[bytes, ...] = ()
    for place, line in enumerate(lines, 1):
        expected = _check_line(report, line, place, expected, last=place == len(lines))
    report.ends = expected
    return report


def _check_line(
    report: FileReport, line: bytes, place: int, expected: tuple[bytes, ...], *, last: bool
) -> tuple[bytes, ...]:
    """Check a line behind those of the hashes *expected*; the hashes that the next one may name."""
    end = line.find(_RECORD, _BODY)
    record = memoryview(line)[end + len(_RECORD) : -1] if end >= 0 else None  # not copied: it is most of the line
    said = line[_BODY:end]
    stated, computed = line[len(_HASH) : _BODY - 2], hashlib.sha256(said).hexdigest().encode()
    framed = line.startswith(_HASH) and line[_BODY - 2 : _BODY] == b'",' and line.endswith(b"}")
    altered = stated != computed or not framed
    link, named = _Link.of(said), _NAMED.search(said)
    receipt = named[1].decode() if named else None
    if altered:
        report.note(place, receipt, "the line was altered")
    elif place > 1 and said[len(_PREVIOUS) : len(_PREVIOUS) + 64] not in expected:
        report.note(place, receipt, "lines before this one are missing, or are in another order")
    if link is not None:
        _check_receipt(report, place, link, record, altered=altered)
    elif named and place > 1:
        report.note(place, receipt, NOT_ITS_OWN)
    if last or place == 1:
        _check_ends(report, said, place, last=last)
    return (stated, computed)


def _check_ends(report: FileReport, said: bytes, place: int, *, last: bool) -> None:
    """Read the first line, which names the file, and the last one, which counts it."""
    try:
        parsed = json.loads(b"{" + said + b"}")
    except ValueError:
        parsed = {}
    if place == 1:
        report.previous, report.tenant = parsed.get("previous"), parsed.get("tenant")
        report.number = parsed.get("file", 0)
    if last:
        report.at = str(parsed.get("at", ""))
        if parsed.get("receipts") != report.receipts:
            report.note(place, None, "the end of the file is missing")


def _check_receipt(report: FileReport, place: int, link: _Link, record: memoryview | None, *, altered: bool) -> None:
    report.receipts += 1
    report.purged += record is None
    content = link.content if record is None else hashlib.sha256(record).hexdigest().encode()
    if link.purged != (record is None) or content != link.content:
        report.note(place, link.receipt.decode(), NOT_ITS_OWN)
    run = report.runs.get(link.chain)
    if altered:
        if run is not None:  # what is behind it in the chain was not altered
            run.number, run.digest = run.number + 1, b""
        return
    digest = hashlib.sha256(link.text).hexdigest().encode()
    if run is None:
        report.runs[link.chain] = _Run(link, place, link.number, digest)
        return
    if not _follows(run, link):
        report.gaps.append((replace(run), link, place))
    run.number, run.digest = link.number, digest


def _follows(run: _Run, link: _Link) -> bool:
    """Whether *link* is the next of a chain; an altered line has no digest, and was reported."""
    return link.number == run.number + 1 and run.digest in {b"", link.previous}


def check_audit(folder: Path, *, head: str | None = None) -> AuditReport:
    """Check the files of an audit: each alone, in several processes where there are many, then how they follow.

    Args:
        folder: Where they lie.
        head: The hash that the last export printed; None if it is not known.

    Raises ConfigurationError: there are none.
    """
    numbers = file_numbers(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if not numbers:
        raise ConfigurationError(f"{folder} has no files of an audit, such as {file_name(1)}")
    report, before, runs = AuditReport(), FileReport(""), dict[bytes, _Run]()
    for found in _checked([folder / file_name(number) for number in numbers]):
        _join(report, before, found)
        _continue_chains(report, runs, found)
        before = found
    report.chains, report.head = len(runs), before.ends[0].decode("latin-1") if before.ends else None
    if head is not None and head.encode() not in before.ends:
        report.findings.append(AuditFinding(before.name, 0, None, "what was exported behind this file is missing"))
    return report


def _checked(paths: list[Path]) -> Iterator[FileReport]:
    if len(paths) <= SMALL:
        yield from map(check_file, paths)
        return
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(check_file, paths, chunksize=SMALL)


def _join(report: AuditReport, before: FileReport, found: FileReport) -> None:
    """Add what one file holds, and whether it follows the one *before*."""
    number = before.number + 1
    if found.number != number or file_name(found.number) != found.name:
        problem = f"{file_name(number)} is missing, or stands in another place"
        report.findings.append(AuditFinding(found.name, 1, None, problem))
    elif before.name and str(found.previous).encode() not in before.ends:
        report.findings.append(AuditFinding(found.name, 1, None, f"it does not follow the end of {before.name}"))
    if before.name and found.tenant != before.tenant:
        report.findings.append(AuditFinding(found.name, 1, None, "it has receipts of another tenant"))
    report.findings += found.findings
    report.files += 1
    report.receipts += found.receipts
    report.purged += found.purged


def _continue_chains(report: AuditReport, runs: dict[bytes, _Run], found: FileReport) -> None:
    """Compare what follows in each chain; what was too old for the export to read is counted, not reported."""
    starts = [(runs.get(chain), run.first, run.line) for chain, run in found.runs.items()]
    for before, link, line in [*starts, *found.gaps]:
        number, chain, last = link.number, link.chain.decode(), before.number if before is not None else 0
        if number == 1 if before is None else _follows(before, link):
            continue
        if number > last + 1 and _is_expired(link.previous_at, found.at):
            report.expired += number - last - 1
            continue
        problem = f"receipts {last + 1} to {number - 1} of chain {chain} are missing"
        if number <= last + 1:
            problem = f"it does not follow the receipt before it in chain {chain}"
        report.findings.append(AuditFinding(found.name, line, link.receipt.decode(), problem))
    runs |= found.runs


def _is_expired(at: bytes | None, read_at: str) -> bool:
    """Whether a receipt of *at* was no longer stored at *read_at*; both are RFC 3339."""
    try:
        age = datetime.fromisoformat(read_at) - datetime.fromisoformat((at or b"").decode())
    except ValueError:
        return False
    return age.total_seconds() >= RECEIPT_AGE_S - 1
