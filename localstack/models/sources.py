"""The sources of ragdrop's prompt: read out of the message, and cut into passages that can be quoted verbatim."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

_HEAD = re.compile(r"\ASources follow between ([0-9a-f]{12}) lines\.")
_NUMBERED = re.compile(r"(?P<prefix>[A-Z]*)(?P<number>\d+)", re.ASCII)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class ShownSource:
    """One chunk as it stood in the prompt; *number* is the number of its marker, *prefix* what stands before it.

    *rank* is the place of its document among those that were found, from 0; 1 for one that is always shown.  *is_first*
    says that no chunk of its document stands before it.
    """

    number: int
    title: str
    heading: str
    text: str
    rank: int = 0
    is_first: bool = True
    prefix: str = ""


@dataclass(frozen=True)
class Task:
    """What the prompt asks for."""

    question: str
    sources: tuple[ShownSource, ...]


def read_task(message: str) -> Task | None:
    """Question and sources of the user's *message*, or None where it has not the form of ragdrop's prompt.

    Only delimiters that carry the message's own id count, so text inside a source can neither close it nor open one.
    """
    head = _HEAD.match(message.lstrip())
    if head is None:
        return None
    tag = f"source-{head[1]}"
    block = re.compile(rf"^<{tag}((?: \w+=\"[^\"]*\")*)>\n(.*?)\n?^</{tag}>$", re.DOTALL | re.MULTILINE)
    found = list(block.finditer(message))
    tail = message[found[-1].end() if found else head.end() :]
    _, label, question = tail.partition("Question:")
    if not found or not label or not question.strip():
        return None
    chunks = re.compile(rf"^<chunk-{head[1]}((?: \w+=\"[^\"]*\")*)>\n", re.MULTILINE)
    ranks, place = [], 0
    for match in found:
        critical = _values(match[1]).get("level") == "critical"
        ranks.append(1 if critical else place)
        place += not critical
    parts = zip(ranks, found, strict=True)
    return Task(
        question.strip(),
        tuple(replace(each, rank=rank) for rank, match in parts for each in _sources(chunks, match[1], match[2])),
    )


def _sources(chunks: re.Pattern[str], attributes: str, body: str) -> Iterator[ShownSource]:
    """The numbered chunks between the tags of one document; one without a heading has that of the one before."""
    title, heading = _values(attributes).get("title", ""), ""
    starts = list(chunks.finditer(body))
    for start, end in zip(starts, [*(each.start() for each in starts[1:]), len(body)], strict=True):
        values = _values(start[1])
        heading = values.get("heading", heading)
        numbered = _NUMBERED.fullmatch(values.get("n", ""))
        yield ShownSource(
            int(numbered["number"]) if numbered else 0,
            title,
            heading,
            body[start.end() : end].removesuffix("\n"),
            is_first=start is starts[0],
            prefix=numbered["prefix"] if numbered else "",
        )


def _values(attributes: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}


MAX_CHARS = 400
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[-*_=:|\s]+$")  # a thematic break, an underline of a heading, the second row of a table
_LEAD = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|>\s?)*")
_STARTS_BLOCK = re.compile(r"\s*(?:[-*+]\s|>|\||\[[^\]\d][^\]]*\]\s)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_NUMBERED_ITEM = re.compile(r"\s*(\d{1,3})[.)]\s")
_PAIR = re.compile(r"\s*[\"'\w][\w \"'/.-]{0,40}:\s")
_END = re.compile(
    r"[.!?](?:\[\d+(?:,\s*\d+)*\])*[\"')\]\u2019\u201d*_`]*\s+(?=[\"'(\[\u201c\u2018*_`]*[^\Wa-z])|[\u3002\uff01\uff1f]"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Jj]r|[Ss]r|vs|etc|al|[Nn]o|[Ff]ig|[Vv]ol|approx|[Cc]a|[Ii]nc|Ltd|Co"
    r"|Gen|Col|Lt|Sgt|Capt|Gov|Sen|Rep|Rev|Hon|Mt|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|bzw|usw)|\b[A-Za-z]\.[A-Za-z])\.$"
)


Kind = Literal["text", "list", "table", "code"]


@dataclass(frozen=True)
class Block:
    """A paragraph, list, table or piece of code: its sentences, each verbatim, in order.

    `after` is what stands between a sentence and the next: a blank, or a line end behind an item, row or line.
    `heading` is the last heading of the text before it; `lead` the sentence that announces a list, or a table's header.
    """

    kind: Kind
    units: tuple[str, ...]
    after: tuple[str, ...]
    heading: str = ""
    lead: str = ""


def blocks(text: str) -> list[Block]:
    r"""The blocks of *text* in order; headings are no blocks.

    A part longer than MAX_CHARS is cut at a blank.

    >>> [(each.kind, each.heading, each.lead, each.units) for each in blocks("# A\n\nOne. Two.\n\nDo:\n- x\n- y\n")]
    [('text', 'A', '', ('One.', 'Two.')), ('list', 'A', 'Do:', ('x', 'y'))]
    """
    found: list[Block] = []
    heading, open_block = "", None
    for kind, run in _runs(text):
        units = list(_units(run))
        if kind == "heading" or not units:
            heading, open_block = (" ".join(run.split()), None) if kind == "heading" else (heading, None)
            continue
        after = (*(" " for _ in units[1:]), "\n")
        if open_block is not None and open_block.kind == kind != "text":
            found[-1] = open_block = replace(
                open_block, units=(*open_block.units, *units), after=(*open_block.after, *after)
            )
            continue
        lead = ""
        if kind == "list" and found and found[-1].heading == heading and found[-1].units[-1].endswith(":"):
            lead = found[-1].units[-1]
            found[-1:] = [replace(found[-1], units=found[-1].units[:-1])] if len(found[-1].units) > 1 else []
        open_block = Block(kind, tuple(units), after, heading, lead)
        found.append(open_block)
    return [_with_header(block) if block.kind == "table" else block for block in found]


def passages(text: str) -> Iterator[str]:
    """Sentences, list items, table rows and code lines of *text*, each a verbatim part of it, in order."""
    for block in blocks(text):
        yield from (part for part in (block.lead, *block.units) if part)


def _with_header(table: Block) -> Block:
    """A table's first row is its header, where it has further rows."""
    if len(table.units) < 2:
        return table
    return replace(table, lead=table.units[0], units=table.units[1:], after=table.after[1:])


