"""The template keeps its own rules: numbers that follow from others, least privilege, and the traps that SAM sets."""

import re

import pytest
import yaml

from ragdrop.api.shapes.document_shapes import RETENTION
from ragdrop.config import DEPLOYMENT_SETTINGS, DOCUMENT_KEY
from ragdrop.domain.history import RETENTION_S
from ragdrop.operate.leftovers import DERIVED_AGE_S
from tests.architecture.cloudformation import MODELS, REPOSITORY, Resource, allowed_statements, listed, of_type

FUNCTIONS = ("IngestFunction", "QueryFunction", "GenerateFunction", "McpFunction", "SweepFunction")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
STREAMED = ("/ask", "/v1/{proxy+}", "/retrieveAndGenerate", "/retrieveAndGenerateStream")
INTEGRATION = "x-amazon-apigateway-integration"
RETAINED = ("RetainExceptOnCreate", "Retain")  # a failed first deployment leaves nothing that stops the second
MAX_PARAMETERS = 40
SET_ASIDE = {"POWERTOOLS_SERVICE_NAME", "AWS_LAMBDA_EXEC_WRAPPER"}  # read by Powertools and Lambda, not by Settings


def ingest_events(resources: dict[str, Resource]) -> Resource:
    events = resources["IngestFunction"]["Properties"]["Events"]
    return next(event["Properties"] for event in events.values() if event["Type"] == "SQS")


def test_the_queue_hides_a_message_for_six_times_the_ingest_functions_timeout_and_the_longest_window(
    template: Resource, resources: dict[str, Resource]
) -> None:
    window_s = template["Parameters"]["IngestBatchWindowS"]["MaxValue"]
    timeout_s = resources["IngestFunction"]["Properties"]["Timeout"]

    for queue in ("IngestQueue", "IngestBulkQueue"):
        assert resources[queue]["Properties"]["VisibilityTimeout"] == 6 * timeout_s + window_s


def test_a_message_is_tried_five_times_and_then_stored_for_fourteen_days(resources: dict[str, Resource]) -> None:
    redrive = resources["IngestQueue"]["Properties"]["RedrivePolicy"]

    assert redrive["maxReceiveCount"] == 5
    assert redrive["deadLetterTargetArn"] == {"Fn::GetAtt": "IngestDeadLetterQueue.Arn"}
    assert resources["IngestDeadLetterQueue"]["Properties"]["MessageRetentionPeriod"] == 14 * 86_400


def test_the_bulk_lane_is_as_the_first_one_but_for_what_s3_writes(resources: dict[str, Resource]) -> None:
    first, bulk = (resources[name]["Properties"] for name in ("IngestQueue", "IngestBulkQueue"))
    changes, work = (resources["IngestFunction"]["Properties"]["Events"][name] for name in ("Changes", "Bulk"))

    assert bulk == first
    assert {**work["Properties"], "Queue": None} == {**changes["Properties"], "Queue": None}


def test_ingest_takes_five_messages_at_once_and_reports_each_failure(resources: dict[str, Resource]) -> None:
    event = ingest_events(resources)

    assert event["BatchSize"] == 5
    assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert event["MaximumBatchingWindowInSeconds"] == {"Ref": "IngestBatchWindowS"}


def test_ingest_may_send_messages_to_its_own_queue(resources: dict[str, Resource]) -> None:
    assert resources["IngestFunction"]["Properties"]["RecursiveLoop"] == "Allow"


def test_every_event_that_can_mean_a_change_is_subscribed(resources: dict[str, Resource]) -> None:
    notifications = resources["DocumentBucket"]["Properties"]["NotificationConfiguration"]["QueueConfigurations"]

    assert {each["Event"] for each in notifications} == {
        "s3:ObjectCreated:*",
        "s3:ObjectRemoved:*",
        "s3:LifecycleExpiration:*",
        "s3:ObjectTagging:*",
    }


def test_the_alias_follows_code_settings_and_layer(template: Resource, resources: dict[str, Resource]) -> None:
    assert template["Globals"]["Function"]["AutoPublishAlias"] == "live"
    assert resources["CommonLayer"]["Properties"]["PublishLambdaVersion"] is True
    for name in FUNCTIONS:
        assert resources[name]["Properties"]["AutoPublishAliasAllProperties"] is True, name


def test_the_layers_content_is_its_own_root_and_is_built(resources: dict[str, Resource]) -> None:
    layer = resources["CommonLayer"]

    assert layer["Properties"]["ContentUri"] == "layers/common/python"
    assert layer["Metadata"]["BuildMethod"] == {"Ref": "PythonRuntime"}


