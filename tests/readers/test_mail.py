"""Mails: headers, history, attachments, mailboxes."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from ragdrop.domain.keys import DocumentKey
from ragdrop.ingest.metadata import facts_of
from readers.parsed import ParsedDocument, WrittenLink
from readers.read_errors import EncryptedFileError, ReadError, UnsafeFileError
from tests import document_files, office_files
from tests.reading import parse as read
from tests.reading import place_of

HEAD = "# The pump\n\nFrom: Ann <ann@example.com>\nTo: bob@example.com\nDate: Fri, 01 May 2026 10:00:00 +0000\n\n"


def parse(body: bytes | str, name: str = "a.eml") -> ParsedDocument:
    return read(body, name)


MAIL = b"Message-ID: <1@example.org>\nFrom: %s\nTo: bob@example.org\nSubject: %s\n%s\nThe gate is shut.\n"


def test_a_mail_is_its_headers_and_its_text() -> None:
    document = parse(office_files.mail("It leaks.\n"), "mails/one")

    assert document.text == HEAD + "It leaks.\n"
    assert document.media_type == "message/rfc822"


def test_headers_become_metadata_that_a_sidecar_may_override() -> None:
    document = parse(office_files.mail("It leaks.\n"))

    facts, warnings, _ = facts_of(
        DocumentKey("acme", "team", "a.eml"),
        document,
        version_id="v",
        indexed_at="2026-05-02T00:00:00Z",
        sidecar={"date": "2026-01-01", "attributes": {"project": "x", "to": "all"}},
    )

    assert (facts.title, facts.date, warnings) == ("The pump", "2026-01-01", ())
    assert facts.attributes == {"from": "Ann <ann@example.com>", "to": "all", "project": "x"}


def test_quoted_history_stands_under_its_own_heading() -> None:
    document = parse(
        office_files.mail("Since May.\n\nOn 1 May 2026 at 9:00 Bob wrote:\n> Since when\n> does it leak?\n")
    )

    assert document.text.endswith(
        "Since May.\n\n## Quoted history\n\nOn 1 May 2026 at 9:00 Bob wrote:\n> Since when\n> does it leak?\n"
    )
    assert (place_of(document, "Since May"), place_of(document, "does it")) == ("message", "message, quoted history")


def test_a_page_is_read_where_there_is_no_plain_text_and_has_its_links() -> None:
    page = "<html><h1>Leak</h1><p>See <a href='https://example.com/a.pdf'>this</a>.</p><script>x</script></html>"

    document = parse(office_files.mail("", html=page))

    assert document.text == HEAD + "## Leak\n\nSee this.\n"
    assert document.links == (WrittenLink("https://example.com/a.pdf", "this"),)
    assert parse(office_files.mail("plain\n", html=page)).text == HEAD + "plain\n"


def test_attachments_are_read_by_their_own_readers_with_their_own_places() -> None:
    attached = {
        "prices.xlsx": office_files.xlsx({"Parts": [["part", "price"], ["seal", 3.5]]}),
        "manual.pdf": document_files.pdf(["The pump leaks."], ["Call Ann."]),
        "../../etc/notes.txt": b"Bob knows.",
        "picture.png": b"\x89PNG\r\n\x1a\n",
        "broken.docx": b"PK\x03\x04 word/ broken",
    }

    document = parse(office_files.mail("See below.\n", attachments=attached))

    assert place_of(document, "seal") == "attachment prices.xlsx: Parts!A2:B2"
    assert place_of(document, "Call Ann") == "attachment manual.pdf: page 2"
    assert place_of(document, "Bob knows") == "attachment notes.txt"
    assert document.heading_path(document.text.index("seal")) == ("The pump", "Attachment: prices.xlsx", "Parts")
    assert [warning[:46] for warning in document.warnings] == [
        "the attachment 'picture.png' is left out: the ",
        "the attachment 'broken.docx' is left out: the ",
    ]


def test_a_mail_in_a_mail_is_read_and_one_in_too_many_is_left_out_with_a_warning() -> None:
    inner: EmailMessage | None = None
    for number in range(8):
        outer = office_files.mail_message(f"This is level {number}.\n", subject=f"Level {number}")
        if inner is not None:
            outer.add_attachment(inner)
        inner = outer
    assert inner is not None

    document = parse(inner.as_bytes())

    assert "This is level 7." in document.text
    assert "This is level 5." in document.text
    assert "This is level 0." not in document.text
    assert any("inside too many others" in warning for warning in document.warnings)
    assert place_of(document, "This is level 6") == "attached mail Level 6"


def test_a_mailbox_is_read_mail_by_mail() -> None:
    mails = [office_files.mail(f"Number {number}.\n>From here on.\n", subject=f"Mail {number}") for number in range(3)]
    body = b"".join(b"From ann@example.com Fri May  1 10:00:00 2026\n" + mail + b"\n" for mail in mails)

    document = parse(body, "a.mbox")

    assert [heading.text for heading in document.headings] == ["Mail 0", "Mail 1", "Mail 2"]
    assert place_of(document, "Number 2") == "message 3"
    assert "\nFrom here on." in document.text


def test_words_in_any_encoding_are_decoded() -> None:
    body = (
        "From: =?iso-8859-1?q?Andr=E9?= <a@b.c>\r\nTo: d@e.f\r\nSubject: =?utf-8?b?R3LDvMOfZQ==?=\r\n"
        "MIME-Version: 1.0\r\n"
        "Content-Type: text/plain; charset=windows-1252\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n\r\nK=E4se\r\n"
    )

    document = parse(body)

    assert document.text == "# Grüße\n\nFrom: André <a@b.c>\nTo: d@e.f\n\nKäse\n"
    assert parse(body.encode("utf-16"), "b").text == document.text


def test_a_truncated_mail_is_read_with_a_warning() -> None:
    whole = office_files.mail("It leaks.\n", attachments={"a.txt": b"Call Ann. " * 50})

    document = parse(whole[:-200])

    assert "It leaks." in document.text
    assert "truncated" in document.warnings[0]


def test_an_encrypted_mail_says_so() -> None:
    body = (
        "From: a@b.c\nTo: d@e.f\nSubject: x\nMIME-Version: 1.0\n"
        "Content-Type: application/pkcs7-mime; smime-type=enveloped-data\nContent-Transfer-Encoding: base64\n\nMIAG\n"
    )

    with pytest.raises(EncryptedFileError):
        parse(body)


@pytest.mark.parametrize("many", [2_000, 100_000])
def test_parts_nested_too_deep_are_refused(many: int) -> None:
    parts = "".join(f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n" for number in range(many))

    with pytest.raises(ReadError):
        parse("From: a@b.c\nTo: d@e.f\nMIME-Version: 1.0\n" + parts + "\nx\n")


def test_too_many_parts_are_refused() -> None:
    parts = "--b\nContent-Type: text/plain\n\nx\n" * 1_100
    head = "From: a@b.c\nTo: d@e.f\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"

    with pytest.raises(UnsafeFileError):
        parse(head + parts)


def test_an_attached_file_keeps_its_name_and_its_charset() -> None:
    body = (
        b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
        b"--b\n\nSee.\n--b\nContent-Type: text/csv; charset=gb2312\n"
        b"Content-Disposition: attachment; filename*=gb2312''%CC%D5%86%B4.csv\n\n"
    )

    document = parse(body + "门,锁\n陶喆,2\n".encode("gb18030") + b"--b--\n")

    assert document.headings[-1].text == "Attachment: 陶喆.csv"
    assert document.text.endswith("| 门 | 锁 |\n| --- | --- |\n| 陶喆 | 2 |\n")


@pytest.mark.parametrize("name", ["a.eml", "a.mbox", "a"])
@pytest.mark.parametrize(
    "start",
    [b"From ann@example.org Sat May  2 09:00:00 2026\n", b"From ann@example.org\n", b"\n\n>From ann@example.org x\n"],
)
def test_one_mail_behind_a_line_that_separates_mails_is_a_mail(start: bytes, name: str) -> None:
    body = start + MAIL % (b"Ann <ann@example.org>", b"The gate", b"Date: Sat, 2 May 2026 09:00:00 +0200\n")

    document = parse(body, name)

    assert document.text.startswith("# The gate\n\nFrom: Ann")
    assert document.metadata["date"] == "2026-05-02T09:00:00+02:00"


def test_prose_that_begins_with_from_separates_no_mails() -> None:
    start = b"From ann@example.org Sat May  2 09:00:00 2026\n"
    body = start + MAIL % (b"a@example.org", b"Test", b"") + b"\nFrom 10:30 to 12:00 we test.\nNote: bring the key.\n"

    assert "From 10:30 to 12:00 we test.\nNote: bring the key." in parse(body).text


@pytest.mark.parametrize("field", [b"X-Get_mail_default: a", b"X.Odd+Name!: a", b"X Mail Id: a", b"Thread Topic : a"])
def test_a_field_with_an_odd_name_ends_no_head(field: bytes) -> None:
    extra = field + b"\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n"

    document = parse((MAIL % (b"a@example.org", b"Test", extra)).replace(b"shut", b"gr=C3=BCn"), "mails/1")

    assert document.text == "# Test\n\nFrom: a@example.org\nTo: bob@example.org\n\nThe gate is grün.\n"


def of_parts(kind: str, *parts: str) -> str:
    """The text of a mail whose parts these are, each with its own headers, without the mail's headers."""
    head = f"From: a@example.org\nSubject: Hall\nMIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary=b\n\n"
    document = parse(head + "".join(f"--b\n{part}\n" for part in parts) + "--b--\n")
    assert not document.warnings
    return document.text.removeprefix("# Hall\n\nFrom: a@example.org\n\n")


