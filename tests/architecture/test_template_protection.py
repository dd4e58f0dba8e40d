"""A key, a network and a firewall of the operator's: all or nothing of each, by parameter."""

from __future__ import annotations

import json
from typing import Any

from tests.architecture.cloudformation import MODELS, Resource, of_type, read_template

KEY, NOTHING = {"Ref": "KmsKeyArn"}, {"Ref": "AWS::NoValue"}


def with_and_without(value: Any, condition: str) -> tuple[Any, Any]:
    """What an `!If` of *condition* gives in each case."""
    name, then, otherwise = value["Fn::If"]
    assert name == condition
    return then, otherwise


def test_without_parameters_nothing_of_it_is_there(template: Resource) -> None:
    for name in ("KmsKeyArn", "VpcSubnetIds", "VpcSecurityGroupIds", "WebAclArn"):
        assert template["Parameters"][name]["Default"] == "", name
    for name, condition in (("KmsKeyPolicy", "HasKmsKey"), ("NetworkPolicy", "HasVpc"), ("Firewall", "HasWebAcl")):
        assert template["Resources"][name]["Condition"] == condition


def test_the_key_encrypts_whatever_keeps_documents_or_messages(resources: dict[str, Resource]) -> None:
    for bucket in of_type(resources, "AWS::S3::Bucket").values():
        (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        with_key, without = with_and_without(rule["ServerSideEncryptionByDefault"], "HasKmsKey")
        assert (with_key, without) == ({"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}, {"SSEAlgorithm": "AES256"})
    for table in of_type(resources, "AWS::DynamoDB::Table").values():
        with_key, without = with_and_without(table["SSESpecification"], "HasKmsKey")
        assert with_key == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
        assert without == NOTHING
    for queue in of_type(resources, "AWS::SQS::Queue").values():
        assert with_and_without(queue["KmsMasterKeyId"], "HasKmsKey") == (KEY, NOTHING)
        assert with_and_without(queue["SqsManagedSseEnabled"], "HasKmsKey") == (NOTHING, True)
    domain = resources["IndexDomain"]["Properties"]["EncryptionAtRestOptions"]
    assert domain["Enabled"] is True
    assert with_and_without(domain["KmsKeyId"], "HasKmsKey") == (KEY, NOTHING)


def test_every_function_may_use_the_key_and_no_other(resources: dict[str, Resource]) -> None:
    policy = resources["KmsKeyPolicy"]["Properties"]
    (statement,) = policy["PolicyDocument"]["Statement"]

    assert {role["Ref"] for role in policy["Roles"]} == set(of_type(resources, "AWS::IAM::Role")) - MODELS
    assert (statement["Action"], statement["Resource"]) == (["kms:Decrypt", "kms:GenerateDataKey"], KEY)


def test_managed_policies_are_for_what_has_no_narrower_resource_and_their_network_is_not_the_codes(
    template: Resource, resources: dict[str, Resource]
) -> None:
    placed, nowhere = with_and_without(template["Globals"]["Function"]["VpcConfig"], "HasVpc")
    (denied,) = resources["NetworkPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    functions = set(of_type(resources, "AWS::Serverless::Function")) - MODELS
    roles = of_type(resources, "AWS::IAM::Role")

    assert placed == {"SubnetIds": {"Ref": "VpcSubnetIds"}, "SecurityGroupIds": {"Ref": "VpcSecurityGroupIds"}}
    assert nowhere == NOTHING
    for name in roles.keys() - MODELS:
        managed = {each["Fn::If"][0]: each["Fn::If"][1:] for each in roles[name]["ManagedPolicyArns"]}
        assert set(managed) == {"HasVpc", "HasTracing"}, name
        for condition, policy in (
            ("HasVpc", "AWSLambdaENIManagementAccess"),
            ("HasTracing", "AWSXRayDaemonWriteAccess"),
        ):
            given, none = managed[condition]
            assert given["Fn::Sub"].startswith("arn:${AWS::Partition}:iam::aws:policy/"), name
            assert (given["Fn::Sub"].rpartition("/")[2], none) == (policy, NOTHING), name
    assert denied["Effect"] == "Deny"
    sources = denied["Condition"]["ArnEquals"]["lambda:SourceFunctionArn"]
    assert {source["Fn::GetAtt"].removesuffix(".Arn") for source in sources} == functions


def test_traces_are_taken_by_a_layer_of_aws_where_its_parameter_names_one(template: Resource) -> None:
    function = template["Globals"]["Function"]

    assert template["Parameters"]["TracingLayerArn"]["Default"] == ""
    assert function["Layers"][1] == {"Fn::If": ["HasTracing", {"Ref": "TracingLayerArn"}, NOTHING]}
    assert function["Tracing"] == {"Fn::If": ["HasTracing", "Active", NOTHING]}
    assert function["Environment"]["Variables"]["TRACING"] == {"Fn::If": ["HasTracing", "true", "false"]}


def test_the_firewall_stands_before_the_apis_stage(resources: dict[str, Resource]) -> None:
    firewall = resources["Firewall"]["Properties"]

    assert firewall["WebACLArn"] == {"Ref": "WebAclArn"}
    assert firewall["ResourceArn"]["Fn::Sub"].endswith("::/restapis/${Api}/stages/${Api.Stage}")


def test_copies_of_the_backup_are_locked_for_a_week_and_no_function_may_touch_them(template: Resource) -> None:
    backup = read_template("templates/backup.yaml")["Resources"]
    [copied] = [each for each in backup.values() if each["Type"] == "AWS::Backup::BackupSelection"]

    assert backup["Vault"]["Properties"]["LockConfiguration"]["MinRetentionDays"] >= 7
    assert len(copied["Properties"]["BackupSelection"]["Resources"]) == 2
    assert "backup:" not in json.dumps(template["Resources"])
