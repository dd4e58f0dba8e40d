"""PDFs that the finder of tables was judged by once it was built; see table_files."""

from __future__ import annotations

from tests.document_files import pdf_of
from tests.table_files import (
    BOLD,
    PARTS,
    PUMPS,
    SALES,
    SHORT,
    STAFF,
    Case,
    Rows,
    cells,
    grid,
    prose,
    rule,
    ruled,
    text,
    wrapped,
)


def _parts_bare() -> str:
    tops = (690, 672, 633, 615)
    shown = [
        cells([row], (60, 150, 300), top, bold=not n) for n, (row, top) in enumerate(zip(PARTS, tops, strict=True))
    ]
    return prose(60, 780) + "".join(shown) + prose(60, 560)


_INDEX = (
    ("alarm, 12", "float, 7, 9", "order code, 4"),
    ("bar, 3", "fuse, 14", "pipe, 8"),
    ("bolt, 22", "grease, 19", "pressure, 3, 5"),
    ("cable, 13", "hose, 8", "seal, 6, 11"),
    ("drain, 9", "motor, 2", "shaft, 6"),
)
_MERGED = (("Pump", "Order", ""), ("Pump", "Code", "Price"), ("P-100", "QX-5521", "450"), ("P-200", "QX-5522", "610"))
_LONG = tuple((f"P-{number}00", f"{number} bar", f"QX-55{number:02}") for number in range(1, 13))


def _merged() -> str:
    shown = (
        text(64, 680, "Pump")
        + text(150, 688, "Order code and price")
        + text(164, 672, "Code")
        + text(264, 672, "Price")
    )
    shown += cells(_MERGED[2:], (64, 164, 264), 656, bold=False)
    lines = [(60, 700, 340, 700), (160, 684, 340, 684), (60, 668, 340, 668), (60, 652, 340, 652), (60, 636, 340, 636)]
    lines += [(60, 700, 60, 636), (160, 700, 160, 636), (260, 684, 260, 636), (340, 700, 340, 636)]
    return (
        prose(60, 780) + shown.replace("150 688", "180 688") + "".join(rule(*line) for line in lines) + prose(60, 610)
    )


def final() -> list[Case]:
    """What the finder is judged by; nothing of it was looked at while it was built."""
    merged = (("Pump", "Order code and price", "Order code and price"), *_MERGED[1:])
    first, second = _LONG[:7], _LONG[7:]
    names = ("Ann Lee", "Bob Ray", "Cid Orr")
    striped = "".join(f"0.9 g 60 {690 - n * 16 - 4} 400 16 re f 0 g\n" for n in range(0, 6, 2))
    return [
        Case("merged cells", pdf_of(_merged()), ((1, merged),)),
        Case(
            "over two pages",
            pdf_of(
                prose(60, 780) + ruled((PUMPS[0], *first), (60, 150, 240, 330), 200) + text(300, 30, "1"),
                ruled(second, (60, 150, 240, 330), 780) + prose(60, 660) + text(300, 30, "2"),
            ),
            ((1, (PUMPS[0], *first)), (2, second)),
        ),
        Case("no lines, wrapped cells", pdf_of(_parts_bare()), ((1, wrapped(PARTS)),)),
        Case(
            "a line under each row",
            pdf_of(
                prose(60, 780)
                + cells(STAFF, (60, 170, 280), 690)
                + "".join(rule(58, 686 - n * 16, 380, 686 - n * 16) for n in range(4))
                + prose(60, 600)
            ),
            ((1, STAFF),),
        ),
        Case(
            "striped rows",
            pdf_of(
                prose(60, 780) + striped + cells(SALES, (64, 160, 250, 340), 690, rights=(1, 2, 3)) + prose(60, 560)
            ),
            ((1, SALES),),
        ),
        Case(
            "no lines, by a column of prose",
            pdf_of(
                prose(60, 780, SHORT * 3)
                + cells([row[:3] for row in SALES], (320, 400, 470), 770, step=15, rights=(1, 2))
                + prose(320, 650, SHORT)
            ),
            ((1, tuple(row[:3] for row in SALES)),),
        ),
        Case("two columns of prose", pdf_of(prose(60, 780, SHORT * 4) + prose(320, 780, SHORT * 4))),
        Case(
            "index",
            pdf_of("".join(cells([row], (60, 230, 400), 780 - n * 14, bold=False) for n, row in enumerate(_INDEX * 3))),
        ),
        Case(
            "lists and terms",
            pdf_of(
                "".join(
                    text(60, 780 - n * 14, f"{n + 1}.") + text(85, 780 - n * 14, line) for n, line in enumerate(SHORT)
                )
                + "".join(
                    text(60, 640 - n * 14, name, font=BOLD) + text(160, 640 - n * 14, line)
                    for n, (name, line) in enumerate(zip(names, SHORT, strict=False))
                )
            ),
        ),
        Case(
            "two tables side by side",
            pdf_of(ruled(PUMPS, (60, 120, 180, 260), 780) + ruled(STAFF, (320, 400, 470, 540), 780)),
            ((1, PUMPS), (1, STAFF)),
        ),
    ]


