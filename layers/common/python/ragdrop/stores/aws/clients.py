"""AWS clients: SDK sessions, timeouts, errors of unreadable answers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError
from botocore.parsers import ResponseParserError

from ragdrop.errors import ConfigurationError, DependencyError

READS = ("BatchGetItem", "GetItem", "Query")
BINARY = (b'"B"', b'"BS"')
OK = 200
AwsClient: TypeAlias = Any  # a low-level boto3 client, whose methods are made at run time
OWN_DOMAINS = (".amazonaws.com", ".amazonaws.com.cn")
CONNECT_TIMEOUT_S = 1
SDK = (1, 40)  # the least version of boto3, which the runtime brings and updates; a test compares pyproject.toml
MAX_CONNECTIONS = 32  # of a client: twice the threads of the widest pool that shares one; the SDK's own limit is 10
READ_TIMEOUT_S = 5  # of one read of the socket, not of a whole large object
MAX_ATTEMPTS = 3  # the first one included; the SDK has a budget for the others
# Questions wait for tables and for the state bucket: an item takes milliseconds, the first byte of an object less
# than a second, so that two tries fit the deadline (by service: seconds of a read, attempts)
PROMPT = {"dynamodb": (2, 2), "s3": (4, 2), "lambda": (60, 1)}  # of lambda: whoever waits has the deadline, and retries
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
    | {"TransactionCanceledException", "TransactionConflictException"}  # another write has the item in hand
)
QUICK_TIMEOUT_S = 0.25  # a query waits no longer for what it can do without
_lock = Lock()


def read_answers_plainly(client: Any) -> None:
    """Let *client*, a low-level DynamoDB client, read items by the JSON decoder alone.

    The SDK walks through every attribute by the model of the service, eleven possible kinds each: most of the processor
    time of a batch read.  But for binary values the JSON has items as the SDK gives them; what may hold some is left to
    it.  Done by its events `before-parse` and `after-call`, and by nothing of its inside.
    """
    for operation in READS:
        client.meta.events.register(f"before-parse.dynamodb.{operation}", _take_as_it_is)
    client.meta.events.register("after-call.dynamodb", _refuse_garbage)


def _take_as_it_is(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    body = response_dict["body"]
    if response_dict["status_code"] != OK or any(kind in body for kind in BINARY):
        return
    try:
        answer = json.loads(body)
    except ValueError:
        return  # the SDK takes it for an empty answer, and then it is refused
    if isinstance(answer, dict):
        customized_response_dict.update({name: value for name, value in answer.items() if value is not None})
        response_dict["body"] = b"{}"


def _refuse_garbage(http_response: Any, **_: Any) -> None:
    """The SDK takes a body that it cannot read for an empty answer, and an empty answer means that nothing is there.

    Raises ResponseParserError: it is no JSON object.
    """
    body = http_response.content
    if not (body.startswith(b"{") and body.rstrip().endswith(b"}")):
        raise ResponseParserError("the body is no JSON object")


_clients: dict[tuple[str, bool, str], AwsClient] = {}


def client(service: str, region: str = "") -> AwsClient:
    """The environment's one low-level client of *service*; endpoint and credentials are the SDK's own search.

    Args:
        service: Its name in the SDK.
        region: Where it is called; empty for the environment's own region.

    Raises:
        ConfigurationError: No region is named, or there is none of that name.
    """
    return _made(service, quick=False, region=region)


def quick_client(service: str) -> AwsClient:
    """Like `client`, but one that tries once and waits a quarter of a second: for what a request can do without.

    Raises ConfigurationError: the environment names no region.
    """
    return _made(service, quick=True)


def _made(service: str, *, quick: bool, region: str = "") -> AwsClient:
    with _lock:  # making a client is not thread-safe, using one is
        if (service, quick, region) not in _clients:
            import boto3

            check_sdk(boto3.__version__)
            try:
                made = boto3.client(service, config=config_of(service, quick=quick), region_name=region or None)
            except NoRegionError as exc:
                raise ConfigurationError("AWS_REGION or AWS_DEFAULT_REGION must name a region") from exc
            if service == "dynamodb":
                read_answers_plainly(made)
            _clients[service, quick, region] = made
        return _clients[service, quick, region]


Sign = Callable[[str, str, bytes], dict[str, str]]
"""The headers that sign a request, by method, address and body."""


@dataclass(frozen=True, slots=True)
class SignedEndpoint:
    """Where a service answers, without a slash at the end, and what signs requests to it (Signature Version 4)."""

    url: str
    sign: Sign


def signed_endpoint(service: str, region: str = "") -> SignedEndpoint:
    """The endpoint of *service* for requests that the SDK does not send, by the SDK's own search.

    `AWS_ENDPOINT_URL_…` counts; credentials are the role's and renew themselves.

    Raises ConfigurationError: no region is named, or there are no credentials.
    """
    import boto3
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    meta = client(service, region).meta
    found = boto3.Session().get_credentials()
    if found is None:
        raise ConfigurationError(f"there are no AWS credentials to call {service} with")
    name = meta.service_model.signing_name

    def sign(method: str, url: str, body: bytes) -> dict[str, str]:
        request = AWSRequest(method=method, url=url, data=body)
        try:
            SigV4Auth(found.get_frozen_credentials(), name, meta.region_name).add_auth(request)
        except BotoCoreError as exc:  # they could not be renewed
            raise DependencyError(f"there were no AWS credentials to call {service} with", service=service) from exc
        return dict(request.headers.items())

    return SignedEndpoint(meta.endpoint_url.rstrip("/"), sign)


def check_sdk(version: str) -> None:
    """Refuse a runtime whose boto3 lacks what is used.

    >>> check_sdk("1.44.5")

    Raises ConfigurationError: it is older than SDK.
    """
    if tuple(map(int, version.split(".")[:2])) < SDK:
        least = ".".join(map(str, SDK))
        raise ConfigurationError(f"boto3 {version} is older than {least}: choose a newer PythonRuntime")


def form_client() -> AwsClient:
    """A client of S3 that makes upload forms for the bucket's own name at the region's endpoint.

    The SDK would name the global endpoint, which newer regions do not know.  An emulator has one name for all buckets.
    """
    import boto3

    plain = client("s3")
    if not plain.meta.endpoint_url.endswith(OWN_DOMAINS):
        return plain
    with _lock:
        if ("forms", False, "") not in _clients:
            _clients["forms", False, ""] = boto3.client("s3", config=form_config())
        return _clients["forms", False, ""]


def form_config() -> Config:
    """How forms are signed on AWS: by version 4, for the bucket's own name at the region's endpoint."""
    names = {"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"}
    return config_of("s3").merge(Config(s3=names))


def config_of(service: str, *, quick: bool = False) -> Config:
    """How the client of *service* waits, tries again and signs."""
    read_s, attempts = (QUICK_TIMEOUT_S, 1) if quick else PROMPT.get(service, (READ_TIMEOUT_S, MAX_ATTEMPTS))
    return Config(
        connect_timeout=QUICK_TIMEOUT_S if quick else CONNECT_TIMEOUT_S,
        read_timeout=read_s,
        max_pool_connections=MAX_CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": attempts},
        signature_version="s3v4" if service == "s3" else None,  # in some regions the default is still version 2
        s3={"us_east_1_regional_endpoint": "regional"},
    )


def error_code(exc: ClientError) -> str:
    """The service's own code of an error, such as `NoSuchKey`; the HTTP status where the answer had no body."""
    return str(exc.response.get("Error", {}).get("Code", ""))


def http_status(exc: ClientError) -> int:
    """The HTTP status of an error; 0 where the SDK does not tell."""
    return int(exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


@contextmanager
def aws_errors(error: type[DependencyError], *, service: str, resource: str) -> Iterator[None]:
    """Turn the SDK's errors within the block into *error*; errors have codes, never the request.

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
