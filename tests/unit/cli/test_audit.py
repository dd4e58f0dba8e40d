"""`ragdrop audit`: receipts become files, and whatever changes in these is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from moto import mock_aws

from ragdrop.api.shapes.receipt_shapes import audited_receipts
from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.receipt_chains import ChainLink, canonical, next_link
from ragdrop.domain.retrieval import Query
from ragdrop.generate.store_receipts import SETTLED_S
from ragdrop_cli import audit_files
from ragdrop_cli.audit_files import AuditFile, Position, check_audit, check_file
from tests.unit.cli.world import NOON, CommandLine
from tests.world import World

DAY_S, NOW_S = 86_400.0, 1_800_000_000.0
AT = "2027-01-15T08:00:00.000Z"  # NOW_S


def made(count: int, chains: int = 3, *, age_s: float = 600.0, head: ChainLink | None = None) -> list[dict[str, Any]]:
    """Receipts of several chains, as the API lists them."""
    heads: list[ChainLink | None] = [head] + [None] * (chains - 1)
    listed = []
    for number in range(count):
        place, moment_s = number % chains, NOW_S - age_s + number / 1_000
        name = f"{int(moment_s * 1_000):012x}7{number:019x}"
        body = {"answer_id": name, "answer": f"Größe {number}", "cost": 0.25}
        link = next_link(heads[place], name, body, moment_s, chain=f"{place:032x}")
        heads[place] = link
        listed.append({"answer_id": name, "link": link.text, "record": canonical(body)})
    return listed


def write(folder: Path, *files: list[dict[str, Any]], at: str = AT) -> Position:
    """The files of an audit, one for each list of receipts."""
    folder.mkdir(exist_ok=True)
    position = Position()
    for receipts in files:
        filling = AuditFile(position, "acme")
        for receipt in receipts:
            filling.add(receipt)
        data, position = filling.closed(at)
        (folder / audit_files.file_name(position.number)).write_bytes(data)
    return position


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """Two files with ten receipts each, of three chains."""
    receipts = made(20)
    write(tmp_path / "audit", receipts[:10], receipts[10:])
    return tmp_path / "audit"


def second(audit: Path) -> Path:
    return audit / "receipts-00000002.jsonl"


def edit(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def problems(audit: Path, head: str | None = None) -> list[tuple[str, int, str]]:
    return [(each.file, each.line, each.problem) for each in check_audit(audit, head=head).findings]


def test_an_untouched_audit_has_no_findings_and_counts_what_it_holds(audit: Path) -> None:
    report = check_audit(audit)

    assert report.findings == []
    assert (report.files, report.receipts, report.chains, report.purged, report.expired) == (2, 20, 3, 0, 0)


def test_each_altered_byte_is_found_in_its_file_and_line(audit: Path) -> None:
    path = second(audit)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        line = whole[:place].count(b"\n") + 1

        found = check_audit(audit).findings

        assert found, place
        assert (found[0].file, found[0].line) == (path.name, line), place


def test_an_altered_receipt_is_named(audit: Path) -> None:
    edit(second(audit), lambda lines: [line.replace(b"\\u00f6", b"\\u00e4", 1) for line in lines[:4]] + lines[4:])

    found = check_audit(audit).findings

    assert [each.line for each in found] == [2, 3, 4]
    assert found[0].receipt == made(20)[10]["answer_id"]
    assert found[0].problem == "the receipt is not the one that its link names"


def test_a_missing_line_is_found_and_so_is_the_gap_in_its_chain(audit: Path) -> None:
    edit(second(audit), lambda lines: [*lines[:3], *lines[4:]])

    assert problems(audit) == [
        (second(audit).name, 4, "lines before this one are missing, or are in another order"),
        (second(audit).name, 11, "the end of the file is missing"),
        (second(audit).name, 6, f"receipts 5 to 5 of chain {0:032x} are missing"),
    ]


def test_two_lines_in_another_order_are_found(audit: Path) -> None:
    edit(second(audit), lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]])

    assert problems(audit)[0][:2] == (second(audit).name, 3)


def test_a_rewritten_line_with_a_fresh_hash_is_found_by_the_next_one(audit: Path) -> None:
    other = AuditFile(Position(1, "0" * 64), "acme")
    other.add({**made(20)[12], "record": None})
    forged = other.closed(AT)[0].splitlines(keepends=True)[1]
    edit(second(audit), lambda lines: [*lines[:3], forged, *lines[4:]])

    assert [line for _, line, _ in problems(audit)][:2] == [4, 5]


def test_a_receipt_that_was_taken_out_of_its_line_is_not_taken_for_a_purged_one(audit: Path) -> None:
    edit(second(audit), lambda lines: [*lines[:3], lines[3].partition(b',"record":')[0] + b"}\n", *lines[4:]])

    assert problems(audit) == [(second(audit).name, 4, "the receipt is not the one that its link names")]


def test_a_file_that_is_missing_cut_off_or_of_another_tenant_is_found(audit: Path) -> None:
    receipts = made(30)
    write(audit, receipts[:10], receipts[10:20], receipts[20:])
    whole = second(audit).read_bytes()

    second(audit).write_bytes(whole[:-9])
    assert (second(audit).name, 12, "the file is cut off") in problems(audit)
    second(audit).write_bytes(b"")
    assert problems(audit)[0][0] == second(audit).name
    second(audit).unlink()
    assert ("receipts-00000003.jsonl", 1, "receipts-00000002.jsonl is missing, or stands in another place") in problems(
        audit
    )
    stranger = AuditFile(Position(1, check_file(audit / "receipts-00000001.jsonl").ends[0].decode()), "other")
    second(audit).write_bytes(stranger.closed(AT)[0])
    assert (second(audit).name, 1, "it has receipts of another tenant") in problems(audit)


def test_a_missing_last_file_is_found_by_the_head_of_the_export(audit: Path) -> None:
    head = check_audit(audit).head
    assert problems(audit, head) == []
    second(audit).unlink()

    assert problems(audit) == []
    assert problems(audit, head) == [("receipts-00000001.jsonl", 0, "what was exported behind this file is missing")]


def test_a_purged_receipt_is_counted_and_its_chain_continues(tmp_path: Path) -> None:
    receipts = made(9)
    receipts[4]["record"] = None
    write(tmp_path, receipts)

    report = check_audit(tmp_path)

    assert (report.findings, report.purged, report.receipts) == ([], 1, 9)


def test_a_receipt_removed_before_the_export_is_missing_and_an_expired_one_is_not(tmp_path: Path) -> None:
    young, old = made(9), made(9, age_s=30 * DAY_S + 60)
    write(tmp_path / "young", young[:4] + young[5:])
    write(tmp_path / "old", old[:4] + old[5:])
    write(tmp_path / "begun", old[4:])

    assert problems(tmp_path / "young") == [
        ("receipts-00000001.jsonl", 8, f"receipts 2 to 2 of chain {1:032x} are missing")
    ]
    assert (problems(tmp_path / "old"), check_audit(tmp_path / "old").expired) == ([], 1)
    assert (problems(tmp_path / "begun"), check_audit(tmp_path / "begun").expired) == ([], 4)


def test_many_files_are_checked_in_several_processes(tmp_path: Path) -> None:
    receipts = made(12)
    write(tmp_path, *([receipt] for receipt in receipts))
    edit(tmp_path / "receipts-00000007.jsonl", lambda lines: [line.replace(b"Gr", b"gr") for line in lines])

    assert [each.file for each in check_audit(tmp_path).findings] == ["receipts-00000007.jsonl"]


def test_receipts_of_real_answers_are_whole_and_a_purge_leaves_no_finding(tmp_path: Path) -> None:
    world = World()
    world.put("team/pump.md", "The pump's code is QX-5521.")
    world.put("team/valve.md", "The valve's code is QX-7.")
    for text in ("pump code", "valve code", "pump code"):
        world.app.generate.ask(Question(Query(text, limit=1)), world.caller, Deadline.after(10))
    world.app.documents.purge_documents(world.caller, world.key("team/valve.md"), Deadline.after(10))
    world.now_s += SETTLED_S + 1
    found, _, at = world.app.generate.store_receipts.for_audit(world.caller, None, Deadline.after(10))

    write(tmp_path, [each.model_dump() for each in audited_receipts(found)], at=at)

    report = check_audit(tmp_path)
    assert (report.findings, report.receipts, report.chains) == ([], 3, 1)
    assert report.purged == sum(each.purged for each in found) > 0


def serve(ragdrop: CommandLine, receipts: list[dict[str, Any]], *, page: int = 4, tenant: str = "acme") -> None:
    def listing(request: httpx.Request) -> httpx.Response:
        after = request.url.params.get("cursor", "")
        left = [each for each in receipts if each["answer_id"] > after]
        cursor = left[page - 1]["answer_id"] if len(left) >= page else None
        return httpx.Response(200, json={"tenant": tenant, "at": AT, "receipts": left[:page], "cursor": cursor})

    ragdrop.api.routes["GET", "/receipts"] = listing


def test_an_export_to_a_folder_is_whole_and_a_second_one_continues_it(ragdrop: CommandLine) -> None:
    receipts = made(15)
    serve(ragdrop, receipts[:8])

    first = ragdrop.run("audit", "export", "kept", "--json")
    serve(ragdrop, receipts)
    then = ragdrop.run("audit", "export", "kept")
    verified = ragdrop.run("audit", "verify", "kept", "--json")

    said = json.loads(first.stdout)
    assert (first.exit_code, said["receipts"], said["files"]) == (0, 8, 1)
    assert then.stdout.startswith("7 receipts in 1 new files, 0 of them purged\nhead ")
    report = json.loads(verified.stdout)
    assert (verified.exit_code, report["receipts"], report["files"], report["findings"]) == (0, 15, 2, [])
    assert report["head"] == then.stdout.split()[-1]


def test_an_export_that_has_nothing_new_writes_nothing(ragdrop: CommandLine) -> None:
    serve(ragdrop, made(3))

    ragdrop.run("audit", "export", "kept")
    again = ragdrop.run("audit", "export", "kept")

    assert (again.exit_code, again.stdout.splitlines()[0]) == (0, "0 receipts in 0 new files, 0 of them purged")
    assert [path.name for path in (ragdrop.folder / "kept").iterdir()] == ["receipts-00000001.jsonl"]


def test_a_large_export_has_several_files_and_what_was_cut_off_is_exported_again(
    ragdrop: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_files, "MAX_FILE_BYTES", 1_000)
    serve(ragdrop, made(12))

    ragdrop.run("audit", "export", "kept")
    (ragdrop.folder / "kept" / "receipts-00000003.jsonl").unlink()
    again = ragdrop.run("audit", "export", "kept")

    assert again.stdout.startswith("4 receipts in 1 new files")
    assert problems(ragdrop.folder / "kept") == []


def test_an_export_of_another_tenant_or_behind_a_broken_file_is_refused(ragdrop: CommandLine) -> None:
    serve(ragdrop, made(3))
    ragdrop.run("audit", "export", "kept")
    serve(ragdrop, made(3), tenant="other")

    stranger = ragdrop.run("audit", "export", "kept")
    (ragdrop.folder / "kept" / "receipts-00000001.jsonl").write_text("{}\n")
    broken = ragdrop.run("audit", "export", "kept")

    assert (stranger.exit_code, broken.exit_code) == (2, 2)
    assert "tenant acme" in stranger.stderr
    assert "no whole file" in broken.stderr


def test_verify_names_file_line_and_receipt_and_ends_with_1(ragdrop: CommandLine) -> None:
    receipts = made(6)
    serve(ragdrop, receipts)
    ragdrop.run("audit", "export", "kept")
    edit(
        ragdrop.folder / "kept" / "receipts-00000001.jsonl",
        lambda lines: [*lines[:3], lines[3].replace(b"cost", b"c0st"), *lines[4:]],
    )

    result = ragdrop.run("audit", "verify", "kept")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == (
        "receipts-00000001.jsonl, line 4: the receipt is not the one that its link names "
        f"(receipt {receipts[2]['answer_id']})"
    )


def test_verify_of_a_folder_without_an_audit_ends_with_2(ragdrop: CommandLine) -> None:
    assert ragdrop.run("audit", "verify", "nothing").exit_code == 2


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a bucket `locked` with Object Lock, and of one `plain` without."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
        client.create_bucket(Bucket="plain")
        yield client


def test_an_export_to_a_bucket_is_locked_until_the_date_and_continued(ragdrop: CommandLine, s3: Any) -> None:
    receipts = made(9)
    serve(ragdrop, receipts[:5])
    first = ragdrop.run("audit", "export", "s3://locked/acme", "--retain", "365d", "--lock-mode", "compliance")
    serve(ragdrop, receipts)
    second_run = ragdrop.run("audit", "export", "s3://locked/acme", "--retain", "365d")

    assert (first.exit_code, second_run.exit_code) == (0, 0)
    for name in ("receipts-00000001.jsonl", "receipts-00000002.jsonl"):
        answer = s3.get_object(Bucket="locked", Key=f"acme/{name}")
        (ragdrop.folder / name).write_bytes(answer["Body"].read())
    held = s3.head_object(Bucket="locked", Key="acme/receipts-00000001.jsonl")
    assert held["ObjectLockMode"] == "COMPLIANCE"
    assert held["ObjectLockRetainUntilDate"] == NOON + timedelta(days=365)
    report = check_audit(ragdrop.folder)
    assert (report.findings, report.receipts, report.files) == ([], 9, 2)


def test_retention_without_object_lock_and_a_missing_bucket_are_refused(ragdrop: CommandLine, s3: Any) -> None:
    serve(ragdrop, made(2))

    unlocked = ragdrop.run("audit", "export", "s3://plain", "--retain", "30d")
    plain = ragdrop.run("audit", "export", "s3://plain")
    missing = ragdrop.run("audit", "export", "s3://nowhere")
    folder = ragdrop.run("audit", "export", "kept", "--retain", "30d")

    assert [result.exit_code for result in (unlocked, plain, missing, folder)] == [2, 0, 2, 1]
    assert "no Object Lock" in unlocked.stderr
    assert "does not exist" in missing.stderr
    assert [each["Key"] for each in s3.list_objects_v2(Bucket="plain")["Contents"]] == ["receipts-00000001.jsonl"]
