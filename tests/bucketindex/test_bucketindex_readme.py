"""The README of the bucket index: what it shows runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "layers/common/python/bucketindex/README.md"


def test_the_example_finds_its_chunk_by_words_and_by_vector(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)

    exec(compile(example, str(README), "exec"), {})  # noqa: S102 - the README is ours

    assert capsys.readouterr().out == "The pump's code: QX-55 0.99\n"
