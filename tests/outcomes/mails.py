"""EML, MBOX and MSG: good files and bad ones."""

from __future__ import annotations

import base64

from tests import document_files, office_files
from tests.compound_files import compound, outlook_message
from tests.outcomes.case import CORRUPT, EMPTY, ENCRYPTED, INDEXED, LARGE, OUTSIDE, UNSAFE, Case
from tests.outcomes.documents import PASSWORD
from tests.outcomes.texts import RUSSIAN

HEAD = b"From: a@b.c\nTo: d@e.f\nSubject: The pump\nMIME-Version: 1.0\n"
BETWEEN = b"From ann@example.com Fri May  1 10:00:00 2026\n"
MIXED = HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n"
WORKBOOK = office_files.xlsx({"Parts": [["part", "price"], ["seal", 3.5]]})
SEALED = b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data\nContent-Transfer-Encoding: base64\n\nMIAG\n"


def encoded(subject: str, text: str, charset: str) -> bytes:
    """A mail in its own encoding."""
    word = base64.b64encode(subject.encode(charset)).decode()
    head = (
        f"From: =?{charset}?b?{word}?= <a@b.c>\nTo: d@e.f\nSubject: =?{charset}?b?{word}?=\nMIME-Version: 1.0\n"
        f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n"
    )
    return head.encode() + base64.encodebytes(text.encode(charset))


def parts(count: int) -> bytes:
    return MIXED + b"--b\nContent-Type: text/plain\n\nx\n" * count + b"--b--\n"


def nested(levels: int) -> bytes:
    inside = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(levels))
    return HEAD + inside + b"\nx\n"


def many_attachments(count: int) -> bytes:
    return office_files.mail("See below.\n", attachments={f"{n}.txt": b"Ask Ann." for n in range(count)})


EML = [
    Case("text and a workbook", "plain.eml", lambda: office_files.mail("It leaks.\n", attachments={"a.xlsx": WORKBOOK}),
         holds="| seal | 3.5 |"),
    Case("Russian and Japanese in their own encodings", "письмо: насос.eml",
         lambda: encoded("ポンプ", "ポンプが漏れている。" * 9, "iso-2022-jp"), holds="ポンプが漏れている"),
    Case("a mail within a mail, and history", "nested.eml", lambda: office_files.mail(
         "Since May.\n\nOn 1 May 2026 Bob wrote:\n> Since when\n> does it leak?\n",
         attachments={"old.eml": office_files.mail("Ask Ann.\n", subject="Old"),
                      "b.pdf": document_files.pdf(["Seal"])}), holds="Ask Ann."),
    Case("headers without words", "empty.eml", lambda: b"MIME-Version: 1.0\nReceived: x\nTo:\n\n", EMPTY),
    Case("cut within an attachment", "cut.eml", lambda: office_files.mail("It leaks.\n",
         attachments={"a.txt": b"Call Ann. " * 50})[:-300], INDEXED, ("truncated",), holds="It leaks."),
    Case("encrypted", "locked.eml", lambda: HEAD + SEALED, ENCRYPTED),
    Case("1,100 parts", "parts.eml", lambda: parts(1_100), UNSAFE),
    Case("100,000 parts within each other", "deep.eml", lambda: nested(100_000), UNSAFE),
    Case("150 attachments", "attachments.eml", lambda: many_attachments(150), INDEXED, ("too many",) * 50,
         holds="Ask Ann."),
    Case("attachments that are locked, damaged and bombs", "bad.eml", lambda: office_files.mail("See below.\n",
         attachments={"a.docx": PASSWORD, "b.docx": b"PK\x03\x04 word/ broken",
                      "c.docx": document_files.docx(" " * 80_000_000)}), INDEXED, ("a.docx", "b.docx", "c.docx"),
         holds="See below."),
    Case("attachments with hostile names", "names.eml", lambda: office_files.mail("See below.\n",
         attachments={"../../../etc/notes.txt": b"Ask Ann.", "C:\\x\\b.txt": b"Ask Bob."}), holds="Ask Bob."),
    Case("pictures and styles outside", "outside.eml", lambda: office_files.mail("", html=f'<img src="{OUTSIDE}">'
         f'<link rel=stylesheet href="{OUTSIDE}"><p>The pump leaks.</p>'), holds="The pump leaks."),
    Case("prose named .eml", "prose.eml", lambda: b"The pump leaks.\n", holds="The pump leaks."),
]  # fmt: skip


