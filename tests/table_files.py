"""PDFs of known tables, and of pages that only look like tables, made from nothing, for tests and measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.document_files import pdf_of

Rows = Sequence[Sequence[str]]
REGULAR, MONO, BOLD = "F1", "F2", "F3"
_NARROW = " ,.:;'|!ijl"  # of Helvetica: a quarter of its size wide; all else counts as a digit, a little over half

PUMPS = (
    ("Pump", "Pressure", "Order code"),
    ("P-100", "4 bar", "QX-5521"),
    ("P-200", "6 bar", "QX-5522"),
    ("P-300", "10 bar", "QX-5523"),
)
SALES = (
    ("Region", "2023", "2024", "2025"),
    ("North", "1,250", "1,310", "1,402"),
    ("South", "980", "1,020", "995"),
    ("East", "12,400", "13,050", "13,900"),
    ("West", "75", "82", "101"),
    ("Total", "14,705", "15,462", "16,398"),
)
STAFF = (
    ("Name", "Team", "Site"),
    ("Ann Lee", "Service", "Leeds"),
    ("Bob Ray", "Sales", "York"),
    ("Cid Orr", "Service", "Hull"),
)
PROSE = (
    "The pump moves water from the lower tank to the upper tank and stops when the float",
    "reaches its mark. Staff check the filter every month and write the result in the log.",
    "A filter that is worn must be changed at once, as sand damages the seal of the shaft.",
    "The seal costs 40 pounds and takes 2 hours to fit, so that a new filter is the cheaper",
    "choice in each case. Call the service desk in Leeds where the alarm comes back 3 times.",
)


def width(text: str, size: float = 10) -> float:
    """About how wide *text* is in Helvetica, in points; exact for digits, commas and points."""
    return size * sum(0.278 if letter in _NARROW else 0.556 for letter in text)


def text(x: float, y: float, words: str, *, font: str = REGULAR, size: float = 10, spread: float = 0) -> str:
    """Words whose line begins at x and stands on y; *spread* widens every space, as in justified lines."""
    safe = words.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /{font} {size:g} Tf {spread:g} Tw {x:g} {y:g} Td ({safe}) Tj ET\n"


def right(x: float, y: float, words: str) -> str:
    """Words that end at x."""
    return text(x - width(words), y, words)


def rule(x0: float, y0: float, x1: float, y1: float) -> str:
    """A thin line."""
    return f"0.5 w {x0:g} {y0:g} m {x1:g} {y1:g} l S\n"


def prose(x: float, y: float, lines: Sequence[str] = PROSE, *, step: float = 13, spread: float = 0) -> str:
    """Lines of running text from y down."""
    return "".join(text(x, y - number * step, line, spread=spread) for number, line in enumerate(lines))


def cells(
    rows: Rows, lefts: Sequence[float], y: float, *, step: float = 16, rights: Sequence[int] = (), bold: bool = True
) -> str:
    """The words of a table: *rights* are columns whose numbers end 60 points behind their left edge."""
    shown = []
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            at = y - number * step
            for line, part in enumerate(cell.split("\n")):
                if column in rights and number:
                    shown.append(right(lefts[column] + 60, at, part))
                else:
                    font = BOLD if bold and not number else REGULAR
                    shown.append(text(lefts[column], at - line * 11, part, font=font))
    return "".join(shown)


def grid(xs: Sequence[float], ys: Sequence[float], *, whole: bool = False) -> str:
    """The lines of a table at these places; *whole* draws them as one path."""
    lines = [(xs[0], y, xs[-1], y) for y in ys] + [(x, ys[0], x, ys[-1]) for x in xs]
    if not whole:
        return "".join(rule(*line) for line in lines)
    return "0.5 w " + " ".join(f"{a:g} {b:g} m {c:g} {d:g} l" for a, b, c, d in lines) + " S\n"


def ruled(rows: Rows, xs: Sequence[float], top: float, *, step: float = 16, whole: bool = False) -> str:
    """A table with all its lines, from *top* down."""
    ys = [top - number * step for number in range(len(rows) + 1)]
    return cells(rows, [x + 4 for x in xs], top - 12, step=step) + grid(xs, ys, whole=whole)


@dataclass(frozen=True)
class Case:
    """A PDF, and the tables of its pages, in order, with the number of their page from 1."""

    name: str
    body: bytes
    tables: tuple[tuple[int, Rows], ...] = ()


def wrapped(rows: Rows) -> Rows:
    return tuple(tuple(cell.replace("\n", " ") for cell in row) for row in rows)


PARTS = (
    ("Part", "What it does", "Hours"),
    ("Filter", "Keeps sand away\nfrom the seal of\nthe shaft", "500"),
    ("Seal", "Keeps water in", "4,000"),
    ("Float", "Stops the motor\nat the mark", "9,000"),
)
_PARTS_YS = (700, 682, 640, 622, 590)


def _parts_ruled() -> str:
    shown = [grid((60, 140, 260, 340), _PARTS_YS)]
    shown += [
        cells([row], (64, 144, 264), top - 12, bold=not n)
        for n, (row, top) in enumerate(zip(PARTS, _PARTS_YS, strict=False))
    ]
    return prose(60, 780) + "".join(shown) + prose(60, 560)


def _booktabs(y: float) -> str:
    rules = "".join(rule(60, at, 330, at) for at in (y + 14, y - 5, y - 3 * 16 - 6))
    return rules + cells(STAFF, (64, 170, 260), y, bold=False)


_CONTENTS = (
    ("1 Safety", "3"),
    ("2 Parts of the pump", "5"),
    ("2.1 Filter", "6"),
    ("2.2 Seal", "9"),
    ("3 Faults", "12"),
)
_CODE = (
    "def pressure(depth):     # depth in metres",
    "    g = 9.81             # metres a second squared",
    "    rho = 1000           # kilograms a cubic metre",
    "    return rho * g * depth",
    "print(pressure(10))      # 98100",
    "print(pressure(20))      # 196200",
)
SHORT = tuple(
    line
    for words in (
        "The pump moves water from the low",
        "tank to the upper tank and stops",
        "when the float is at its mark. All",
        "staff check the filter each month",
        "and write the result in the log. A",
        "filter that is worn is changed, as",
        "sand damages the seal of the shaft",
    )
    for line in (words,)
)


def development() -> list[Case]:
    """What the finder of tables was built with."""
    lines = prose(60, 780)
    return [
        Case("all lines", pdf_of(lines + ruled(PUMPS, (60, 150, 240, 330), 700) + prose(60, 600)), ((1, PUMPS),)),
        Case("all lines, wrapped cells", pdf_of(_parts_ruled()), ((1, wrapped(PARTS)),)),
        Case(
            "no lines, numbers to the right",
            pdf_of(lines + cells(SALES, (60, 160, 250, 340), 690, rights=(1, 2, 3)) + prose(60, 570)),
            ((1, SALES),),
        ),
        Case("three lines", pdf_of(lines + _booktabs(690) + prose(60, 600)), ((1, STAFF),)),
        Case(
            "two tables",
            pdf_of(
                ruled(PUMPS, (60, 150, 240, 330), 780)
                + prose(60, 690)
                + cells(SALES, (60, 160, 250, 340), 590, rights=(1, 2, 3))
            ),
            ((1, PUMPS), (1, SALES)),
        ),
        Case("prose", pdf_of(lines + prose(60, 700, spread=2.5) + prose(60, 620) + prose(60, 540, spread=1.2))),
        Case(
            "contents",
            pdf_of(
                text(60, 780, "Contents", font=BOLD, size=16)
                + "".join(
                    text(60, 750 - n * 16, title) + right(500, 750 - n * 16, page)
                    for n, (title, page) in enumerate(_CONTENTS)
                )
                + "".join(
                    text(60, 600 - n * 16, f"{title} {'.' * 60} {page}") for n, (title, page) in enumerate(_CONTENTS)
                )
            ),
        ),
        Case(
            "code",
            pdf_of(lines + "".join(text(60, 690 - n * 12, line, font=MONO, size=9) for n, line in enumerate(_CODE))),
        ),
        Case(
            "tables of one page in one path, by a column of prose",
            pdf_of(prose(60, 780, SHORT * 2) + ruled(PUMPS, (300, 370, 440, 530), 790, whole=True)),
            ((1, PUMPS),),
        ),
    ]
