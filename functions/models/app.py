"""Models: the embedding model, the reader and the extractive answerer, for the other functions of the stack."""

from __future__ import annotations

import gc

gc.disable()  # while modules are imported: they make no garbage, and the search for it takes a tenth of a cold start

from pathlib import Path
from typing import Any

from ragdrop.app.serve_models import served_from

served = served_from(Path(__file__).parent)  # once per execution environment
gc.freeze()  # what there is now stays: no later collection looks through it
gc.enable()


def handler(event: object, _context: Any) -> dict[str, Any]:
    """Answer one request of the OpenAI protocol."""
    return served(event)
