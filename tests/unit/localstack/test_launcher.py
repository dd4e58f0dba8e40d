"""What the launcher decides before it starts anything: which stack, which port, which process is its own."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from localstack.deploy import defaults_of, deployment_digest
from localstack.home import SHARED, TEMPLATE, Home, homes, read_json, write_json
from localstack.launch_options import PASSED_ON, home_for, read_launch_options
from localstack.processes import LaunchError, Process, read_process, start_time
from localstack.services import move_queues, port_for

HOME = Home(Path("base"), "bucket")


def parameters_for(environment: dict[str, str], *, index: str = "bucket") -> dict[str, str]:
    options = read_launch_options(environment, index=index)
    return options.parameters(
        index_url=options.index_url or "http://127.0.0.1:9",
        embedding_url=options.embedding_url or "local-embedding",
        chat_url=options.chat_url or "local-chat",
    )


def test_with_nothing_asked_for_everything_is_local() -> None:
    parameters = parameters_for({})

    assert parameters["IndexUrl"] == "s3://"
    assert parameters["EmbeddingUrl"] == "local-embedding"
    assert parameters["EmbeddingDimension"] == "384"
    assert parameters["ChatUrl"] == "local-chat"


def test_a_named_model_service_takes_the_place_of_the_local_one() -> None:
    parameters = parameters_for({"CHAT_URL": "http://c/v1", "CHAT_MODELS": "mistral", "CHAT_API_KEY": "k"})

    assert [parameters[name] for name in ("ChatUrl", "ChatModels", "ChatApiKey")] == ["http://c/v1", "mistral", "k"]


def test_what_an_earlier_start_was_given_is_taken_back() -> None:
    defaults = defaults_of(TEMPLATE.read_text("utf-8"))

    assert {name for name in PASSED_ON.values() if name not in defaults} <= set(parameters_for({}))
    assert defaults["ChatApiKey"] == ""
    assert defaults["CorsAllowOrigins"] == ""


def test_settings_that_are_no_parameters_go_into_the_document() -> None:
    options = read_launch_options({"BREAKER_OPEN_S": "3", "CHAT_PRICES": '{"a": [1, 2]}', "FUSION": ""}, index="bucket")

    assert {name: value for name, value in options.document().items() if name != "embedding_tokenizer"} == {
        "breaker_open_s": 3.0,
        "chat_prices": {"a": [1, 2]},
    }
    with pytest.raises(LaunchError, match=r'RETRY_ATTEMPTS: "99" is not allowed \(a whole number from 1 to 10\)'):
        read_launch_options({"RETRY_ATTEMPTS": "99"}, index="bucket")


def test_saved_queues_get_their_addresses_on_the_port_in_force(tmp_path: Path) -> None:
    home = Home(tmp_path, "bucket")
    saved = home.emulator / "state/sqs.json"
    saved.parent.mkdir(parents=True)
    saved.write_text('{"http://127.0.0.1:4566/000000000000/q": "see http://127.0.0.1:4566/other"}')

    move_queues(home, 9_999)

    assert saved.read_text() == '{"http://127.0.0.1:9999/000000000000/q": "see http://127.0.0.1:4566/other"}'


def test_a_model_service_without_what_must_be_known_of_it_is_refused_by_name() -> None:
    with pytest.raises(LaunchError, match="EMBEDDING_DIMENSION must be set"):
        read_launch_options({"EMBEDDING_URL": "http://e/v1", "EMBEDDING_MODEL": "m"}, index="bucket")


@pytest.mark.parametrize(
    ("environment", "served"),
    [
        ({}, {"models": ("models", ["--embedding", "all-MiniLM-L6-v2", "--answerer"])}),
        ({"CHAT_URL": "http://c/v1"}, {"models": ("models", ["--embedding", "all-MiniLM-L6-v2"])}),
        ({"EMBEDDING_URL": "http://e/v1"}, {"models": ("models", ["--answerer"])}),
        ({"EMBEDDING_URL": "http://e/v1", "CHAT_URL": "http://c/v1"}, {}),
        (
            {"RAGDROP_LOCAL_MODEL": "multilingual"},
            {"models": ("multilingual", ["--embedding", "multilingual-e5-small", "--answerer"])},
        ),
        (
            {"RAGDROP_LOCAL_MODEL": "ocr", "EMBEDDING_URL": "http://e/v1"},
            {"models": ("models", ["--answerer"]), "ocr": ("ocr", ["--ocr"])},
        ),
    ],
)
def test_one_local_server_has_the_models_that_no_other_service_is_named_for(
    environment: dict[str, str], served: dict[str, tuple[str, list[str]]], tmp_path: Path
) -> None:
    known = {"EMBEDDING_MODEL": "m", "EMBEDDING_DIMENSION": "3", "CHAT_MODELS": "mistral"}

    options = replace(read_launch_options(environment | known, index="bucket"), reader=tmp_path)

    assert options.model_servers == served


def test_the_reader_is_served_where_its_model_is_there_reads_the_language_and_no_other_is_named(tmp_path: Path) -> None:
    environments: list[dict[str, str]] = [{}, {"READER_URL": "http://r/v1"}, {"RAGDROP_LOCAL_MODEL": "multilingual"}]
    options = [replace(read_launch_options(each, index="bucket"), reader=tmp_path) for each in environments]
    without = [each.serves_reader for each in options]
    (tmp_path / "reader.onnx").touch()

    assert without == [False, False, False]
    assert [each.serves_reader for each in options] == [True, False, False]
    assert options[0].model_servers["models"][1][-2:] == ["--reader", str(tmp_path)]
    assert all("--reader" not in each.model_servers["models"][1] for each in options[1:])


def test_models_in_the_stacks_function_need_no_server_and_no_address() -> None:
    options = read_launch_options({"RAGDROP_MODELS": "function"}, index="bucket")

    parameters = options.parameters(index_url="s3://", embedding_url="", chat_url="")

    assert (options.model_servers, options.serves_reader) == ({}, False)
    assert [parameters[name] for name in ("EmbeddingUrl", "ChatUrl", "ReaderUrl")] == ["", "", ""]


def test_a_model_that_is_named_does_not_run_in_the_function() -> None:
    environment = {"RAGDROP_MODELS": "function", "CHAT_URL": "http://c/v1", "CHAT_MODELS": "m", "READER_URL": "none"}

    parameters = parameters_for(environment)

    assert [parameters[name] for name in ("ChatUrl", "ReaderUrl")] == ["http://c/v1", "none"]


def test_a_local_model_that_the_function_does_not_have_is_refused() -> None:
    with pytest.raises(LaunchError, match="MODELS=function has the english model alone: leave MODEL out"):
        read_launch_options({"RAGDROP_MODELS": "function", "RAGDROP_LOCAL_MODEL": "multilingual"}, index="bucket")


def test_a_stack_with_a_model_server_makes_no_function() -> None:
    assert parameters_for({})["ReaderUrl"] == "none"


def test_opensearch_without_an_address_asks_for_its_own_node() -> None:
    assert read_launch_options({}, index="opensearch").index_url is None


def test_opensearch_takes_the_node_that_is_named() -> None:
    assert parameters_for({"OPENSEARCH_URL": "http://o:9200/"}, index="opensearch")["IndexUrl"] == "http://o:9200"


def test_a_node_that_is_named_means_nothing_to_the_bucket_index() -> None:
    assert parameters_for({"OPENSEARCH_URL": "http://o:9200"})["IndexUrl"] == "s3://"


def test_every_index_has_its_own_stack(tmp_path: Path) -> None:
    named = [{"OPENSEARCH_URL": url} for url in ("http://one:9200", "http://other:9200")]
    stacks = [home_for(tmp_path, each, index="opensearch").root for each in ({}, *named)]
    stacks.append(home_for(tmp_path, {}, index="bucket").root)

    assert len(set(stacks)) == 4
    assert home_for(tmp_path, named[0] | {"OPENSEARCH_URL": "http://one:9200/"}, index="opensearch").root == stacks[1]


def test_the_stacks_below_a_folder_are_found_again(tmp_path: Path) -> None:
    for name in ("opensearch", "bucket"):
        Home(tmp_path, name).make()

    assert [home.name for home in homes(tmp_path)] == ["bucket", "opensearch"]


def test_keys_and_documents_are_for_their_owner_alone(tmp_path: Path) -> None:
    home = Home(tmp_path, "bucket")
    home.make()
    write_json(home.stack_file, {"api_key": "k"})

    assert home.stack_file.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o077 for folder in (home.logs, home.emulator)} == {0}
    assert home.root.stat().st_mode & 0o077 == 0o011  # to be passed through by a node that runs as another user


def test_a_file_that_is_half_written_or_missing_reads_as_empty(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('{"a": ')

    assert read_json(tmp_path / "half.json") == read_json(tmp_path / "none.json") == {}


def test_a_process_is_known_again_by_its_start_and_a_pid_alone_is_nobodys() -> None:
    ours = Process("test", os.getpid(), start_time(os.getpid()) or "", 0)

    assert ours.running
    assert not Process("test", os.getpid(), "another start", 0).running
    assert read_process({**asdict(ours), "bind": "of an earlier version"}) == ours


def test_the_usual_port_is_for_the_default_stacks_alone() -> None:
    asked: list[tuple[int | None, ...]] = []

    def choose(*preferred: int | None) -> int:
        asked.append(preferred)
        return 1

    port_for("emulator", Home(SHARED, "bucket"), None, choose=choose)
    port_for("emulator", HOME, 5_000, choose=choose)

    assert asked == [(None, 4566), (5_000, None)]


def test_a_changed_parameter_or_build_is_deployed_again() -> None:
    same = deployment_digest("build", {"a": "1", "b": "2"})

    assert deployment_digest("build", {"b": "2", "a": "1"}) == same
    assert deployment_digest("build", {"a": "1", "b": "3"}) != same
    assert deployment_digest("other", {"a": "1", "b": "2"}) != same
