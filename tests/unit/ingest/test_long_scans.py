"""A scan too long for one invocation goes on by messages until all its pages are read, and no page is read twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError, DependencyError
from ragdrop.ingest.parse import DeadlineRecognizer, SavedPages
from ragdrop.ingest.revision_store import pages_name
from ragdrop.ports.message_queue import Change, Delivery
from readers.content import ContentParser
from readers.formats import read_here
from readers.pages.page_recognition import BUDGET_S, PageRecognition, RecognizedText
from tests import document_files
from tests.world import World

PATH = "team/scan.pdf"
INVOCATION_S = 115.0
PAGE_S = 12.0
A_TIME = int(BUDGET_S // PAGE_S)  # pages of one invocation


class DrawsPages:
    """Draws a picture that says which page it is of."""

    def __init__(self) -> None:
        self.drawn = 0

    def picture(self, body: bytes, page: int) -> bytes | None:
        assert body.startswith(b"%PDF")
        self.drawn += 1
        return f"page {page + 1}".encode()


class SlowRecognizer:
    """Takes its time for every page, by a clock of its own; *breaks* is called before each page."""

    def __init__(self, *, page_s: float = PAGE_S, at_once: int = 1) -> None:
        self.at_once, self.page_s, self.now_s = at_once, page_s, 0.0
        self.pictures: list[bytes] = []
        self.breaks: Callable[[int], None] = lambda _: None

    def recognize(self, picture: bytes, deadline: Deadline) -> RecognizedText:
        self.breaks(len(self.pictures))
        deadline.timeout_s(60.0, stage="ocr")
        self.pictures.append(picture)
        self.now_s += self.page_s / self.at_once
        return RecognizedText(f"The text of {picture.decode()} ends here.", 0.9)


class ScanWorld(World):
    """A world that reads scans, whose invocations end by the recogniser's clock."""

    def __init__(self, recognizer: SlowRecognizer | None = None) -> None:
        self.recognizer, self.drawer = recognizer or SlowRecognizer(), DrawsPages()
        super().__init__(
            parser=ContentParser(read_here, PageRecognition(DeadlineRecognizer(self.recognizer), self.drawer.picture))
        )

    def deliver(self, *deliveries: Delivery, left_s: float = INVOCATION_S) -> list[Delivery]:
        """One Lambda batch; what failed."""
        return self.app.ingest.reconcile(deliveries, Deadline.after(left_s, clock=lambda: self.recognizer.now_s))

    def go_on(self) -> int:
        """Deliver what was sent until nothing is left; how many messages that were."""
        count = 0
        while self.queue.sent:
            self.deliver(self.message(Change(self.queue.sent.pop(0))))
            count += 1
        return count


def scan(pages: int) -> bytes:
    return document_files.pdf(*[document_files.SCAN] * pages)


def test_a_long_scan_is_processing_until_all_its_pages_are_read_and_then_found_whole() -> None:
    world = ScanWorld()

    world.put(PATH, scan(30))

    assert world.head(PATH).status is Status.PENDING
    assert world.texts("page 1") == []
    assert world.go_on() == 30 // A_TIME - 1
    assert world.head(PATH).status is Status.INDEXED
    kept = world.app.ports.revisions.open(world.key(PATH), world.head(PATH).revision)
    document = kept.document() if kept else None
    assert document is not None
    assert [f"page {page} ends" in document.text for page in range(1, 31)] == [True] * 30
    assert len(world.recognizer.pictures) == world.drawer.drawn == 30


def test_the_old_version_answers_while_the_new_one_is_read() -> None:
    world = ScanWorld()
    world.put(PATH, document_files.pdf(["The old text."]))

    world.put(PATH, scan(9))

    assert world.texts("old text") == ["The old text."]
    world.go_on()
    assert "The old text." not in world.texts("old text", limit=20)


def test_a_failure_in_between_loses_no_page_that_was_read() -> None:
    world = ScanWorld()

    def breaks(page: int) -> None:
        if page == 2 and not failed:
            raise DependencyError("the OCR service did not answer in time", service="ocr")

    failed: list[Delivery] = []
    world.recognizer.breaks = breaks
    world.put(PATH, scan(3), ingest=False)
    failed += world.changed(PATH, message_id="m")

    assert [delivery.message_id for delivery in failed] == ["m"]
    world.changed(PATH, message_id="m", receives=2)
    assert world.head(PATH).status is Status.INDEXED
    assert len(world.recognizer.pictures) == 3