def part(kind: str, text: str) -> str:
    return f"Content-Type: {kind}\n\n{text}"


PLAIN, PAGE = part("text/plain", "It leaks."), part("text/html", "<p>It leaks.</p>")


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            (part("text/html", "<p>The gate is shut.</p>"), part("text/plain", "Sent to all.")),
            "The gate is shut.\n\nSent to all.\n",
        ),
        ((PLAIN, part("text/html", "<p>So is the gate.</p>")), "It leaks.\n\nSo is the gate.\n"),
        ((part("text/html", "<p>A"), part("text/html", "<p>B")), "A\n\nB\n"),
        ((PLAIN, PAGE), "It leaks.\n"),
    ],
)
def test_parts_that_are_no_alternatives_are_all_read_once(parts: tuple[str, ...], text: str) -> None:
    assert of_parts("mixed", *parts) == text


def test_what_is_attached_in_another_alternative_is_read() -> None:
    attached = "Content-Type: text/csv\nContent-Disposition: attachment; filename=a.csv\n\npart,code\nseal,7\n"
    mixed = f"Content-Type: multipart/mixed; boundary=c\n\n--c\n{PAGE}\n--c\n{attached}--c--"

    text = of_parts("alternative", PLAIN, mixed)

    assert "| seal | 7 |" in text
    assert text.count("It leaks") == 1