def test_every_setting_has_one_place_the_template_or_the_settings_document(template: Resource) -> None:
    variables = set(template["Globals"]["Function"]["Environment"]["Variables"]) - SET_ASIDE
    document = {name.upper() for name, each in DEPLOYMENT_SETTINGS.items() if "document" in each.places}

    assert variables & document == set()
    assert variables | document == {name.upper() for name in DEPLOYMENT_SETTINGS}


VARIABLES_OF_73BAED3 = """
    index_url index_password embedding_url embedding_model embedding_dimension embedding_max_tokens embedding_tokenizer
    embedding_batch_size embedding_concurrency embedding_timeout_s embedding_query_prefix embedding_passage_prefix
    embedding_api_key chat_url chat_models chat_timeout_s chat_api_key chat_prices ocr_url rerank_url rerank_model
    rerank_api_key verifier jwt_issuer jwt_audience jwt_jwks_url jwt_tenant_claim jwt_role_claim jwt_vaults_claim
    document_bucket state_bucket registry_table visited_table telemetry_table queue_url cache_size cache_ttl_s
    embedding_cache_size breaker_threshold breaker_window_s breaker_open_s retry_attempts retry_base_ms retry_cap_ms
    ingest_retry_base_s sweep_min_age_s sweep_orphan_age_s chunk_tokens chunk_overlap_tokens max_context_tokens
    reserved_answer_tokens reserved_prompt_tokens critical_share min_relevance max_results max_linked_docs
    max_link_depth boost_critical boost_important fusion citation_policy keep_last_good links_across_vaults
    cors_allow_origins stage release tracing log_level
"""
PARAMETERS_OF_73BAED3 = """
    PythonRuntime Architecture Stage Release IndexUrl OpenSearchDomain OpenSearchInstanceType OpenSearchVolumeGb
    OpenSearchMasterRoleArn EmbeddingUrl EmbeddingModel EmbeddingDimension EmbeddingMaxTokens EmbeddingTokenizer
    EmbeddingQueryPrefix EmbeddingPassagePrefix ChatUrl ChatModels ChatApiKey EmbeddingApiKey RerankUrl OcrUrl
    ChatPrices RerankModel RerankApiKey IndexPassword JwtIssuer JwtAudience JwtJwksUrl JwtTenantClaim JwtRoleClaim
    JwtVaultsClaim IngestConcurrency IngestBatchWindowS IngestRetryBaseS BreakerThreshold BreakerWindowS BreakerOpenS
    RetryAttempts RetryBaseMs RetryCapMs ChatConcurrency KeepLastGood CitationPolicy Verifier ResponseStreaming
    RetentionDays CorsAllowOrigins LogLevel HourlyCostAlarm AlarmTopicArn TracingLayerArn KmsKeyArn VpcSubnetIds
    VpcSecurityGroupIds RateLimitPerAddress AccessLogs WebAdapterLayerArn WebAclArn
"""


def test_every_setting_that_the_template_had_as_a_parameter_or_a_variable_is_settable_still(template: Resource) -> None:
    document = {name for name, each in DEPLOYMENT_SETTINGS.items() if "document" in each.places}
    gone = set(PARAMETERS_OF_73BAED3.split()) - set(template["Parameters"]) - {"Release"}  # the build writes it
    changelog = (REPOSITORY / "CHANGELOG.md").read_text("utf-8")

    assert set(VARIABLES_OF_73BAED3.split()) - set(DEPLOYMENT_SETTINGS) == set()
    for name in gone:
        setting = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        assert setting in document, name
        assert re.search(rf"`{name}`\s+\(`{setting}`\)", changelog), name


def test_the_template_has_at_most_forty_parameters_and_groups_each(template: Resource) -> None:
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]

    assert len(template["Parameters"]) <= MAX_PARAMETERS
    assert sorted(name for group in groups for name in group["Parameters"]) == sorted(template["Parameters"])


