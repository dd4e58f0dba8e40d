"""How the laptop's OpenSearch node finds what it needs, and what it says where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from localstack.opensearch import UnavailableError, start
from localstack.opensearch.assembly import RELEASES, find_java, reachable_by_all
from localstack.opensearch.node import folders

WHOLE = "java.base jdk.localedata jdk.incubator.vector"


def jdk(folder: Path, version: str, modules: str = WHOLE) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return folder


def found(tmp_path: Path, **environ: str) -> Path:
    return find_java(21, environ | {"PATH": ""}, any_user=False, places=[f"{tmp_path}/*"])


def test_the_newest_jdk_of_the_usual_places_is_taken(tmp_path: Path) -> None:
    for version in ("17.0.15", "25.0.1", "21.0.2"):
        jdk(tmp_path / version, version)

    assert found(tmp_path) == tmp_path / "25.0.1"


def test_java_home_comes_first_if_it_will_do(tmp_path: Path) -> None:
    for version in ("17.0.15", "25.0.1", "21.0.2"):
        jdk(tmp_path / version, version)

    assert found(tmp_path, JAVA_HOME=str(tmp_path / "21.0.2")) == tmp_path / "21.0.2"
    assert found(tmp_path, JAVA_HOME=str(tmp_path / "17.0.15")) == tmp_path / "25.0.1"


def test_a_jdk_that_is_too_old_is_named_with_the_version_that_is_needed(tmp_path: Path) -> None:
    jdk(tmp_path / "seventeen", "17.0.15")

    with pytest.raises(UnavailableError, match=r"full JDK 21 or newer.*seventeen: is Java 17"):
        found(tmp_path)


def test_a_java_without_locale_data_is_passed_over(tmp_path: Path) -> None:
    jdk(tmp_path / "small", "25.0.1", "java.base jdk.incubator.vector")

    with pytest.raises(UnavailableError, match=r"cut down \(jdk.localedata is missing\)"):
        found(tmp_path)


def test_a_jdk_that_only_its_owner_may_enter_is_no_use_to_a_node_of_another_user(tmp_path: Path) -> None:
    jdk(tmp_path / "closed" / "jdk", "25.0.1")
    (tmp_path / "closed").chmod(0o700)

    with pytest.raises(UnavailableError, match="only its owner may enter"):
        find_java(21, {"PATH": ""}, any_user=True, places=[f"{tmp_path}/closed/*"])


def test_a_node_that_is_given_is_taken_as_it_is(tmp_path: Path) -> None:
    node = start(tmp_path, environ={"OPENSEARCH_URL": "http://127.0.0.1:9200/"})

    assert (node.url, node.pid) == ("http://127.0.0.1:9200", None)


def test_where_nothing_will_do_every_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # neither mvn nor docker
    java = jdk(tmp_path / "jdk", "25.0.1")
    home = tmp_path / "home"
    for folder in tmp_path.parents[:2]:
        folder.chmod(0o755)
    tmp_path.chmod(0o755)

    with pytest.raises(UnavailableError) as raised:
        start(home, environ={"JAVA_HOME": str(java), "PATH": ""}, programs=tmp_path / "programs")

    assert "`mvn` (Maven) is needed" in str(raised.value)
    assert "`docker info`" in str(raised.value)
    assert "OPENSEARCH_URL" in str(raised.value)


def test_two_homes_are_two_clusters(tmp_path: Path) -> None:
    one, other = (folders(tmp_path / name, tmp_path / "programs") for name in ("one", "other"))

    assert one.cluster != other.cluster
    assert one.node != other.node


def test_a_folder_below_a_closed_one_is_not_reachable_by_all(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)

    assert not reachable_by_all(tmp_path / "closed" / "inside")


@pytest.mark.parametrize("version", sorted(RELEASES))
def test_the_plugin_fits_its_server_exactly(version: str) -> None:
    release = RELEASES[version]

    assert {artifact.rpartition(":")[2] for _, artifact in release.plugins} == {f"{release.version}.0"}
    assert all(artifact.count(":") == 2 for artifact in RELEASES[version].server)
