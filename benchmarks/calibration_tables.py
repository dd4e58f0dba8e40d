"""The tables of the calibration benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from benchmarks.calibration_evidence import Measured, passing_share, random_relevances
from benchmarks.grids import Grid
from benchmarks.local_embeddings import SPACE
from ragdrop.operate.calibration_fit import fit_curve
from ragdrop.query.relevance import for_space

EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
FEWEST = 5  # questions in a bin that counts
SHARES = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)  # of the way from the off-topic ceiling to the typical own score


def table(measured: Sequence[Measured]) -> Grid:
    """What each calibration does."""
    names = [each.name for each in measured]
    heads = ["collection", "calibration", "0.7 is a cosine of", "relevant pairs, median", "random pairs over 0.7"]
    columns = [*heads, "own questions answered", *(f"questions of {name} that find nothing" for name in names)]
    rows = []
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
    return Grid(columns, rows)


def shares_table(measured: Sequence[Measured]) -> Grid:
    """What other places of the operating point would do, with the fit alone and no shipped curve beside it."""
    columns = ["share", *(f"{each.name}: cosine, own answered, others' that find nothing" for each in measured)]
    rows = []
    for share in SHARES:
        cells = []
        for each in measured:
            curve = fit_curve(each.cosines, share=share)
            calibration = replace(each.fit, vector=curve)
            others = [1 - each.passing(calibration, name) for name in each.found if name != each.name]
            own = percent(each.passing(calibration, each.name))
            cells.append(f"{curve.operating_point:.3f}, {own}, {percent(min(others))}" if others else "–")
        rows.append([str(share), *cells])
    return Grid(columns, rows)


def words_table(measured: Sequence[Measured]) -> Grid:
    """What the lexical curve does where no vectors answer."""
    columns = ["collection", "0.7 is a BM25 score of", "own questions answered", "others' that find nothing, least"]
    rows = []
    for each in measured:
        own = each.passing_by_words(each.fit, each.name)
        others = [1 - (each.passing_by_words(each.fit, name) or 0.0) for name in each.found if name != each.name]
        curve = each.fit.lexical
        if own is None or curve is None or not others:
            rows.append([each.name, "no fit", "all", "–"])
        else:
            rows.append([each.name, f"{curve.operating_point:.1f}", percent(own), percent(min(others))])
    return Grid(columns, rows)


def reliability_table(measured: Sequence[Measured]) -> Grid:
    """The points of the reliability plot."""
    rows = [(each.name, f"{mean:.4f}", f"{own:.4f}") for each in measured for mean, own in reliability(each)]
    return Grid(("collection", "relevance of a question's best hit, mean of a bin", "share of its own questions"), rows)


def reliability(measured: Measured) -> list[tuple[float, float]]:
    """For each bin of the best hit's relevance: its mean, and the share of questions that are the collection's own.

    A question of another collection weighs so much that both kinds weigh the same.
    """
    scored = [
        (each.relevance(measured.fit), name == measured.name)
        for name, found in measured.found.items()
        for each in found
    ]
    own = sum(mine for _, mine in scored)
    weight = own / max(len(scored) - own, 1)
    points = []
    for low, high in pairwise(EDGES):
        held = [(score, 1.0 if mine else weight, mine) for score, mine in scored if low <= score < high]
        if len(held) >= FEWEST:
            total = sum(each for _, each, _ in held)
            mean = sum(score * each for score, each, _ in held) / total
            points.append((mean, sum(each for _, each, mine in held if mine) / total))
    return points


def percent(share: float) -> str:
    """A share for people."""
    return f"{100 * share:.1f} %"
