"""Headers of mails: eight-bit ones, encoded words, names of files, and heads that are not quite in order."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from email.message import Message
from email.policy import Compat32

from readers.text_decoder import decode

_BETWEEN_MAILS = re.compile(rb"(?m)^>*From [^\n]*\n?")
KNOWN_FIELD = (
    rb"(?i:from|to|cc|subject|date|sender|reply-to|return-path|received|message-id|mime-version|delivered-to"
    rb"|content-[a-z-]+|x-[!-9;-~]+)[ \t]*:"
)
_LINES = re.compile(rb"(?:(?:[^\s:][^:\n]{0,75}:|[ \t])[^\n]*(?:\n|\Z))*")
_LOST_FOLD = re.compile(rb"(?m)^([^\s:][^:\n]*)$")
_ODD_FIELD = re.compile(rb"(?m)^([^\s:>][^:\n]{0,75}?)[ \t]*:")
_NOT_IN_A_NAME = re.compile(rb"[^!-9;-~]")
_WORD = re.compile(r"=\?([^?*\s]{1,40})(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
_WORDS = re.compile(rf"(?:{_WORD.pattern})(?:[ \t\r\n]*(?:{_WORD.pattern}))*")


class _AsWritten(Compat32):
    """Hands out headers with their eight-bit characters, which Python's own policy replaces."""

    def header_fetch_parse(self, _name: str, value: str) -> str:
        """The value, with bytes beyond ASCII as lone surrogates."""
        return value


AS_WRITTEN = _AsWritten()


def repaired_head(body: bytes) -> bytes:
    r"""A mail whose head Python's reader takes: without lines that separate mails, and with names it knows as such.

    >>> repaired_head(b"From a@b.c Mon\n>From a@b.c Mon\nX Mail Id: 4\nSubject : x\n\nFrom here\n")
    b'X-Mail-Id: 4\nSubject: x\n\nFrom here\n'
    """
    head, blank, rest = body.partition(b"\n\n")
    head = _BETWEEN_MAILS.sub(b"", head)
    known = re.finditer(rb"(?m)^" + KNOWN_FIELD, head)
    end = max((found.end() for found in known), default=0)  # behind it text may have begun
    end = len(head) if blank and _LINES.fullmatch(head) else end
    folded = _LOST_FOLD.sub(rb" \1", head[:end])
    fields = _ODD_FIELD.sub(lambda found: _NOT_IN_A_NAME.sub(b"-", found[1]) + b":", folded)
    return fields + head[end:] + blank + rest


def decoded_header(written: str, charset: str) -> tuple[str, tuple[str, ...]]:
    r"""A header as people read it, and what was replaced or guessed.

    Bytes beyond ASCII are UTF-8 (RFC 6532), else the encoding of the mail's text, else guessed.  Words of one encoding
    that follow each other are decoded together, because programs split them within characters.

    >>> decoded_header("=?gb2312?B?1uzpRrv5?= and =?utf-8*de?q?Gr=C3?= =?utf-8?q?=BC=C3=9Fe?=", "")[0]
    '朱镕基 and Grüße'
    >>> decoded_header("J\udcf6rg", "latin1"), decoded_header("J\udcc3\udcb6rg", "latin1")
    (('Jörg', ()), ('Jörg', ()))
    """
    text, warnings = _of_bytes(written, charset)
    parts: list[str] = []
    at = 0
    for run in _WORDS.finditer(text):
        parts.append(text[at : run.start()])
        at = run.end()
        held: list[tuple[str, bytes]] = []
        for label, how, payload in _WORD.findall(run.group()):
            body = _payload(how.lower(), payload)
            if held and held[-1][0] == label.lower():
                held[-1] = (held[-1][0], held[-1][1] + body)
            else:
                held.append((label.lower(), body))
        for label, body in held:
            word, wrong = decode(body, charset=label)
            parts.append(word)
            warnings += wrong
    return "".join([*parts, text[at:]]), warnings


def file_name(part: Message) -> str:
    """The name of the file in a part, by whichever of its standards; empty where it has none."""
    written = part.get_param("filename", header="content-disposition") or part.get_param("name") or ""
    if isinstance(written, tuple):  # RFC 2231: an encoding, a language and bytes
        label, _, text = written
        return decode(text.encode("latin-1", "replace"), charset=label or "")[0]
    return decoded_header(written, str(part.get_content_charset() or ""))[0]


def _of_bytes(written: str, charset: str) -> tuple[str, tuple[str, ...]]:
    if written.isascii() and "\x1b" not in written:
        return written, ()
    body = written.encode("utf-8", "surrogateescape")
    if b"\x1b" not in body:
        try:
            return body.decode("utf-8"), ()
        except UnicodeDecodeError:
            pass
    return decode(body, charset=charset)


def _payload(how: str, text: str) -> bytes:
    if how == "q":
        return quopri.decodestring(text.replace("_", " ").encode("utf-8", "surrogateescape"))
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        return base64.b64decode(letters[: len(letters) // 4 * 4])
