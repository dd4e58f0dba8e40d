"""Ingest: S3 says that keys changed; each is made to agree with the bucket, failures are reported per message."""

from __future__ import annotations

import gc

gc.disable()  # while modules are imported: they make no garbage, and the search for it takes a tenth of a cold start

from typing import Any

from ragdrop.app import Reloaded
from ragdrop.domain.deadlines import Deadline
from ragdrop.observability import logger
from ragdrop.ports.message_queue import deliveries

MARGIN_S = 5.0  # to give messages back and say what failed before the function is cut off

served = Reloaded("ingest", lambda app: app.ingest)  # once per execution environment
app = served.app
gc.freeze()  # what there is now stays: no later collection looks through it
gc.enable()


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Reconcile the keys of one SQS batch."""
    deadline = Deadline.after(context.get_remaining_time_in_millis() / 1_000 - MARGIN_S)
    failed = served().reconcile(deliveries(event), deadline)
    return {"batchItemFailures": [{"itemIdentifier": delivery.message_id} for delivery in failed]}
