"""Cuts a chunk of Markdown or plain text into passages that can be quoted exactly as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_CHARS = 400
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[-*_=:|\s]+$")  # a thematic break, an underline of a heading, the second row of a table
_LEAD = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|>\s?)*")
_STARTS_BLOCK = re.compile(r"\s*(?:[-*+]\s|>|\||\[[^\]\d][^\]]*\]\s)")
_NUMBERED = re.compile(r"\s*(\d{1,3})[.)]\s")
_PAIR = re.compile(r"\s*[\"'\w][\w \"'/.-]{0,40}:\s")
_END = re.compile(r"[.!?][\"')\]\u2019\u201d*_`]*\s+(?=[\"'(\[\u201c\u2018*_`]*[^\Wa-z])|[\u3002\uff01\uff1f]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Jj]r|[Ss]r|vs|etc|al|[Nn]o|[Ff]ig|[Vv]ol|approx|[Cc]a|[Ii]nc|Ltd|Co"
    r"|Gen|Col|Lt|Sgt|Capt|Gov|Sen|Rep|Rev|Hon|Mt|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|bzw|usw)|\b[A-Za-z]\.[A-Za-z])\.$"
)
_MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")


def passages(text: str) -> Iterator[str]:
    r"""Sentences, list items, table rows and code lines of *text*, each a verbatim part of it, in order.

    Headings give no passage. A sentence keeps its soft line breaks. What looks like a citation marker is cut
    out, since it would be taken for one of the answer; a part longer than MAX_CHARS is cut at a blank.

    >>> list(passages("# Ports\n\n- The API uses 8443.\n- Dr. No uses\n  80. It is open.[3]\n"))
    ['The API uses 8443.', 'Dr. No uses\n  80.', 'It is open.']
    """
    for block in _blocks(text):
        for sentence in _sentences(block):
            for piece in _MARKER.split(sentence):
                yield from _windows(piece.strip())


def _blocks(text: str) -> Iterator[str]:
    """Runs of lines that belong together, as they stand; lines of code stand alone, headings and rules are left out."""
    run = before = fence = ""
    numbered = False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif fence:
            yield line
            continue
        elif line.strip() and not any(rule.match(line) for rule in (_HEADING, _RULE)):
            number = _NUMBERED.match(line)
            item = number is not None and (numbered or number[1] == "1")  # as in Markdown, "80. " may just be wrapped
            if run and (item or _STARTS_BLOCK.match(line) or (_PAIR.match(line) and _PAIR.match(before))):
                yield run
                run = ""
            numbered = number is not None if not run else numbered
            lead = _LEAD.match(line)
            run += line[lead.end() :] if lead and not run else line
            before = line
            continue
        if run:
            yield run
        run = ""
        before = ""
    if run:
        yield run


def _sentences(block: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(block):
        if _ABBREVIATION.search(block[start : end.start() + 1]):
            continue
        yield block[start : end.end()]
        start = end.end()
    yield block[start:]


def _windows(piece: str) -> Iterator[str]:
    while len(piece) > MAX_CHARS:
        cut = max(piece.rfind(sign, MAX_CHARS // 2, MAX_CHARS) for sign in (" ", "\n"))
        cut = cut if cut > 0 else MAX_CHARS
        yield piece[:cut].rstrip()
        piece = piece[cut:].lstrip()
    if any(character.isalnum() for character in piece):
        yield piece