RESULTS = (
    ("Item", "Q1", "Q2", "Change"),
    ("Sales", "4.2", "5.1", "+21 %"),
    ("Costs", "(3.0)", "(3.2)", "+7 %"),
    ("Profit", "1.2", "1.9", "+58 %"),
)
PRICES = (("Article", "Price"), ("Seal", "12.50"), ("Filter", "40.75"), ("Float", "9.00"), ("Shaft", "210.00"))
SHIFTS = (
    ("Day", "Early", "Late", "Night"),
    ("Mon", "Ann", "", "Bob"),
    ("Tue", "", "Cid", "Ann"),
    ("Wed", "Bob", "Ann", ""),
    ("Thu", "Cid", "", "Bob"),
)


def _pairs(pairs: Rows, lefts: tuple[float, float], y: float, *, step: float = 14) -> str:
    return "".join(
        text(x, y - n * step, cell) for n, pair in enumerate(pairs) for x, cell in zip(lefts, pair, strict=True)
    )


def afterwards() -> list[Case]:
    """What was tried once the finder was done: mostly pages that only look like tables."""
    narrow = [line[:22] for line in SHORT * 5]
    invoice = (
        ("Invoice no.", "2024-117"),
        ("Date", "1 March 2025"),
        ("Customer", "Acme Ltd"),
        ("Due", "31 March 2025"),
    )
    letter = (("Acme Ltd", "12 Mill Lane"), ("Mr Ray", "Leeds LS1 4AB"), ("High Street 4", "Phone 0113 4417"))
    sources = [(f"[{n + 1}]", line) for n, line in enumerate(SHORT)]
    equations = [(f"x{n} = y{n} + {n}", f"({n + 1})") for n in range(5)]
    axes = "".join(
        text(80, 700 - n * 100, str(30 - n * 10)) + text(100 + n * 100, 388, str(2021 + n)) for n in range(4)
    )
    edges = rule(60, 790, 540, 790) + rule(60, 60, 540, 60) + text(60, 50, "Manual") + text(520, 50, "7")
    shifts = cells(SHIFTS, (64, 150, 240, 330), 690, bold=False)
    return [
        Case(
            "results",
            pdf_of(prose(60, 780) + cells(RESULTS, (60, 150, 230, 310), 690, rights=(1, 2, 3)) + prose(60, 600)),
            ((1, RESULTS),),
        ),
        Case("prices", pdf_of(prose(60, 780) + cells(PRICES, (60, 300), 690, rights=(1,))), ((1, PRICES),)),
        Case("empty cells", pdf_of(ruled(SHIFTS, (60, 150, 240, 330, 420), 780) + prose(60, 600)), ((1, SHIFTS),)),
        Case(
            "empty cells between three lines",
            pdf_of(prose(60, 780) + shifts + "".join(rule(60, y, 400, y) for y in (704, 685, 620)) + prose(60, 590)),
            ((1, SHIFTS),),
        ),
        Case("invoice", pdf_of(_pairs(invoice, (60, 200), 780) + prose(60, 600))),
        Case("letter", pdf_of(_pairs(letter, (60, 400), 780) + prose(60, 600))),
        Case("sources", pdf_of(_pairs(sources, (60, 90), 780, step=26))),
        Case("equations", pdf_of(prose(60, 700) + _pairs(equations, (150, 480), 620, step=20))),
        Case("three columns of prose", pdf_of("".join(prose(x, 780, narrow) for x in (40, 220, 400)))),
        Case("prose in a frame", pdf_of(prose(60, 780) + grid((55, 520), (700, 620)) + prose(60, 685))),
        Case("lines at head and foot", pdf_of(edges + prose(60, 775) + prose(60, 600))),
        Case("columns between lines", pdf_of(edges + prose(60, 775, SHORT * 5) + prose(320, 775, SHORT * 5))),
        Case("chart", pdf_of(grid((100, 200, 300, 400), (700, 600, 500, 400)) + axes + prose(60, 300))),
    ]
