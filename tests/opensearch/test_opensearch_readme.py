"""The README of the OpenSearch engine: what it shows runs, against a real node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract.opensearch_node import opensearch_url

README = Path(__file__).parents[2] / "layers/common/python/ragdrop_opensearch/README.md"


def test_the_example_finds_its_chunk_by_words_and_by_vector(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    example = example.replace("http://127.0.0.1:9200", opensearch_url())

    exec(compile(example, str(README), "exec"), {})  # noqa: S102 - the README is ours

    assert capsys.readouterr().out == "The pump's code: QX-55 0.99\n"
