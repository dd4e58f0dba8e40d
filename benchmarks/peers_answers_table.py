"""The table of citations and abstention beside the frameworks, made from what benchmarks/peers_answers.py found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN = "ragdrop"
Outcomes = dict[str, tuple[int, int]]
"""By sort of sentence or question: how many left as cited, or were answered, of how many."""
COLUMNS = {
    "faults": "false sentences that leave as cited",
    "true": "true sentences that do",
    "answerable": "questions answered",
    "unanswerable": "that the corpus only seems to answer",
    "out of the corpus": "that it has nothing about",
}


def answers_table(found: Mapping[str, Any]) -> str:
    """A line a system, then how each was set up."""
    lines = [f"| | {' | '.join(COLUMNS.values())} |", "|---|" + "---|" * len(COLUMNS)]
    for name, each in found["systems"].items():
        cells = (each["outcomes"][column] for column in COLUMNS)
        lines.append(f"| {name} | {' | '.join(f'{count} of {total}' for count, total in cells)} |")
    return "\n".join([*lines, "", *(f"- {name}: {each['settings']}." for name, each in found["systems"].items())])
