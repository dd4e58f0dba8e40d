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
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ragdrop.domain.answers import RECEIPT_AGE_S
from ragdrop.domain.receipt_chains import ChainLink
from ragdrop.errors import ConfigurationError

FORMAT = 1
FILE_NAME = re.compile(r"receipts-(\d{8})\.jsonl")
MAX_FILE_BYTES = 16 << 20
_HASH, _RECORD = b'{"hash":"', b',"record":'
_BODY = len(_HASH) + 66  # behind the hash, its quote and a comma
_LINK = re.compile(rb'^"previous":(?:"[0-9a-f]{64}"|null),"link":(\{[^{}]*\}),"purged":(true|false)$')
_FIELDS = {each.name for each in fields(ChainLink)}
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


@dataclass(slots=True)
class _Run:
    """Receipts of one chain that follow each other in a file: its first link and place, and its last link."""

    first: Mapping[str, Any]
    line: int
    number: int
    digest: str


@dataclass(slots=True)
class FileReport:
    """What one file holds, as far as it can be checked without the others."""

    name: str
    findings: list[AuditFinding] = field(default_factory=list)
    receipts: int = 0
    purged: int = 0
    previous: str | None = None  # what the first line names
    ends: tuple[str, ...] = ()  # hashes that the next file may name
    tenant: str | None = None
    number: int = 0
    at: str = ""
    runs: dict[str, _Run] = field(default_factory=dict)
    gaps: list[tuple[_Run, Mapping[str, Any], int]] = field(default_factory=list)  # a run, the link behind it, its line


@dataclass(slots=True)
class AuditReport:
    """What an audit came to.

    `expired` counts receipts that were 30 days old before an export could read them, `heads` the ends of chains.
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
        report.findings.append(AuditFinding(path.name, len(lines) + 1, None, "the file is cut off"))
    expected: tuple[str, ...] = ()
    for place, line in enumerate(lines, 1):
        expected = _check_line(report, line, place, expected, last=place == len(lines))
    report.ends = expected
    return report


def _check_line(
    report: FileReport, line: bytes, place: int, expected: tuple[str, ...], *, last: bool
) -> tuple[str, ...]:
    """Check a line behind those of the hashes *expected*; the hashes that the next one may name."""
    said, found, record = line[_BODY:-1].partition(_RECORD)
    stated, computed = line[len(_HASH) : _BODY - 2].decode("latin-1"), hashlib.sha256(said).hexdigest()
    framed = line.startswith(_HASH) and line[_BODY - 2 : _BODY] == b'",' and line.endswith(b"}")
    try:
        parsed = json.loads(b"{" + said + b"}")
        previous = parsed["previous"]
    except (ValueError, KeyError, TypeError):
        parsed, previous = {}, None
    link = parsed.get("link") if isinstance(parsed.get("link"), dict) else None
    receipt = str(link.get("receipt")) if link else None
    if stated != computed or not framed:
        report.findings.append(AuditFinding(report.name, place, receipt, "the line was altered"))
    elif place > 1 and previous not in expected:
        report.findings.append(
            AuditFinding(report.name, place, receipt, "lines before this one are missing, or are in another order")
        )
    if place == 1:
        report.previous, report.tenant = previous, parsed.get("tenant")
        report.number = parsed.get("file", 0)
    elif link is not None:
        _check_receipt(report, said, place, link, record if found else None, altered=stated != computed)
    if last:
        report.at = str(parsed.get("at", ""))
        if parsed.get("receipts") != report.receipts:
            report.findings.append(AuditFinding(report.name, place, receipt, "the end of the file is missing"))
    return (stated, computed)


def _check_receipt(
    report: FileReport, said: bytes, place: int, link: Mapping[str, Any], record: bytes | None, *, altered: bool
) -> None:
    report.receipts += 1
    report.purged += record is None
    receipt, shaped = str(link.get("receipt")), _LINK.match(said)
    known = shaped is not None and set(link) == _FIELDS and isinstance(link["number"], int)
    whole = known and shaped is not None and (shaped[2] == b"true") == (record is None)
    if not whole or (record is not None and hashlib.sha256(record).hexdigest() != link.get("content")):
        report.findings.append(
            AuditFinding(report.name, place, receipt, "the receipt is not the one that its link names")
        )
    run = report.runs.get(str(link.get("chain")))
    if altered or not known or shaped is None:
        if run is not None:  # what is behind it in the chain was not altered
            run.number, run.digest = run.number + 1, ""
        return
    chain, number, digest = link["chain"], link["number"], hashlib.sha256(shaped[1]).hexdigest()
    if run is not None and not _follows(run, link):
        report.gaps.append((replace(run), link, place))
    if run is None:
        report.runs[chain] = _Run(link, place, number, digest)
    else:
        run.number, run.digest = number, digest


def _follows(run: _Run, link: Mapping[str, Any]) -> bool:
    """Whether *link* is the next of a chain; an altered line has no digest, and was reported."""
    return link.get("number") == run.number + 1 and run.digest in {"", link.get("previous")}


def check_audit(folder: Path, *, head: str | None = None) -> AuditReport:
    """Check the files of an audit: each by itself, in two processes where there are many, then how they follow.

    Args:
        folder: Where they lie.
        head: The hash that the last export printed; None if it is not known.

    Raises ConfigurationError: there are none.
    """
    numbers = file_numbers(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if not numbers:
        raise ConfigurationError(f"{folder} has no files of an audit, such as {file_name(1)}")
    report, before, runs = AuditReport(), FileReport("", ends=()), dict[str, _Run]()
    for found in _checked([folder / file_name(number) for number in numbers]):
        _join(report, before, found)
        _continue_chains(report, runs, found)
        before = found
    report.chains, report.head = len(runs), before.ends[0] if before.ends else None
    if head is not None and head not in before.ends:
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
    elif before.name and found.previous not in before.ends:
        report.findings.append(AuditFinding(found.name, 1, None, f"it does not follow the end of {before.name}"))
    if before.name and found.tenant != before.tenant:
        report.findings.append(AuditFinding(found.name, 1, None, "it has receipts of another tenant"))
    report.findings += found.findings
    report.files += 1
    report.receipts += found.receipts
    report.purged += found.purged


def _continue_chains(report: AuditReport, runs: dict[str, _Run], found: FileReport) -> None:
    """Compare what follows in each chain; what was too old for the export to read is counted, not reported."""
    starts = [(runs.get(chain), run.first, run.line) for chain, run in found.runs.items()]
    for before, link, line in [*starts, *found.gaps]:
        number, previous_at = link["number"], link.get("previous_at")
        last = before.number if before is not None else 0
        if number == 1 if before is None else _follows(before, link):
            continue
        if number > last + 1 and previous_at is not None and _is_expired(previous_at, found.at):
            report.expired += number - last - 1
            continue
        problem = f"receipts {last + 1} to {number - 1} of chain {link['chain']} are missing"
        if number <= last + 1:
            problem = f"it does not follow the receipt before it in chain {link['chain']}"
        report.findings.append(AuditFinding(found.name, line, str(link.get("receipt")), problem))
    runs |= found.runs


def _is_expired(at: str, read_at: str) -> bool:
    """Whether a receipt of *at* was no longer stored at *read_at*; both are RFC 3339."""
    try:
        return (datetime.fromisoformat(read_at) - datetime.fromisoformat(at)).total_seconds() >= RECEIPT_AGE_S - 1
    except ValueError:
        return False