def _units(run: str) -> Iterator[str]:
    for sentence in _sentences(run):
        yield from _windows(sentence.strip())


def _runs(text: str) -> Iterator[tuple[Kind | Literal["heading"], str]]:
    """Runs of lines that belong together, as they stand, and their kind; a line of code stands alone."""
    run = before = fence = ""
    kind: Kind = "text"
    numbered = False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif fence:
            yield "code", line
            continue
        elif line.strip() and not any(rule.match(line) for rule in (_HEADING, _RULE)):
            number = _NUMBERED_ITEM.match(line)
            item = number is not None and (numbered or number[1] == "1")  # as in Markdown, "80. " may just be wrapped
            if run and (item or _STARTS_BLOCK.match(line) or (_PAIR.match(line) and _PAIR.match(before))):
                yield kind, run
                run = ""
            numbered = number is not None if not run else numbered
            if not run:
                kind = "table" if line.lstrip().startswith("|") else "list" if item or _ITEM.match(line) else "text"
            lead = _LEAD.match(line)
            run += line[lead.end() :] if lead and not run else line
            before = line
            continue
        if run:
            yield kind, run
        run = before = ""
        if _HEADING.match(line) and not fence:
            yield "heading", line.strip().lstrip("#").strip()
    if run:
        yield kind, run


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
