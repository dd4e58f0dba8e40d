"""Generate: questions answered over HTTP; it retrieves in process, no Lambda calls another."""

from __future__ import annotations

import gc

gc.disable()  # while modules are imported: they make no garbage, and the search for it takes a tenth of a cold start

from typing import Any

from mangum import Mangum

from ragdrop.api.apis import BehindWebAdapter, ask_first_api
from ragdrop.app import Reloaded
from ragdrop.observability import logger

served = Reloaded("generate", ask_first_api)  # once per execution environment
app = served.app
adapted = BehindWebAdapter(served.asgi)  # what run.sh serves where responses stream
serve = Mangum(served.asgi, lifespan="off")
gc.freeze()  # what there is now stays: no later collection looks through it
gc.enable()


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one request of the REST API."""
    return serve(event, context)
