"""Every known difference between the laptop and AWS, the documentation behind it and the tests that hold our side."""

from __future__ import annotations

from dataclasses import dataclass

AWS = "https://docs.aws.amazon.com"
NOTHING = "nothing yet: only a deployment on AWS shows it"


@dataclass(frozen=True)
class Difference:
    """One thing that is not alike.

    Args:
        what: Of which part.
        laptop: How the emulator or the local models do it.
        aws: How it is there.
        title, url: Of the page that says so.
        held_by: Tests and doctests that hold what depends on it without AWS.
        open: What is said where no test can hold it.
    """

    what: str
    laptop: str
    aws: str
    title: str
    url: str
    held_by: tuple[str, ...] = ()
    open: str = NOTHING


# Why a call may end in this way on one engine alone.
ENDS = {
    "MethodNotAllowed": "As AWS does, the emulator answers 405 for a version that is a delete marker, moto 404.",
    "ConditionalCheckFailedException": "Some tests of lost races run on moto alone.",
    "ResourceNotFoundException": "A table that is not there is asked of moto alone.",
    "NoSuchBucket": "A bucket that is not there is asked of moto alone.",
    "404": "A bucket that is not there is asked of moto alone.",
    "AWS.SimpleQueueService.NonExistentQueue": "A queue that is not there is asked of moto alone.",
    "ReceiptHandleIsInvalid": "A receipt that is not one is shown to moto alone.",
}

