"""How clients of AWS are made: connections for every thread, and an SDK that has what is used."""

from __future__ import annotations

import tomllib

import pytest

from bucketindex import local_files
from ragdrop.errors import ConfigurationError
from ragdrop.past.as_of import AT_ONCE
from ragdrop.stores.aws.clients import SDK, check_sdk, config_of
from tests.stacks import REPOSITORY


@pytest.mark.parametrize("service", ["s3", "dynamodb", "sqs"])
def test_a_client_has_a_connection_for_each_thread_of_the_widest_pool(service: str) -> None:
    assert config_of(service).max_pool_connections >= 2 * max(AT_ONCE, local_files.PARALLEL)


@pytest.mark.parametrize("version", ["1.39.99", "0.99.0"])
def test_a_runtime_with_an_older_sdk_is_refused(version: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"boto3 {version} is older than 1\.40"):
        check_sdk(version)


def test_the_least_version_of_the_sdk_is_the_packages() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

    assert f"boto3>={SDK[0]}.{SDK[1]}" in extras["operator"]
