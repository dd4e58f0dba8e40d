"""AWS clients: made once an environment, with time-outs of their own; SDK errors become ragdrop's here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeAlias

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError
from botocore.parsers import ResponseParserError

from ragdrop.adapters.dynamodb_answers import read_answers_plainly
from ragdrop.errors import ConfigurationError, DependencyError

AwsClient: TypeAlias = Any  # a low-level boto3 client, whose methods are made at run time

CONNECT_TIMEOUT_S = 1
READ_TIMEOUT_S = 5  # of one read of the socket, not of a whole large object
MAX_ATTEMPTS = 3  # the first one included; the SDK keeps a budget of its own for the others
# Questions wait for tables and for the snapshots' bucket: an item takes milliseconds, the first byte of an object less
# than a second, so that two tries fit the deadline (by service: seconds of a read, attempts)
PROMPT = {"dynamodb": (2, 2), "s3": (4, 2)}

_MISSING = frozenset(
    {
        "ResourceNotFoundException",  # DynamoDB
        "NoSuchBucket",  # S3
        "AWS.SimpleQueueService.NonExistentQueue",  # SQS, query protocol
        "QueueDoesNotExist",  # SQS, JSON protocol
    }
)
_TRANSIENT = frozenset({429, 500, 502, 503, 504})
_THROTTLED = frozenset(
    {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "RequestThrottled"}
    | {"SlowDown", "RequestTimeout", "TransactionInProgressException"}
)

QUICK_TIMEOUT_S = 0.25  # a query waits no longer for what it can do without

_clients: dict[tuple[str, bool], AwsClient] = {}
_lock = Lock()


def client(service: str) -> AwsClient:
    """The environment's one low-level client of *service*; endpoint and credentials are the SDK's own search.

    Raises:
        ConfigurationError: The environment names no region.
    """
    return _made(service, quick=False)


def quick_client(service: str) -> AwsClient:
    """Like `client`, but one that tries once and waits a quarter of a second: for what a request can do without.

    Raises:
        ConfigurationError: The environment names no region.
    """
    return _made(service, quick=True)


def _made(service: str, *, quick: bool) -> AwsClient:
    with _lock:  # making a client is not thread-safe, using one is
        if (service, quick) not in _clients:
            import boto3

            read_s, attempts = (QUICK_TIMEOUT_S, 1) if quick else PROMPT.get(service, (READ_TIMEOUT_S, MAX_ATTEMPTS))
            config = Config(
                connect_timeout=QUICK_TIMEOUT_S if quick else CONNECT_TIMEOUT_S,
                read_timeout=read_s,
                retries={"mode": "standard", "total_max_attempts": attempts},
            )
            try:
                made = boto3.client(service, config=config)
            except NoRegionError as exc:
                raise ConfigurationError("AWS_REGION or AWS_DEFAULT_REGION must name a region") from exc
            if service == "dynamodb":
                read_answers_plainly(made)
            _clients[service, quick] = made
        return _clients[service, quick]


def error_code(exc: ClientError) -> str:
    """The service's own code of an error, such as `NoSuchKey`; the HTTP status where the answer had no body."""
    return str(exc.response.get("Error", {}).get("Code", ""))


def http_status(exc: ClientError) -> int:
    """The HTTP status of an error; 0 where the SDK does not tell."""
    return int(exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


@contextmanager
def translated(error: type[DependencyError], *, service: str, resource: str) -> Iterator[None]:
    """Turn the SDK's errors within the block into *error*; only codes are told, never what was asked.

    Args:
        error: The class to raise.
        service: The part of ragdrop that failed: `registry`, `object_store`, `queue`.
        resource: The table, bucket or queue, named where it turns out not to exist.

    Raises:
        DependencyError: *error*; `retryable` is False for a refusal that another try would meet again.
        ConfigurationError: The resource does not exist, or there are no credentials.
    """
    try:
        yield
    except ClientError as exc:
        code, status = error_code(exc), http_status(exc)
        if code in _MISSING:
            raise ConfigurationError(f"{resource} does not exist ({code})") from exc
        raise error(
            f"{resource} answered {code or status}",
            service=service,
            retryable=code in _THROTTLED or status in _TRANSIENT or status == 0,
            aws_code=code,
        ) from exc
    except NoCredentialsError as exc:
        raise ConfigurationError(f"there are no AWS credentials for {resource}") from exc
    except (ResponseParserError, UnicodeDecodeError) as exc:  # the SDK translates neither
        raise error(f"{resource} gave an answer that cannot be read", service=service, reason="unreadable") from exc
    except BotoCoreError as exc:
        raise error(f"{resource} did not answer ({type(exc).__name__})", service=service) from exc
