"""The tables of the calibration benchmark, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from benchmarks.calibration_evidence import Measured, passing_share, random_relevances
from benchmarks.local_embeddings import SPACE
from ragdrop.domain.calibration_fit import fit_curve
from ragdrop.domain.shipped_calibrations import for_space

SHARES = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)  # of the way from the off-topic ceiling to the typical own score


def table(measured: Sequence[Measured]) -> list[str]:
    """What each calibration does, in Markdown."""
    names = [each.name for each in measured]
    heads = ["collection", "calibration", "0.7 is a cosine of", "relevant pairs, median", "random pairs over 0.7"]
    rows = [[*heads, "own questions answered", *(f"questions of {name} that find nothing" for name in names)]]
    for each in measured:
        for label, calibration in (("shipped", for_space(SPACE)), ("fitted", each.fit)):
            foreign = ("–" if name == each.name else percent(1 - each.passing(calibration, name)) for name in names)
            rows.append(
                [
                    each.name,
                    label,
                    f"{calibration.vector.operating_point:.3f}",
                    f"{median(map(calibration.relevance, each.relevant)):.2f}",
                    percent(passing_share(random_relevances(each, calibration))),
                    percent(each.passing(calibration, each.name)),
                    *foreign,
                ]
            )
    return _markdown(rows)


def shares_table(measured: Sequence[Measured]) -> list[str]:
    """What other places of the operating point would do, with the fit alone and no shipped curve beside it."""
    rows = [["share", *(f"{each.name}: cosine, own answered, others' that find nothing" for each in measured)]]
    for share in SHARES:
        cells = []
        for each in measured:
            curve = fit_curve(each.cosines, share=share)
            calibration = replace(each.fit, vector=curve)
            others = [1 - each.passing(calibration, name) for name in each.found if name != each.name]
            own = percent(each.passing(calibration, each.name))
            cells.append(f"{curve.operating_point:.3f}, {own}, {percent(min(others))}" if others else "–")
        rows.append([str(share), *cells])
    return _markdown(rows)


def words_table(measured: Sequence[Measured]) -> list[str]:
    """What the lexical curve does where no vectors answer."""
    rows = [["collection", "0.7 is a BM25 score of", "own questions answered", "others' that find nothing, least"]]
    for each in measured:
        own = each.passing_by_words(each.fit, each.name)
        others = [1 - (each.passing_by_words(each.fit, name) or 0.0) for name in each.found if name != each.name]
        curve = each.fit.lexical
        if own is None or curve is None or not others:
            rows.append([each.name, "no fit", "all", "–"])
        else:
            rows.append([each.name, f"{curve.operating_point:.1f}", percent(own), percent(min(others))])
    return _markdown(rows)


def percent(share: float) -> str:
    """A share for people."""
    return f"{100 * share:.1f} %"


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]
