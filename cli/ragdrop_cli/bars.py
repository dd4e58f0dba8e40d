"""Small plots for a terminal: a row of bars for numbers over time."""

from __future__ import annotations

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def bars(values: Sequence[float | None], *, width: int = 60) -> str:
    """A bar for each of *values*, in at most *width* columns; the largest is a full one, nothing is a blank.

    Where there are more values than columns, neighbours share one, which shows the largest of them.

    >>> bars([0, 1, 8, None, 4])
    '▁▁█ ▄'
    >>> bars([1, 2, 3, 4], width=2)
    '▄█'
    """
    shown = _grouped(values, width)
    most = max((value for value in shown if value is not None), default=0) or 1
    return "".join(
        " " if value is None else BARS[max(0, min(len(BARS) - 1, round(value / most * len(BARS)) - 1))]
        for value in shown
    )


def _grouped(values: Sequence[float | None], width: int) -> list[float | None]:
    size = -(-len(values) // width) if values else 1
    groups = (values[start : start + size] for start in range(0, len(values), size))
    return [max((value for value in group if value is not None), default=None) for group in groups]
