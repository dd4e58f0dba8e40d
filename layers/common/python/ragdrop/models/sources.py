"""The sources of ragdrop's prompt: read out of the message, cut into passages, and compared by their words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could
    did do does doing done during each for from further had has have having he her here hers him his how i if in
    into is it its itself just me more most my no nor not of off on once only or other our out over own please s
    same she should so some such t tell than that the their them then there these they this those through to too
    under until up us very was we were what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905  # a list of words reads as words
)
_ENDINGS = (
    ("ization", "ize"), ("isation", "ise"), ("ational", "ate"), ("fulness", "ful"), ("iveness", "ive"),
    ("ations", "ate"), ("ation", "ate"), ("ments", ""), ("ment", ""), ("ness", ""), ("ingly", ""), ("edly", ""),
    ("ings", ""), ("ing", ""), ("ions", ""), ("ion", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ers", ""),
    ("ed", ""), ("er", ""), ("es", ""), ("ly", ""), ("or", ""), ("al", ""), ("s", ""), ("e", ""), ("y", ""),
)  # fmt: skip


_QUOTED = re.compile(r"[\"“„«]([^\"“”«»\n]{3,200})[\"”“»]")
_SECTION = re.compile(r"(?:§+|\b[Aa]rt(?:icle|ikel|\.)?)\s*\d+[a-z]?(?:\s*\(\w{1,4}\))*")
_WRITTEN = re.compile(r"[^\W_]+(?:(?:[-./:@]|_+)[^\W_]+)*")
_MONEY = re.compile(r"[€$£¥]\s*(\d[\d.,]*)|\b(\d[\d.,]*)\s*(?:[€$£¥]|EUR\b|USD\b|GBP\b|CHF\b)")
_PHONE = re.compile(r"(?<!\w)(?:\+|\(?0)\d?[\d ()/.-]{5,}\d\b")
PHONE_DIGITS = 7  # from the right: what stands before them is written in many ways
_LONG_WORD = re.compile(r"[a-z]{4}")
_NAME_IN_CODE = re.compile(r"(?:[\w-]{2,}\.)+[a-z]\w+|\w+_\w+|\w+@[\w.-]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)+")
_SHORT_CODE = re.compile(r"[A-Z]\d\d")
_DAYS = frozenset({"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"})  # no names
_DATE = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{4}\b"
)
_NAMED = re.compile(r"\b\d[\w.,]*\w|\b\d\b|(?<=\S )\b[A-Z]\w+")
_HYPHENS = dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-") | {0xA0: " ", 0x202F: " "}


def codes(question: str) -> list[re.Pattern[str]]:
    """What *question* names by a code of letters and digits; each finds it in a text that `plain_hyphens` gave.

    >>> text = plain_hyphens("See F.47, WRN\u20114471.")
    >>> [code.search(text) is not None for code in codes("Is F.4 or WRN-4471 a 24-hour code?")]
    [False, True]
    """
    found = _WRITTEN.findall(plain_hyphens(_QUOTED.sub(" ", question)))
    return [_bounded(word) for word in found if _is_code(word)]


def verbatim(question: str) -> list[re.Pattern[str]]:
    """What else it names as it is written: quotations, sections, names in programs, addresses, numbers of 4 digits.

    >>> [each.search(plain_hyphens("By § 9(3) it holds.")) is not None for each in verbatim("What does § 9 (3) say?")]
    [True]
    """
    plain = plain_hyphens(question)
    found = [*_QUOTED.findall(plain), *_SECTION.findall(plain)]
    rest = _PHONE.sub(" ", _SECTION.sub(" ", _QUOTED.sub(" ", plain)))
    found += [
        word
        for word in _WRITTEN.findall(rest)
        if _NAME_IN_CODE.fullmatch(word) or _SHORT_CODE.fullmatch(word) or sum(map(str.isdigit, word)) > 3
    ]
    found += [(before or behind).rstrip(".,") for before, behind in _MONEY.findall(plain)]
    phones = ["".join(filter(str.isdigit, phone))[-PHONE_DIGITS:] for phone in _PHONE.findall(plain)]
    spaced = [re.compile(rf"{'[ ()/.-]{0,3}'.join(digits)}(?!\d)") for digits in phones if len(digits) == PHONE_DIGITS]
    return [*spaced, *(_bounded(word) for word in found if not _is_code(word))]


def plain_hyphens(text: str) -> str:
    """*text* with plain hyphens and blanks."""
    return text.translate(_HYPHENS)


def _is_code(word: str) -> bool:
    has_both = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    is_long = not word.isalnum() or len(word) > 3
    return has_both and is_long and not _LONG_WORD.search(word) and not re.match(r"\d+-?[a-z]+$", word)


def _bounded(term: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in re.findall(r"\w+|[^\w\s]", term)]
    behind = r"(?![^\W_])(?!-(?:\w*\d\w*|\w)\b)(?![.,:/]\d)" if term[-1].isalnum() else ""
    before = r"(?<![^\W_])(?<![^\W_]-)" if term[0].isalnum() else ""
    return re.compile(before + r"\s*".join(parts) + behind, re.IGNORECASE)


def rough_root(word: str) -> str:
    """A crude common root: endings are cut while at least three letters stay, doubled last letters are made single.

    Rough on purpose: it only ever compares words of a question with words of a few chunks.

    >>> [rough_root(word) for word in ("running", "runs", "promoted", "promotion", "replicas", "certificate", "8443")]
    ['run', 'run', 'promot', 'promot', 'replica', 'certificat', '8443']
    """
    if not word.isalpha() or not word.isascii():
        return word
    for ending, other in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + other
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


def every_word(text: str) -> Iterator[str]:
    """Every word of *text* in order, stop words included, folded to lower case without accents, camelCase cut.

    >>> list(every_word("Müller's getPort()"))
    ['muller', 's', 'get', 'port']
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    for match in _WORD.finditer(_CAMEL.sub(" ", plain)):
        yield match[0].lower()