def mailbox(count: int) -> bytes:
    return b"".join(
        BETWEEN + HEAD.replace(b"The pump", b"Mail %d" % n) + b"\nNumber %d leaks.\n\n" % n for n in range(count)
    )


MBOX = [
    Case("two mails", "plain.mbox", lambda: mailbox(2), holds="Number 1 leaks."),
    Case("Russian in its old encoding", "почта.mbox", lambda: BETWEEN + encoded("Насос", RUSSIAN * 9, "koi8-r"),
         holds="Насос течёт"),
    Case("4,000 mails", "long.mbox", lambda: mailbox(4_000), holds="Number 3999"),
    Case("a mail without words", "empty.mbox", lambda: BETWEEN + b"MIME-Version: 1.0\nReceived: x\nFrom:\n\n", EMPTY),
    Case("cut within a header", "cut.mbox", lambda: mailbox(2)[:-60], INDEXED, ("truncated",),
         holds="Number 0 leaks."),
    Case("an encrypted mail among others", "locked.mbox", lambda: mailbox(1) + BETWEEN + HEAD + SEALED, INDEXED,
         ("1 of 2 mails",), holds="Number 0 leaks."),
    Case("5,001 mails", "mails.mbox", lambda: mailbox(5_001), LARGE),
    Case("a mail of 100,000 parts among others", "deep.mbox", lambda: mailbox(1) + BETWEEN + nested(100_000), INDEXED,
         ("1 of 2 mails",), holds="Number 0 leaks."),
    Case("mails that are all encrypted", "sealed.mbox", lambda: (BETWEEN + HEAD + SEALED) * 2, CORRUPT),
]  # fmt: skip


def message(**attachments: bytes) -> bytes:
    texts = {"0037": "The pump", "1000": "It leaks.", "0C1A": "Ann", "0E04": "Bob"}
    return outlook_message(texts, attachments={name.replace("_", "."): body for name, body in attachments.items()})


def looped() -> bytes:
    """A compound file whose table of sectors runs in a circle."""
    body = bytearray(message())
    table = len(body) - 512
    body[table : table + 512] = b"\0\0\0\0" * 128
    return bytes(body)


MSG = [
    Case("text", "plain.msg", message, holds="It leaks."),
    Case("other scripts, an odd name", "письмо.msg", lambda: outlook_message({"0037": "Насос", "1000": RUSSIAN}),
         holds="Насос течёт"),
    Case("attachments of 400 KB", "nested.msg", lambda: message(a_txt=b"Ask Ann. " * 40_000, b_xlsx=WORKBOOK),
         holds="| seal | 3.5 |"),
    Case("no words", "empty.msg", lambda: outlook_message({"0E1D": " "}), EMPTY),
    Case("cut in the middle", "cut.msg", lambda: message(a_txt=b"Ask Ann. " * 4_000)[:9_000], CORRUPT),
    Case("sectors in a circle", "loop.msg", looped, CORRUPT),
    Case("a compound file with nothing in it", "nothing.msg", lambda: compound({}), CORRUPT),
    Case("attachments that are locked and damaged", "bad.msg", lambda: message(a_docx=PASSWORD,
         b_pdf=b"%PDF-1.7 nothing"), INDEXED, ("a.docx", "b.pdf"), holds="It leaks."),
    Case("an attachment with a hostile name", "names.msg", lambda: outlook_message({"0037": "The pump"},
         attachments={"..\\..\\x/notes.txt": b"Ask Ann."}), holds="Ask Ann."),
]  # fmt: skip