def test_an_invitation_is_read_with_its_text() -> None:
    event = "BEGIN:VEVENT\nSUMMARY:Pump\\, no\n rth\nDTSTART:20260501T090000Z\nEND:VEVENT"

    for alternatives in ((PLAIN, PAGE), (PAGE,)):
        text = of_parts("alternative", *alternatives, part("text/calendar; method=REQUEST", event))
        assert "It leaks." in text
        assert "SUMMARY:Pump, north\nDTSTART:20260501T090000Z" in text


def test_a_plain_text_that_only_stands_for_the_page_is_not_read_instead_of_it() -> None:
    page = part(
        "text/html", "<p>The gate of the hall is shut from May on.<p>" + "Ask Bob. " * 12 + "Its lock is 7.</p>"
    )

    assert "Its lock is 7" in of_parts("alternative", part("text/plain", "Read this mail as HTML."), page)


def test_the_report_of_a_mail_that_was_not_delivered_is_read() -> None:
    status = part("message/delivery-status", "Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; bo@example.org\n")

    assert "Final-Recipient: rfc822; bo@example.org" in of_parts("report", PLAIN, status)


def test_a_mail_that_begins_with_what_somebody_wrote_has_text() -> None:
    text = "On 1 May 2026 the inspector wrote:\nThe hall is safe.\nSo we open the gate.\n"

    assert "Quoted history" not in parse(office_files.mail(text)).text
