"""The text of a PDF page as lines on paper, made into paragraphs again."""

from __future__ import annotations

import re

from ragdrop.domain.text_decoding import clean

HYPHEN = "\ufffe"  # what PDFium gives for a hyphen at the end of a line
FULL_LINE = 0.75  # of the page's usual line length: a shorter line ends its paragraph
_STARTS_ANEW = re.compile(r"[•◦▪–*-] |\(?\d{1,3}[.)] |[A-Z0-9.]{1,8}$")


def reflow(page: str) -> str:
    r"""Join the lines that a paragraph was broken into; short lines, sentence ends and list items keep their break.

    >>> reflow("The pump has a filter that must be\r\nchanged every month by infor\ufffe\r\nmed staff.\r\nParts")
    'The pump has a filter that must be changed every month by informed staff.\nParts'
    """
    page = re.sub(HYPHEN + r"\r?\n?", HYPHEN, page).replace(HYPHEN, "\x00")
    lines = [line.rstrip() for line in page.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    lengths = sorted(len(line) for line in lines if line)
    usual = lengths[len(lengths) * 3 // 4] if lengths else 0
    parts: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        parts.append(line)
        parts.append(" " if _goes_on(line, following, usual) else "\n")
    return clean("".join(parts[:-1])).strip("\n")


def _goes_on(line: str, following: str, usual: int) -> bool:
    if not line or not following or line[-1] in ".!?:;" or _STARTS_ANEW.match(following):
        return False
    return len(line) >= usual * FULL_LINE and usual > 20
