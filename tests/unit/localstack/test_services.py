"""An emulator that somebody else started: by which variables it is found, and what is said where it does not do."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import botocore.exceptions
import pytest
import yaml

from localstack.deploy import Emulated
from localstack.home import REPOSITORY
from localstack.launch_options import home_for, named_emulator, read_launch_options, stack_name_of, without_own
from localstack.processes import LaunchError
from localstack.services import PROBES, aws_environment, emulator, probed

# By the first words of a resource's type, the service that makes it.
SERVICE_OF = {
    "ApiGateway": "apigateway",
    "CloudFormation": "cloudformation",
    "CloudWatch": "cloudwatch",
    "DynamoDB": "dynamodb",
    "IAM": "iam",
    "Lambda": "lambda",
    "Logs": "logs",
    "S3": "s3",
    "SQS": "sqs",
}


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:4599/", "EDGE_PORT": "1"}, "http://127.0.0.1:4599"),
        ({"LOCALSTACK_HOST": "localhost.localstack.cloud"}, "http://localhost.localstack.cloud:4566"),
        ({"LOCALSTACK_HOST": "emulator", "EDGE_PORT": "4599"}, "http://emulator:4599"),
        ({"LOCALSTACK_HOST": "emulator:4510", "EDGE_PORT": "4599", "USE_SSL": "1"}, "https://emulator:4510"),
        ({"LOCALSTACK_HOSTNAME": "emulator"}, "http://emulator:4566"),
        ({"EDGE_PORT": " 4599 "}, "http://localhost:4599"),
        ({"AWS_ENDPOINT_URL": "", "LOCALSTACK_HOST": " "}, None),
        ({}, None),
    ],
)
def test_an_emulator_is_found_by_the_variables_that_its_users_set(
    environment: Mapping[str, str], url: str | None
) -> None:
    assert named_emulator(environment) == url


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"AWS_ENDPOINT_URL": "localhost:4566"}, "AWS_ENDPOINT_URL is 'localhost:4566'.*http://HOST:PORT"),
        ({"LOCALSTACK_HOST": "emulator:port"}, "LOCALSTACK_HOST is 'emulator:port'"),
        ({"EDGE_PORT": "70000"}, "EDGE_PORT is '70000'"),
        ({"AWS_ENDPOINT_URL": "https://sqs.eu-central-1.amazonaws.com"}, "is AWS itself.*unset AWS_ENDPOINT_URL"),
        ({"AWS_ENDPOINT_URL": "https://s3.cn-north-1.amazonaws.com.cn"}, "is AWS itself"),
    ],
)
def test_a_variable_that_names_no_emulator_is_refused_by_name(environment: Mapping[str, str], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        named_emulator(environment)


def test_an_emulator_of_make_up_is_not_foreign_whatever_it_is_called() -> None:
    named = {"EDGE_PORT": "4566", "PATH": "/bin"}

    assert without_own(named, {4566}) == {"PATH": "/bin"}
    assert without_own(named, {4567}) == named
    assert without_own({"AWS_ENDPOINT_URL": "http://elsewhere:4566"}, {4566}) != {}


def test_a_foreign_emulator_has_its_own_stack_for_each_index(tmp_path: Path) -> None:
    by_port, by_url, another = {"EDGE_PORT": "4599"}, {"AWS_ENDPOINT_URL": "http://127.0.0.1:4599"}, {"EDGE_PORT": "1"}
    homes = [home_for(tmp_path, each, index="bucket") for each in ({}, by_port, by_url, another)]
    on_opensearch = home_for(tmp_path, by_port, index="opensearch")

    assert homes[1] == homes[2]
    assert len({home.root for home in homes}) == 3
    assert stack_name_of(homes[1]) != stack_name_of(on_opensearch)
    assert len(stack_name_of(home_for(tmp_path, by_port | {"RAGDROP_LOCAL_MODEL": "ocr"}, index="opensearch"))) <= 25


def test_without_a_health_page_each_service_is_asked_by_a_call_that_only_reads() -> None:
    called: list[str] = []

    class Client:
        def __init__(self, service: str) -> None:
            self.service = service

        def close(self) -> None:
            """Nothing is open."""

        def __getattr__(self, call: str) -> Any:
            def answer() -> None:
                called.append(f"{self.service}.{call}")
                if self.service == "sqs":
                    raise botocore.exceptions.ClientError({"Error": {"Code": "NotImplemented"}}, call)
                if self.service == "sts":
                    raise botocore.exceptions.EndpointConnectionError(endpoint_url="http://h")

            return answer

    assert probed(Client, PROBES) == PROBES.keys() - {"sqs", "sts"}
    assert called == [f"{service}.{call}" for service, call in PROBES.items()]
    assert [call for call in PROBES.values() if not call.startswith(("get_", "list_", "describe_"))] == []


def test_what_is_asked_of_an_emulator_is_what_the_template_is_made_of() -> None:
    class Loader(yaml.SafeLoader):
        """Reads a template's plain parts."""

    Loader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)
    files = [REPOSITORY / "template.yaml", REPOSITORY / "templates/monitoring.yaml"]
    resources = [
        each
        for file in files
        for each in yaml.load(file.read_text("utf-8"), Loader)["Resources"].values()  # noqa: S506 - a safe loader
        if "Condition" not in each
    ]
    kinds = {each["Type"].split("::")[1] for each in resources} - {"Serverless"}

    assert {SERVICE_OF[kind] for kind in kinds} <= PROBES.keys()
    assert any("Schedule" in str(each) for each in resources)
    assert "events" in PROBES


def test_clients_of_an_emulator_go_to_it_whatever_the_process_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    emulated = Emulated("http://127.0.0.1:4599", aws_environment("http://127.0.0.1:4599"))
    with contextlib.closing(emulated.client("s3")) as client:
        assert client.meta.endpoint_url == "http://127.0.0.1:4599"


def test_servers_listen_on_the_loopback_unless_containers_are_to_reach_them(tmp_path: Path) -> None:
    home = home_for(tmp_path, {}, index="bucket")
    everywhere = read_launch_options({"RAGDROP_BIND": "0.0.0.0"}, index="bucket").bind

    assert emulator(home, 4599).environment["BIND_HOST"] == "127.0.0.1"
    assert emulator(home, 4599, bind=everywhere).environment["BIND_HOST"] == "0.0.0.0"
    assert emulator(home, 4599, bind=everywhere).health.startswith("http://127.0.0.1:4599/")
    with pytest.raises(LaunchError, match=r"RAGDROP_BIND is '172\.17\.0\.1'"):
        read_launch_options({"RAGDROP_BIND": "172.17.0.1"}, index="bucket")
