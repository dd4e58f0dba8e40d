"""How long `ragdrop audit verify` takes to find one altered byte in a million receipts, in files on the disk.

python -m benchmarks.audit [--write]
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from benchmarks import records
from benchmarks.records import Grid, publish
from ragdrop.domain.receipt_chains import ChainLink, canonical, next_link
from ragdrop_cli.audit_files import AuditFile, Position, check_audit, file_name, file_numbers

RECEIPTS, CHAINS = 1_000_000, 8
GOAL_S = 30.0
AT, AT_S = "2027-01-15T08:00:00.000Z", 1_800_000_000.0
QUOTED = "The valve of the boiler is closed before the pump is opened, and opened again behind it. "


def main() -> None:
    """Write the files, check them whole, alter one byte in their middle, and check them again."""
    options = records.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        size_bytes = _write(folder)
        whole = _checked(folder)
        numbers = file_numbers(path.name for path in folder.iterdir())
        _alter(folder / file_name(numbers[len(numbers) // 2]))
        altered = _checked(folder)
    rows = [("whole", *whole), ("one byte altered", *altered)]
    note = (
        f"{RECEIPTS:,} receipts of {CHAINS} chains, {size_bytes / 1e9:.1f} GB in {len(numbers)} files that the system"
        f" may hold in memory. The goal is {GOAL_S:.0f} s."
    )
    publish(
        "audit", [Grid(("files", "receipts", "findings", "s", "of a processor, s"), rows, note)], write=options.write
    )


def _write(folder: Path) -> int:
    """The files of an audit, each receipt about as large as that of a short answer; their bytes."""
    position, heads, size_bytes = Position(), dict[int, ChainLink](), 0
    filling = AuditFile(position, "acme")
    for number in range(RECEIPTS):
        chain = number % CHAINS
        name = f"{number:032x}"
        body = {"answer_id": name, "answer": QUOTED, "citations": [{"quote": QUOTED, "number": number}]}
        link = next_link(heads.get(chain), name, body, AT_S + number / 1_000, chain=f"{chain:032x}")
        heads[chain] = link
        filling.add({"answer_id": name, "link": link.text, "record": canonical(body)})
        if filling.is_full or number == RECEIPTS - 1:
            data, position = filling.closed(AT)
            size_bytes += len(data)
            (folder / file_name(position.number)).write_bytes(data)
            filling = AuditFile(position, "acme")
    return size_bytes


def _checked(folder: Path) -> tuple[str, ...]:
    started, used = time.monotonic(), _processor_s()
    report = check_audit(folder)
    elapsed_s = time.monotonic() - started
    return f"{report.receipts:,}", str(len(report.findings)), f"{elapsed_s:.1f}", f"{_processor_s() - used:.1f}"


def _processor_s() -> float:
    """What this process and the ended ones that it started have used."""
    return sum(
        each.ru_utime + each.ru_stime
        for each in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _alter(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


if __name__ == "__main__":
    main()
