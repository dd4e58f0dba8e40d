"""The stack's own OpenSearch domain: only if it is requested, encrypted, retained, closed to all but the functions."""

import tomllib

import pytest

from localstack.home import REPOSITORY
from ragdrop.config import BUCKET_URL
from tests.architecture.cloudformation import Resource, allowed_statements, listed, roles_of

SAMCONFIG = tomllib.loads((REPOSITORY / "samconfig.toml").read_text("utf-8"))
MAY_POST = {"_msearch", "_count", "_refresh", "_delete_by_query"}  # to search and to remove; writing is `_bulk`


def test_the_domain_is_made_only_if_it_is_requested_and_is_then_retained(
    template: Resource, resources: dict[str, Resource]
) -> None:
    parameter = template["Parameters"]["OpenSearchDomain"]
    domain = resources["IndexDomain"]

    assert parameter["Default"] == "none"
    assert parameter["AllowedValues"] == ["none", "single-node", "multi-az"]
    assert domain["Condition"] == "HasDomain"
    assert (domain["DeletionPolicy"], domain["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    for name, resource in resources.items():
        if "IndexDomain" in str(resource) and name != "IndexDomain":
            assert resource["Condition"] == "HasDomain", name


def test_the_domain_is_encrypted_everywhere_and_reached_by_modern_tls_only(resources: dict[str, Resource]) -> None:
    domain = resources["IndexDomain"]["Properties"]

    assert domain["EncryptionAtRestOptions"]["Enabled"] is True
    assert domain["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert domain["DomainEndpointOptions"]["EnforceHTTPS"] is True
    assert domain["DomainEndpointOptions"]["TLSSecurityPolicy"].startswith("Policy-Min-TLS-1-2")


def test_the_domain_lies_in_the_functions_network_where_they_have_one(resources: dict[str, Resource]) -> None:
    condition, network, outside = resources["IndexDomain"]["Properties"]["VPCOptions"]["Fn::If"]

    assert (condition, outside) == ("HasVpc", {"Ref": "AWS::NoValue"})
    assert network["SecurityGroupIds"] == {"Ref": "VpcSecurityGroupIds"}
    several, one = network["SubnetIds"]["Fn::If"][1:]
    assert (several, one) == ({"Ref": "VpcSubnetIds"}, [{"Fn::Select": [0, {"Ref": "VpcSubnetIds"}]}])


def test_several_zones_mean_a_node_in_each_of_three(resources: dict[str, Resource]) -> None:
    cluster = resources["IndexDomain"]["Properties"]["ClusterConfig"]

    assert cluster["InstanceCount"] == {"Fn::If": ["DomainIsMultiAz", 3, 1]}
    assert cluster["ZoneAwarenessEnabled"] == {"Fn::If": ["DomainIsMultiAz", True, False]}
    assert cluster["ZoneAwarenessConfig"]["Fn::If"][1] == {"AvailabilityZoneCount": 3}


def test_the_domain_admits_the_functions_roles_alone_and_only_ingest_and_sweep_write(
    resources: dict[str, Resource],
) -> None:
    writing = {"es:ESHttpPut", "es:ESHttpDelete"}
    for statement in resources["IndexDomain"]["Properties"]["AccessPolicies"]["Statement"]:
        actions = set(listed(statement["Action"]))
        roles = {role["Fn::GetAtt"] for role in listed(statement["Principal"]["AWS"])}
        assert statement["Effect"] == "Allow"
        assert roles <= {f"{name}Role.Arn" for name in ("Ingest", "Query", "Generate", "Mcp", "Sweep")}
        assert all(action.startswith("es:ESHttp") and "*" not in action for action in actions)
        resources_named = [resource["Fn::Sub"] for resource in listed(statement["Resource"])]
        assert all(name.startswith("arn:${AWS::Partition}:es:") for name in resources_named)
        if roles != {"IngestRole.Arn", "SweepRole.Arn"}:
            assert not writing & actions
            paths = {name.rpartition("/")[2] for name in resources_named}
            assert "es:ESHttpPost" not in actions or paths <= MAY_POST
            assert "GenerateRole.Arn" not in roles or not paths & {"_refresh", "_delete_by_query"}


def test_the_domain_admits_each_role_to_what_the_roles_own_policies_allow(resources: dict[str, Resource]) -> None:
    admitted = {
        (role["Fn::GetAtt"].removesuffix(".Arn"), action, place["Fn::Sub"].partition("-index")[2])
        for statement in resources["IndexDomain"]["Properties"]["AccessPolicies"]["Statement"]
        for role in listed(statement["Principal"]["AWS"])
        for action in listed(statement["Action"])
        for place in listed(statement["Resource"])
    }
    allowed = {
        (role, action, place["Fn::Sub"].removeprefix("${IndexDomain.Arn}"))
        for name, statement in allowed_statements(resources)
        for role in roles_of(resources, name)
        for action in listed(statement["Action"])
        for place in listed(statement["Resource"])
        if action.startswith("es:")
    }

    assert admitted == allowed


def test_without_an_index_parameter_the_bucket_index_is_deployed_and_a_domain_goes_before_it(
    template: Resource,
) -> None:
    chosen, domain, named = template["Globals"]["Function"]["Environment"]["Variables"]["INDEX_URL"]["Fn::If"]

    assert (chosen, domain) == ("HasDomain", {"Fn::Sub": "https://${IndexDomain.DomainEndpoint}"})
    assert named == {"Ref": "IndexUrl"}
    assert template["Parameters"]["IndexUrl"]["Default"] == BUCKET_URL
    assert template["Rules"]["OneIndex"]["Assertions"]


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_no_profile_of_the_guide_names_an_index(environment: str) -> None:
    overrides = " ".join(SAMCONFIG[environment]["deploy"]["parameters"]["parameter_overrides"])

    assert "Index" not in overrides
    assert "OpenSearch" not in overrides
