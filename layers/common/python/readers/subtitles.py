"""WebVTT and SRT: one line for each cue, with its time as the place."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from readers.markdown_writer import MarkdownWriter, one_line
from readers.media_types import VTT
from readers.parsed import ParsedDocument
from readers.text_decoder import decode
from readers.text_decoding import clean

PLACE_S = 15  # a place names the time of the first of the cues that follow in so many seconds
_TIME = re.compile(r"[ \t]*(?:(\d{1,3}):)?(\d\d):(\d\d)[,.]\d{3} --> ")
_VOICE = re.compile(r"<v(?:\.[^ <>]*)? ([^<>]{1,100})>")
_MARK = re.compile(r"</?[a-zA-Z0-9][^<>]{0,200}>|\{\\[^{}]{0,40}\}")
_WITHOUT_TIME = re.compile(r"[ \t]*(?:NOTE|STYLE|REGION)\b|WEBVTT")


def read_subtitles(body: bytes) -> ParsedDocument:
    """Read subtitles; names of speakers go before what they say, and what stands twice in a row is written once.

    Raises:
        EmptyFileError: No cue has text.
        UnsafeFileError: There is too much text.
    """
    text, warnings = decode(body)
    writer = MarkdownWriter()
    placed_s: int | None = None
    before = ""
    left_out: list[str] = []
    for start_s, said in _cues(clean(text), left_out):
        if said == before:
            continue
        if placed_s is None or not placed_s <= start_s < placed_s + PLACE_S:
            placed_s = start_s
            writer.place(f"{start_s // 3600:02d}:{start_s // 60 % 60:02d}:{start_s % 60:02d}")
        writer.block(said, tight=True)
        before = said
    if left_out:
        warnings += (f"{len(left_out)} parts of the subtitles cannot be read and are left out: they have no time",)
    return writer.document(VTT, warnings=warnings)


def _cues(text: str, left_out: list[str]) -> Iterator[tuple[int, str]]:
    """When each cue starts, in seconds, and what is said; blocks without a time are added to *left_out*."""
    for block in re.split(r"\n[ \t]*\n", text):
        lines = block.split("\n")
        if _WITHOUT_TIME.match(lines[0]) and not any(_TIME.match(line) for line in lines):
            continue
        for number, line in enumerate(lines):
            time = _TIME.match(line)
            if time:
                hours, minutes, seconds = (int(part or 0) for part in time.groups())
                said = _said(lines[number + 1 :])
                if said:
                    yield hours * 3600 + minutes * 60 + seconds, said
                break
        else:
            left_out += [block] if block.strip() else []


def _said(lines: list[str]) -> str:
    """What a cue says, on one line.

    >>> _said(["<v Ann>It <i>leaks</i>.</v>", "&amp; drips"])
    'Ann: It leaks. & drips'
    """
    named = _VOICE.sub(lambda voice: f"{voice[1]}: ", " ".join(lines))
    return one_line(html.unescape(_MARK.sub("", named)))