def test_functions_may_read_the_settings_document_and_not_change_it(resources: dict[str, Resource]) -> None:
    policy = resources["SettingsPolicy"]["Properties"]
    [denied] = policy["PolicyDocument"]["Statement"]
    readable = {f"${{StateBucket.Arn}}/{DOCUMENT_KEY}", "${StateBucket.Arn}/*"}

    roles = set(of_type(resources, "AWS::IAM::Role")) - MODELS
    assert {role["Ref"] for role in policy["Roles"]} == roles
    assert DOCUMENT_KEY.startswith("config/")
    assert (denied["Effect"], denied["Resource"]) == ("Deny", {"Fn::Sub": "${StateBucket.Arn}/config/*"})
    assert set(denied["Action"]) == {"s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion"}
    for role in roles:
        assert any(
            name == role and "s3:GetObject" in listed(each["Action"]) and each["Resource"].get("Fn::Sub") in readable
            for name, each in allowed_statements(resources)
            if isinstance(each["Resource"], dict)
        ), role


def test_no_function_has_separate_variables_but_those_of_the_web_adapter(
    template: Resource, resources: dict[str, Resource]
) -> None:
    for name in of_type(resources, "AWS::Serverless::Function"):
        variables = resources[name]["Properties"].get("Environment", {}).get("Variables", {})
        for variable, value in variables.items():
            assert variable.startswith(("AWS_LWA_", "AWS_LAMBDA_")), name
            condition, _, otherwise = value["Fn::If"]
            shared = template["Globals"]["Function"]["Environment"]["Variables"].get(variable, {"Ref": "AWS::NoValue"})
            assert (condition, otherwise) == ("StreamsResponses", shared), name


def test_the_environment_holds_text_and_references_only(template: Resource) -> None:
    variables = template["Globals"]["Function"]["Environment"]["Variables"]

    assert [name for name, value in variables.items() if not isinstance(value, (str, dict))] == []


def test_every_function_has_its_own_role(resources: dict[str, Resource]) -> None:
    functions = of_type(resources, "AWS::Serverless::Function")
    roles = [function["Role"]["Fn::GetAtt"] for function in functions.values()]

    assert set(functions) == {*FUNCTIONS, "ModelsFunction"}
    assert len(set(roles)) == len(roles)
    for name, function in functions.items():
        assert "Policies" not in function, name  # SAM would attach policies that allow their actions on everything


WITHOUT_RESOURCE = "textract:DetectDocumentText"  # AWS lets nobody narrow it to a resource


def test_no_statement_allows_a_star_action_or_a_star_resource(resources: dict[str, Resource]) -> None:
    for name, statement in allowed_statements(resources):
        assert [action for action in listed(statement["Action"]) if "*" in action] == [], name
        assert "*" not in listed(statement["Resource"]) or statement["Action"] == WITHOUT_RESOURCE, name


def test_a_star_stands_only_for_the_objects_of_one_bucket_or_the_paths_of_one_domain(
    resources: dict[str, Resource],
) -> None:
    for name, statement in allowed_statements(resources):
        services = {action.partition(":")[0] for action in listed(statement["Action"])}
        if services == {"bedrock"}:  # tests/aws/test_bedrock_rights.py
            continue
        for resource in listed(statement["Resource"]):
            text = str(resource.get("Fn::Sub", "")) if isinstance(resource, dict) else resource
            if "*" in text and statement["Action"] != WITHOUT_RESOURCE:
                assert services in ({"s3"}, {"es"}), name
                assert text.count("*") == 1, name
                paths = ("_msearch", "_count", "_refresh", "_delete_by_query")
                assert text.endswith("/*") or text in {f"${{IndexDomain.Arn}}/*/{path}" for path in paths}, name


def test_generate_changes_nothing_but_what_may_be_lost(resources: dict[str, Resource]) -> None:
    reading = ("Get", "BatchGet", "Query", "List")
    may_be_lost = [{"Fn::GetAtt": "TelemetryTable.Arn"}, {"Fn::GetAtt": "VisitedTable.Arn"}]
    for name, statement in allowed_statements(resources):
        if statement["Resource"] in may_be_lost:
            continue
        for action in listed(statement["Action"]):
            if name == "GenerateRole" and not action.startswith("logs:"):
                assert action.partition(":")[2].startswith(reading), action