def test_a_crash_loses_only_what_was_read_in_the_last_seconds() -> None:
    world = ScanWorld()

    def crash(page: int) -> None:
        if page == 2 and not crashed:
            crashed.append(page)
            world.state.fail_with = DatabaseError("the process is gone", service="s3")
            raise KeyboardInterrupt

    crashed: list[int] = []
    world.recognizer.breaks = crash
    world.put(PATH, scan(3), ingest=False)
    with pytest.raises((KeyboardInterrupt, DatabaseError)):
        world.changed(PATH, message_id="m")
    world.state.fail_with = None

    world.changed(PATH, message_id="m", receives=2)

    assert world.head(PATH).status is Status.INDEXED
    assert len(world.recognizer.pictures) == 3


def test_a_message_that_cannot_be_sent_comes_again_itself() -> None:
    world = ScanWorld()
    world.put(PATH, scan(9), ingest=False)
    world.queue.fail_with = DatabaseError("SQS is away", service="sqs")

    failed = world.changed(PATH, message_id="m")

    assert [delivery.message_id for delivery in failed] == ["m"]
    world.queue.fail_with = None
    world.changed(PATH, message_id="m", receives=2)
    world.go_on()
    assert world.head(PATH).status is Status.INDEXED
    assert len(world.recognizer.pictures) == 9


def test_a_scan_whose_first_page_takes_too_long_is_given_back_and_fails_in_the_end() -> None:
    world = ScanWorld()
    world.put(PATH, scan(3), ingest=False)

    for receives in range(1, 6):
        assert world.deliver(world.message(world.change(PATH), message_id="m", receives=receives), left_s=39.0)

    assert world.queue.sent == []
    assert world.head(PATH).status is Status.FAILED


def test_a_scan_behind_another_one_in_its_batch_continues_without_a_failure() -> None:
    world = ScanWorld()
    paths = [f"team/{number}.pdf" for number in range(3)]
    for number, path in enumerate(paths):
        world.put(path, scan(8 + number), ingest=False)

    failed = world.deliver(*(world.message(world.change(path)) for path in paths))

    assert failed == []
    world.go_on()
    assert {world.head(path).status for path in paths} == {Status.INDEXED}


def test_a_new_version_reads_only_the_pages_that_changed() -> None:
    world = ScanWorld()
    world.put(PATH, scan(2))

    world.put(PATH, scan(3))

    assert world.recognizer.pictures == [b"page 1", b"page 2", b"page 3"]
    assert world.head(PATH).status is Status.INDEXED


def test_pages_are_read_at_the_same_time_as_far_as_the_service_allows() -> None:
    world = ScanWorld(SlowRecognizer(at_once=4))

    world.put(PATH, scan(12))

    assert world.head(PATH).status is Status.INDEXED
    assert len(world.recognizer.pictures) == 12


def test_pages_of_another_tenant_are_never_taken() -> None:
    world = ScanWorld()
    world.put(PATH, scan(2))
    other = DocumentKey("globex", "team", "scan.pdf")
    version = "0" * 64
    mine = SavedPages(world.state, world.key(PATH), version)
    assert mine.known(b"page 1") is not None

    theirs = SavedPages(world.state, other, version)

    assert theirs.known(b"page 1") is None
    assert theirs.pages == {}


def test_a_purge_removes_the_pages_and_so_does_the_end_of_a_tenant() -> None:
    world = ScanWorld()
    world.put(PATH, scan(2))
    world.put("team/other.pdf", scan(2))
    assert pages_name(world.key(PATH)) in list(world.state.keys())

    world.app.documents.purge_documents(world.caller, world.key(PATH), Deadline.after(10))

    assert pages_name(world.key(PATH)) not in list(world.state.keys())
    assert pages_name(world.key("team/other.pdf")) in list(world.state.keys())
    world.app.operate.delete_tenant("acme", Deadline.after(10), wait=lambda _: None)
    assert [name for name in world.state.keys() if name.startswith("pages/")] == []  # noqa: SIM118


def test_a_purge_while_a_scan_is_read_leaves_no_page_behind() -> None:
    world = ScanWorld()
    world.put(PATH, scan(3), ingest=False)

    def purge(page: int) -> None:
        if page == 1:
            world.app.documents.purge_documents(world.caller, world.key(PATH), Deadline.after(10))

    world.recognizer.breaks = purge
    world.changed(PATH)

    assert [name for name in world.state.keys() if name.startswith("pages/")] == []  # noqa: SIM118
    assert world.texts("page 1") == []


def test_a_document_that_is_no_scan_keeps_no_pages_and_asks_for_none() -> None:
    world = ScanWorld()

    world.put("team/a.pdf", document_files.pdf(["It leaks."]))

    assert [name for name in world.state.keys() if name.startswith("pages/")] == []  # noqa: SIM118