DIFFERENCES = (
    Difference(
        "DynamoDB: reads",
        "every read is of the last write",
        "a read is eventually consistent unless `ConsistentRead` is asked for; an index of the table always is",
        "DynamoDB read consistency",
        f"{AWS}/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html",
        ("tests/contract/test_dynamodb_registry.py",),
    ),
    Difference(
        "DynamoDB: batches",
        "a batch read gives back everything; DynamoDB Local leaves some out",
        "what did not fit or was throttled comes back as UnprocessedKeys, to be asked again",
        "BatchGetItem",
        f"{AWS}/amazondynamodb/latest/APIReference/API_BatchGetItem.html",
        ("tests/contract/test_dynamodb_registry.py",),
    ),
    Difference(
        "DynamoDB: expiry",
        "items past their time are removed late or never",
        "within a few days; readers have to filter",
        "Using time to live (TTL)",
        f"{AWS}/amazondynamodb/latest/developerguide/TTL.html",
        ("tests/contract/test_visited_cache.py", "tests/contract/test_receipts.py"),
    ),
    Difference(
        "DynamoDB: throughput",
        "no limits",
        "3,000 read and 1,000 write units a partition, 40,000 a table at first",
        "Quotas in Amazon DynamoDB",
        f"{AWS}/amazondynamodb/latest/developerguide/ServiceQuotas.html",
        ("tests/unit/benchmarks/test_simulations.py",),
    ),
    Difference(
        "S3: sequencers",
        "all of one length",
        "of different lengths; the shorter one is filled up with zeros on the right before they are compared",
        "Event message structure",
        f"{AWS}/AmazonS3/latest/userguide/notification-content-structure.html",
        ("layers/common/python/ragdrop/ingest/reconcile_rules.py",),
    ),
    Difference(
        "S3: events",
        "once, in order, a moment later",
        "at least once, in any order, mostly within seconds",
        "Amazon S3 Event Notifications",
        f"{AWS}/AmazonS3/latest/userguide/EventNotifications.html",
        ("tests/functions/test_any_order_any_failure.py",),
    ),
    Difference(
        "S3: a missing key",
        "404",
        "404 only with `s3:ListBucket`, else 403",
        "HeadObject",
        f"{AWS}/AmazonS3/latest/API/API_HeadObject.html",
        ("tests/contract/test_s3_object_store.py", "tests/architecture/test_template.py"),
    ),
    Difference(
        "S3: life cycle",
        "rules are kept, nothing expires by them",
        "old versions go after `RetentionDays`, and an event says so",
        "Managing the lifecycle of objects",
        f"{AWS}/AmazonS3/latest/userguide/object-lifecycle-mgmt.html",
        ("tests/architecture/test_template.py",),
    ),
    Difference(
        "Lambda: recursive loops",
        "hops are not counted",
        "a chain through SQS is stopped after about 16 unless the function allows it",
        "Lambda recursive loop detection",
        f"{AWS}/lambda/latest/dg/invocation-recursion.html",
        ("tests/architecture/test_template.py",),
    ),
    Difference(
        "Lambda: environments",
        "warm processes of the emulator's own interpreter, one a concurrent call, its packages visible, no limits",
        "a micro VM each, memory and a share of a core as configured, 1,000 at once an account at first",
        "Lambda execution environment",
        f"{AWS}/lambda/latest/dg/lambda-runtime-environment.html",
        ("tests/integration/test_built_functions.py", "tests/contract/test_isolated_reader.py"),
    ),
    Difference(
        "Lambda: no shared memory",
        "`/dev/shm` is there, so queues of multiprocessing work",
        "there is none; only pipes do",
        "Parallel processing in Python with AWS Lambda",
        "https://aws.amazon.com/blogs/compute/parallel-processing-in-python-with-aws-lambda/",
        ("tests/contract/test_isolated_reader.py",),
    ),
    Difference(
        "Lambda: freezing",
        "a process goes on after its response",
        "it is frozen at the response and may never be woken: nothing runs behind it",
        "Lambda execution environment",
        f"{AWS}/lambda/latest/dg/lambda-runtime-environment.html",
        ("tests/unit/operate/test_query_counter.py", "tests/unit/query/test_usage_counter.py"),
    ),
    Difference(
        "Lambda: sizes of requests and responses",
        "larger ones pass",
        "6 MB each, base64 included",
        "Lambda quotas",
        f"{AWS}/lambda/latest/dg/gettingstarted-limits.html",
        ("tests/functions/test_edge.py", "tests/functions/test_documents.py"),
    ),
    Difference(
        "Streaming",
        "the handler runs to its end, then its events come in one body",
        "with `ResponseStreaming` the REST API passes them on as they come, for up to 15 minutes",
        "Stream the integration response",
        f"{AWS}/apigateway/latest/developerguide/response-transfer-mode.html",
        (
            "tests/functions/test_streaming.py",
            "tests/unit/api/test_web_adapter.py",
            "tests/architecture/test_template.py",
        ),
    ),
    Difference(
        "API Gateway: paths",
        "decoded before the function gets them, so a literal `%20` in a name cannot be reached",
        "a REST API leaves them percent-encoded",
        "Lambda proxy integrations",
        f"{AWS}/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html",
        ("tests/functions/test_documents.py",),
    ),
    Difference(
        "API Gateway: addresses",
        "a path of the emulator, `/restapis/ID/STAGE/_user_request_`",
        "a host name of its own and the stage as the first segment",
        "Invoke REST APIs",
        f"{AWS}/apigateway/latest/developerguide/how-to-call-api.html",
        ("tests/functions/test_api_document.py",),
    ),
    Difference(
        "API Gateway: throttling and time",
        "neither the stage's rate nor 29 seconds hold",
        "429 over the rate; 504 after 29 seconds unless the response streams",
        "Quotas for REST APIs",
        f"{AWS}/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html",
        ("tests/architecture/test_template.py",),
    ),
    Difference(
        "API Gateway: its own errors",
        "not read from the API's definition, so the launcher sets them after each deployment",
        "as the template says",
        "Gateway responses",
        f"{AWS}/apigateway/latest/developerguide/api-gateway-gatewayResponse-definition.html",
        ("tests/architecture/test_template.py", "tests/integration/test_http_live.py"),
    ),
    Difference(
        "API Gateway: `WWW-Authenticate`",
        "passed on",
        "renamed to `x-amzn-remapped-www-authenticate` by REST APIs; an MCP client that discovers tokens by it must be "
        "given its key or token",
        "Important notes",
        f"{AWS}/apigateway/latest/developerguide/api-gateway-known-issues.html",
        ("tests/functions/test_mcp_errors.py",),
    ),
    Difference(
        "API Gateway: room for a function",
        "there is always room",
        "a function that Lambda has no room for is a 500 of the gateway; the client sends what may be repeated again",
        "Lambda proxy integrations",
        f"{AWS}/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html",
        ("tests/architecture/test_template.py", "tests/functions/test_client_retries.py"),
    ),
    Difference(
        "API Gateway: routes",
        "`ANY` makes none, HTTP APIs none at all: each method is declared, the API is a REST API",
        "both work",
        "Set up a proxy integration with a proxy resource",
        f"{AWS}/apigateway/latest/developerguide/api-gateway-set-up-simple-proxy.html",
        ("tests/architecture/test_template.py",),
    ),
    Difference(
        "CloudFormation: parameters",
        "a parameter's number arrives as text, so the default of MaximumConcurrency is written out",
        "converted to the property's type",
        "Parameters section",
        f"{AWS}/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html",
        ("tests/architecture/test_template.py",),
    ),
    Difference(
        "SQS: what feeds the function",
        "one poller a queue; MaximumConcurrency is kept, not proven",
        "five pollers at first, 300 more a minute, at most MaximumConcurrency batches at once",
        "Scaling of SQS event source mappings",
        f"{AWS}/lambda/latest/dg/services-sqs-scaling.html",
        ("tests/architecture/test_template.py", "tests/unit/benchmarks/test_simulations.py"),
    ),
    Difference(
        "IAM",
        "the emulator asks for nothing; tests hold each call of a function to moto against its role",
        "what a role does not allow is refused",
        "IAM JSON policies: evaluation",
        f"{AWS}/IAM/latest/UserGuide/reference_policies_evaluation-logic.html",
        (
            "tests/architecture/test_least_privilege.py",
            "tests/functions/test_roles.py",
            "tests/contract/test_opensearch_rights.py",
        ),
    ),
    Difference(
        "TLS",
        "plain HTTP on the loopback",
        "TLS everywhere; buckets and queues refuse anything else",
        "Encryption in transit",
        f"{AWS}/AmazonS3/latest/userguide/UsingEncryptionInTransit.html",
        ("tests/architecture/test_least_privilege.py",),
    ),
    Difference(
        "Secrets",
        "literals in the environment, by choice",
        "a Secrets Manager ARN or `ssm:NAME`, read at first use",
        "Use Secrets Manager secrets in Lambda functions",
        f"{AWS}/secretsmanager/latest/userguide/retrieving-secrets_lambda.html",
        ("tests/architecture/test_least_privilege.py",),
    ),
    Difference(
        "CloudWatch: alarms",
        "kept, never raised; no metric math",
        "raised from the metrics that the functions' logs carry",
        "Embedded metric format",
        f"{AWS}/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format.html",
        ("tests/architecture/test_alarms.py", "tests/contract/test_metrics.py"),
    ),
    Difference(
        "The index",
        "the bucket index over the emulator's S3; or an OpenSearch node without security and copies",
        "the bucket index over S3; or a domain: several copies, signed requests, vectors by HNSW as on the node",
        "k-NN search in Amazon OpenSearch Service",
        f"{AWS}/opensearch-service/latest/developerguide/knn.html",
        ("tests/contract/test_chunk_index.py", "tests/integration/test_engines_agree.py"),
    ),
    Difference(
        "The index: words",
        "as on AWS: tantivy over one tenant's words, or Lucene over a whole shard",
        "the same two; one suite holds that they match the same words (`bucketindex/analysis.py`)",
        "BM25 in OpenSearch",
        "https://docs.opensearch.org/latest/search-plugins/keyword-search/",
        ("tests/contract/test_chunk_index_words.py", "tests/contract/test_exact_text.py"),
    ),
    Difference(
        "OpenSearch Serverless",
        "not tried",
        "refuses custom ids and refresh, so `doctor` and the adapter refuse it by name",
        "Supported operations in OpenSearch Serverless",
        f"{AWS}/opensearch-service/latest/developerguide/serverless-genref.html",
        ("tests/contract/test_opensearch_client.py",),
    ),
    Difference(
        "Models",
        "a small embedding model and an extractive answerer on the same machine",
        "whatever `EMBEDDING_URL` and `CHAT_URL` name, over a network, with limits of its own",
        "Amazon Bedrock quotas",
        f"{AWS}/bedrock/latest/userguide/quotas.html",
        ("tests/contract/test_chat_model.py", "tests/contract/test_recipes.py"),
    ),
)
