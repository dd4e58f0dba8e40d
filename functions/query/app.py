"""Query: search and documents over HTTP, and the OpenAPI document of the whole API."""

from __future__ import annotations

import gc

gc.disable()  # while modules are imported: they make no garbage, and the search for it takes a tenth of a cold start

from typing import Any

from mangum import Mangum

from ragdrop.api.apis import search_first_api
from ragdrop.app import Reloaded
from ragdrop.app.query import serve_shard
from ragdrop.observability import logger
from ragdrop.ports.indexes import SHARD_PATH

served = Reloaded("query", search_first_api)  # once per execution environment
app = served.app
serve = Mangum(served.asgi, lifespan="off")
gc.freeze()  # what there is now stays: no later collection looks through it
gc.enable()


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one request of the REST API, or another function's search for one shard of a large index."""
    if "httpMethod" not in event and event.get("path") == SHARD_PATH:
        return serve_shard(served.app.ports, event, context.get_remaining_time_in_millis() / 1_000)
    return serve(event, context)