def roots(text: str) -> list[str]:
    """Stems of the words of *text* that carry meaning, in order, with repeats.

    >>> roots("How long does the promotion take?")
    ['long', 'promot', 'tak']
    """
    return [rough_root(word) for word in every_word(text) if word not in STOP_WORDS]


def names_in(question: str) -> frozenset[str]:
    """Roots of the numbers and of the capitalised words of *question*, its first word, days and months apart."""
    names = _NAMED.findall(_DATE.sub("", question))
    return frozenset(root for word in names if word not in _DAYS for root in roots(word))


_FIRST = re.compile(r"^(#[0-9a-f]{4,64}) \[[A-Z]*\d+\] ", re.MULTILINE)
_OPENING = re.compile(
    r"\[(?P<prefix>[A-Z]*)(?P<number>\d+)\] (?P<level>critical |important )?(?:\d{4}\S* )?(?:excerpt )?(?P<names>.*)",
    re.ASCII,
)


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

    Sources are found in a template of a tenant's own too, where `Question:` and the question stand behind them.  Only
    lines with the message's own mark count, so text inside a source can neither end it nor begin one.
    """
    first = _FIRST.search(message)
    if first is None:
        return None
    shown, end, tail = message[first.start() :].partition(f"\n{first[1]} end")
    asked = "\n".join(line for line in tail.split("\n") if not line.startswith(first[1]))
    _, label, question = asked.partition("Question:")
    sources = tuple(_sources(shown, f"{first[1]} "))
    if not end or not label or not question.strip() or not sources:
        return None
    return Task(question.strip(), sources)


def _sources(shown: str, mark: str) -> Iterator[ShownSource]:
    """The numbered sources; one of the same document has its title, and its heading unless another is given."""
    title = heading = ""
    rank, place = 0, -1
    for part in re.split(rf"^{re.escape(mark)}", shown, flags=re.MULTILINE)[1:]:
        line, _, text = part.partition("\n")
        opening = _OPENING.fullmatch(line)
        if opening is None:
            continue
        name, *names = opening["names"].split(" | ")
        is_first = name != "same document"
        if is_first:
            title, heading = names.pop(0) if names else "", ""
            place += opening["level"] != "critical "
            rank = 1 if opening["level"] == "critical " else place
        heading = next((each for each in names if not each.startswith("linked from ")), heading)
        yield ShownSource(
            int(opening["number"]), title, heading, text.removesuffix("\n"), rank, is_first, opening["prefix"]
        )


MAX_CHARS = 400
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_UNMARKED_HEADING = re.compile(r"[^\[\n?][^\n?]*\?[*_`]*")  # a line alone that is a question; no line of a chat
_RULE = re.compile(r"[-*_=:|\s]+$")  # a thematic break, an underline of a heading, the second row of a table
_MARK = re.compile(
    r"\s*(?::{3}|>\s*\[!\w+\]|[!?]{3}\+?\s+\w|(?:!\[\[[^\]]*\]\]|\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?|<!--.*-->)\s*$)"
)  # a line that opens or closes a note, or holds nothing but a picture or a comment
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
        if kind == "text" and _UNMARKED_HEADING.fullmatch(run.strip()):
            heading, open_block = " ".join(run.split()), None
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
        elif line.strip() and not any(rule.match(line) for rule in (_HEADING, _RULE, _MARK)):
            number = _NUMBERED_ITEM.match(line)
            item = number is not None and (numbered or number[1] == "1")  # as in Markdown, "80. " may just be wrapped
            is_new = item or kind == "table" or _STARTS_BLOCK.match(line) or (_PAIR.match(line) and _PAIR.match(before))
            if run and is_new:
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
