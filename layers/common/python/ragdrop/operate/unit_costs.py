"""AWS's list prices, and what one operation costs by them.

The prices are USD, on demand, us-east-1, as known in 2025; other regions differ by up to a third. docs/cost.md names
the page to check them on. The page, the scale plan and `ragdrop stats --cost` all reckon with these.
"""

from __future__ import annotations

from ragdrop.domain.tenants import Engine

LAMBDA_GB_S, LAMBDA_CALL = 0.0000166667, 0.20 / 1e6
GATEWAY_CALL = 3.50 / 1e6
DYNAMO_READ, DYNAMO_WRITE, DYNAMO_GB = 0.125 / 1e6, 0.625 / 1e6, 0.25
S3_PUT, S3_GET, S3_GB = 0.005 / 1e3, 0.0004 / 1e3, 0.023
SQS_CALL = 0.40 / 1e6
GP3_GB = 0.122
LOG_GB = 0.50
METRIC, ALARM = 0.30, 0.10  # a month each

# Of a function, GB-seconds: estimates on the high side; a question waits 4 s for its model.
SEARCH_GB_S, ASK_GB_S, INGEST_GB_S = 0.2, 4.0, 6.0
MESSAGE_CALLS = 3  # of SQS: S3 sends a message, Lambda's poller receives and deletes it


def requests_usd(reads: float, writes: float, puts: float, gets: float) -> float:
    """What requests cost: units of DynamoDB, and requests of S3 by their two prices.

    >>> round(requests_usd(8, 15, 6, 6) * 1e6, 1)
    42.8
    """
    return reads * DYNAMO_READ + writes * DYNAMO_WRITE + puts * S3_PUT + gets * S3_GET


# <units> Written by `python -m benchmarks.cost --write`, never by hand.
UNITS: dict[str, dict[str, tuple[float, int, int, int]]] = {
    "bucket": {
        "search": (9.0, 1, 0, 0),
        "search, the same again": (2.0, 1, 0, 0),
        "ask": (11.0, 14, 0, 0),
        "new document, one chunk": (5.0, 17, 6, 6),
        "changed document, one chunk": (7.0, 20, 6, 9),
        "deletion": (4.0, 18, 0, 1),
    },
    "opensearch": {
        "search": (8.0, 1, 0, 0),
        "search, the same again": (2.0, 1, 0, 0),
        "ask": (11.0, 14, 0, 0),
        "new document, one chunk": (5.0, 17, 6, 6),
        "changed document, one chunk": (7.0, 21, 6, 9),
        "deletion": (4.0, 18, 0, 1),
    },
}
# </units>
"""Read units, write units, PUTs and GETs of one operation, by index."""


def unit_usd(engine: Engine, operation: str, gb_s: float, *, messages: bool) -> float:
    """What one operation costs: its counted requests, its time in a function, and the gateway or the queue.

    >>> 5e-6 < unit_usd("bucket", "search", SEARCH_GB_S, messages=False) < 50e-6
    True
    """
    calls = MESSAGE_CALLS * SQS_CALL if messages else GATEWAY_CALL
    return requests_usd(*UNITS[engine][operation]) + gb_s * LAMBDA_GB_S + LAMBDA_CALL + calls