@pytest.mark.parametrize("bucket", ["DocumentBucket", "StateBucket"])
def test_a_bucket_is_private_encrypted_retained_and_reached_by_tls_only(
    resources: dict[str, Resource], bucket: str
) -> None:
    properties = resources[bucket]["Properties"]
    policy = resources[f"{bucket}Policy"]["Properties"]["PolicyDocument"]["Statement"]

    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert properties["BucketEncryption"]
    assert [each["Effect"] for each in policy if each["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}] == [
        "Deny"
    ]
    assert (resources[bucket]["DeletionPolicy"], resources[bucket]["UpdateReplacePolicy"]) == RETAINED


def test_replaced_documents_can_be_restored_for_the_retention_time(resources: dict[str, Resource]) -> None:
    properties = resources["DocumentBucket"]["Properties"]
    rules = {rule["Id"]: rule for rule in properties["LifecycleConfiguration"]["Rules"]}

    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert rules["forget-replaced-versions"]["NoncurrentVersionExpiration"] == {
        "NoncurrentDays": {"Ref": "RetentionDays"}
    }
    assert rules["abort-unfinished-uploads"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_derived_state_with_a_separate_prefix_expires_and_revisions_are_left_to_the_sweep(
    resources: dict[str, Resource],
) -> None:
    rules = resources["StateBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    expiring = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule}

    assert expiring == {"texts/": 90, "pages/": 30}
    assert DERIVED_AGE_S == 30 * 86_400


def test_every_table_is_retained_and_what_may_not_be_lost_can_be_restored(resources: dict[str, Resource]) -> None:
    for name in of_type(resources, "AWS::DynamoDB::Table"):
        table = resources[name]
        assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == RETAINED, name
        assert ("PointInTimeRecoverySpecification" in table["Properties"]) == (name == "RegistryTable"), name
        assert table["Properties"]["TimeToLiveSpecification"]["AttributeName"] == "expires_at", name


def test_the_buckets_name_does_not_depend_on_the_queue_that_its_events_go_to(resources: dict[str, Resource]) -> None:
    name = resources["DocumentBucket"]["Properties"]["BucketName"]
    statement = resources["IngestQueuePolicy"]["Properties"]["PolicyDocument"]["Statement"][0]

    assert statement["Condition"]["ArnEquals"]["aws:SourceArn"] == {
        "Fn::Sub": "arn:${AWS::Partition}:s3:::" + name["Fn::Sub"]
    }
    assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}


def test_every_route_names_its_method(resources: dict[str, Resource]) -> None:
    for name, function in of_type(resources, "AWS::Serverless::Function").items():
        for event in function.get("Events", {}).values():
            if event["Type"] == "Api":
                assert event["Properties"]["Method"] in METHODS, name


def test_a_function_of_the_api_ends_before_the_gateway_gives_up(resources: dict[str, Resource]) -> None:
    condition, streamed_s, buffered_s = resources["GenerateFunction"]["Properties"]["Timeout"]["Fn::If"]

    assert condition == "StreamsResponses"
    whole = [resources[name]["Properties"]["Timeout"] for name in ("QueryFunction", "McpFunction")]
    assert max(*whole, buffered_s) <= 29
    for path in STREAMED:
        integration = resources["Api"]["Properties"]["DefinitionBody"]["paths"][path]["post"][INTEGRATION]
        assert integration["timeoutInMillis"] == {"Fn::If": ["StreamsResponses", streamed_s * 1_000, 29_000]}


def test_each_function_logs_to_a_group_that_forgets_after_thirty_days(resources: dict[str, Resource]) -> None:
    groups = of_type(resources, "AWS::Logs::LogGroup")

    for name, function in of_type(resources, "AWS::Serverless::Function").items():
        assert groups[function["LoggingConfig"]["LogGroup"]["Ref"]]["RetentionInDays"] == 30, name


def test_the_gateways_own_errors_have_the_apis_error_body(resources: dict[str, Resource]) -> None:
    for kind, response in resources["Api"]["Properties"]["GatewayResponses"].items():
        body = yaml.safe_load(
            response["ResponseTemplates"]["application/json"].replace("$context.error.messageString", '"m"')
        )
        assert set(body) == {"error"}, kind
        assert set(body["error"]) == {"code", "message", "details", "request_id"}, kind


def test_a_failed_call_of_a_function_is_reported_as_a_failure_and_may_be_tried_again(
    resources: dict[str, Resource],
) -> None:
    responses = resources["Api"]["Properties"]["GatewayResponses"]

    assert "INTEGRATION_FAILURE" not in responses, "it has no status: DEFAULT_5XX reports it"
    assert '"retryable":true' in responses["DEFAULT_5XX"]["ResponseTemplates"]["application/json"]
    assert responses["THROTTLED"]["StatusCode"] == 429


def test_web_pages_may_read_the_gateways_own_errors_where_they_may_call_it(resources: dict[str, Resource]) -> None:
    for kind, response in resources["Api"]["Properties"]["GatewayResponses"].items():
        allowed = response["ResponseParameters"]["Headers"]["Access-Control-Allow-Origin"]
        assert allowed == {"Fn::If": ["HasCorsOrigins", "'*'", {"Ref": "AWS::NoValue"}]}, kind


def test_web_pages_that_may_call_the_api_may_send_upload_forms_to_the_bucket(resources: dict[str, Resource]) -> None:
    own, configured = resources["DocumentBucket"]["Properties"]["CorsConfiguration"]["CorsRules"]
    condition, rule, _ = configured["Fn::If"]

    assert condition == "HasCorsOrigins"
    assert (own["AllowedMethods"], rule["AllowedMethods"]) == (["POST"], ["POST"])
    assert own["AllowedOrigins"] == [{"Fn::Sub": "https://*.execute-api.${AWS::Region}.${AWS::URLSuffix}"}]
    assert rule["AllowedOrigins"] == {"Fn::Split": [",", {"Ref": "CorsAllowOrigins"}]}


def test_access_logs_hold_no_query_strings_and_are_forgotten(resources: dict[str, Resource]) -> None:
    condition, setting, _ = resources["Api"]["Properties"]["AccessLogSetting"]["Fn::If"]

    assert condition == resources["AccessLogGroup"]["Condition"] == "HasAccessLogs"
    assert resources["AccessLogGroup"]["Properties"]["RetentionInDays"] == 30
    assert not re.search(r"\$context\.(path|requestOverride|authorizer)|querystring|header", setting["Format"])


def test_a_rate_rule_refuses_floods_of_one_address(template: Resource, resources: dict[str, Resource]) -> None:
    [rule] = resources["RateRule"]["Properties"]["Rules"]

    limit = {"Ref": "RateLimitPerAddress"}
    assert rule["Statement"]["RateBasedStatement"] == {"AggregateKeyType": "IP", "Limit": limit}
    assert rule["Action"] == {"Block": {}}
    assert template["Parameters"]["RateLimitPerAddress"]["Default"] == ""


def test_secrets_are_hidden_and_empty_unless_given(template: Resource) -> None:
    for name in ("ChatApiKey", "EmbeddingApiKey", "IndexPassword"):
        assert template["Parameters"][name]["NoEcho"] is True, name
        assert template["Parameters"][name]["Default"] == "", name


def test_what_the_functions_import_is_locked_with_hashes_and_without_boto3() -> None:
    for folder in ("layers/common/python", "functions/ingest", "functions/generate", "functions/mcp"):
        lock = f"{folder}/requirements.txt"
        lines = (REPOSITORY / lock).read_text("utf-8").splitlines()
        names = {line.partition("==")[0] for line in lines if "==" in line}
        assert names, lock
        assert names.isdisjoint({"boto3", "botocore"}), lock
        assert sum("--hash=" in line for line in lines) >= len(names), lock


MAX_VARIABLES_BYTES = 4_096  # of one function, Lambda's limit: names and values together
URL = "https://models.a-department.a-long-company-name.example/gateway/openai/deployments/v1"
SECRET = "arn:aws-us-gov:secretsmanager:us-gov-west-1:123456789012:secret:" + "a-long/name/of/a/secret" + "-AbCdEf"
LONG = {
    "URL": URL,
    "KEY": SECRET,
    "INDEX_PASSWORD": SECRET,
    "EMBEDDING_MODEL": "m" * 80,
    "CHAT_MODELS": "m" * 200,
    "JWT_ISSUER": URL,
    "JWT_AUDIENCE": URL,
    "CORS_ALLOW_ORIGINS": ",".join(f"https://an-application-{number}.example.com" for number in range(8)),
    "BUCKET": "b" * 63,
    "TABLE": f"{'s' * 25}-TelemetryTable-{'A' * 13}",
    "QUEUE_URL": "https://sqs.us-gov-west-1.amazonaws.com/123456789012/" + "q" * 80,
}


def test_the_variables_of_a_function_fit_lambdas_four_kilobytes_with_long_values(template: Resource) -> None:
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    size = 0
    for name in variables:
        longest = max((len(value) for end, value in LONG.items() if name.endswith(end)), default=50)
        size += len(name) + longest

    assert size <= MAX_VARIABLES_BYTES


def test_s3_stores_versions_for_as_long_as_the_api_offers_them(template: Resource) -> None:
    assert template["Parameters"]["RetentionDays"]["MinValue"] * 86_400 == RETENTION_S
    assert RETENTION.total_seconds() == RETENTION_S
