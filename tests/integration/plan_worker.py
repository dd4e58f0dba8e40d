"""A process that does what the ingest function does with its two queues, until it is killed."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from botocore.exceptions import ClientError

from ragdrop.app import build_app
from ragdrop.domain.deadlines import Deadline
from ragdrop.ports.message_queue import deliveries
from ragdrop.stores.aws.clients import client

LEASE_S = 5.0  # of an item: so long nobody else takes what a dead worker had
INVOCATION_S = 60.0


def main() -> None:
    """Receive, reconcile and delete, without end."""
    app = build_app()
    planned = replace(app.ingest.planned_reindex, lease_s=LEASE_S, item_documents=int(os.environ["ITEM_DOCUMENTS"]))
    app.ingest.__dict__["planned_reindex"] = planned
    reconcile = replace(app.ingest.reconcile, work_retry_s=2)
    sqs = client("sqs")
    while True:
        for url in (app.ports.settings.queue_url, app.ports.settings.bulk_queue_url):
            answer = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=2, AttributeNames=["ApproximateReceiveCount"]
            )
            records = [_record(message, url) for message in answer.get("Messages", ())]
            if not records:
                time.sleep(0.05)
                continue
            failed = {
                each.message_id for each in reconcile(deliveries({"Records": records}), Deadline.after(INVOCATION_S))
            }
            for record in records:
                if record["messageId"] not in failed:
                    with suppress(ClientError):  # it took so long that the message is shown again
                        sqs.delete_message(QueueUrl=url, ReceiptHandle=record["receiptHandle"])


def _record(message: Any, url: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{url.rpartition('/')[2]}",
    }


if __name__ == "__main__":
    main()
