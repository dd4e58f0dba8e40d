"""Find retired words in code, logs, errors, help and pages: `python -m checks.words [PATH ...]` lists them.

A reader knows the field's word for a thing and meets it here: RETIRED has the word to write in place of each.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RETIRED = {
    "anew": "again",
    "as it stands": "unchanged, or the present one",
    "bury": "tombstone",
    "buried": "tombstoned",
    "by itself": "alone, automatically",
    "converge": "reconcile",
    "converges": "reconciles",
    "firsts": "first chunks",
    "goes on": "continues",
    "held": "cached (in memory), stored (durable)",
    "kept": "cached (in memory), stored (durable)",
    "look at again": "recheck",
    "looked at again": "rechecked",
    "of its own": "own, separate",
    "remembered": "cached, stored",
    "remembers": "caches, stores",
    "so much that": "rewrite the sentence",
    "tells": "returns, reports, logs",
    "told": "returned, reported, logged",
    "wanted": "requested, required",
    "words alone": "lexical only",
}
# Names of public fields and stored keys, warnings that people have seen, and what a page quotes of a record.
DATA = {
    "docs/api.md": {"held", "kept"},
    "docs/evidence/formats-outcomes.md": {"kept"},
    "docs/evidence/performance.md": {"kept", "words alone", "wanted"},
    "docs/evidence/quality.md": {"kept", "words alone", "converges"},
    "layers/common/python/ragdrop/api/shapes/search_shapes.py": {"kept"},
    "layers/common/python/ragdrop/domain/retrieval.py": {"kept"},
    "layers/common/python/ragdrop/prompts/system.j2": {"as it stands"},
    "layers/common/python/ragdrop/query/explain.py": {"kept"},
    "layers/common/python/ragdrop/tables/vocabulary.py": {"held", "kept"},
    "layers/common/python/ragdrop/query/search.py": {"words alone"},
    "layers/common/python/ragdrop/tenants/sign_in.py": {"held"},
    "layers/common/python/readers/outlook.py": {"kept"},
    "layers/common/python/readers/pages/pdf.py": {"kept"},
    "layers/common/python/readers/records.py": {"kept"},
    "pages/recording.py": {"kept"},
}
FOLDERS = ("layers", "functions", "cli", "localstack", "checks", "pages", "benchmarks", "testing", "tests", "docs")
SINGLE = ("README.md", "CONTRIBUTING.md", "template.yaml", "Makefile")
THE_RULE = {"checks/words.py", "tests/architecture/test_words.py"}
SAMPLES = (  # documents
    "localstack/sample-vault/",
    "benchmarks/own_words/",
    "tests/integration/golden/",
    "tests/table_set/files/",
    "tests/table_set/second/files/",
    "tests/table_set/third/files/",
    "tests/table_set/fourth/files/",
    "tests/table_set/fifth/files/",
    "tests/table_set/sixth/files/",
    "tests/table_set/seventh/files/",
)

_ANY = re.compile(r"\b(" + "|".join(re.escape(word) for word in sorted(RETIRED, key=len, reverse=True)) + r")\b", re.I)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a retired word: the file, the line from 1 on, and the word."""

    path: str
    line: int
    word: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word!r} -> {RETIRED[self.word]}"


def uses_in_code(path: str, source: str) -> Iterator[Use]:
    """The retired words in identifiers, comments and strings of Python *source*; of tests in names and comments alone.

    >>> [str(use) for use in uses_in_code("a.py", "wanted_size = 1  # told by the caller")]
    ["a.py:1: 'wanted' -> requested, required", "a.py:1: 'told' -> returned, reported, logged"]
    """
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        named, before = before in {"def", "class"}, token.string
        if path.startswith(("tests/", "testing/")) and not (named or token.type == tokenize.COMMENT):
            continue  # of a test its name is read; its variables and texts are its own
        text = _CAMEL.sub(" ", token.string) if token.type == tokenize.NAME else token.string
        for number, line in enumerate(text.split("\n")):
            yield from _uses(path, token.start[0] + number, line)


def uses_in_prose(path: str, text: str) -> Iterator[Use]:
    """The retired words of a page, code left out."""
    text = _CODE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), start=1):
        yield from _uses(path, number, line)


def _uses(path: str, line: int, text: str) -> Iterator[Use]:
    for found in _ANY.finditer(text):
        if (word := found[1].casefold()) not in DATA.get(path, ()):
            yield Use(path, line, word)


def uses(paths: list[str]) -> list[Use]:
    """All uses in the files of the repository below *paths*."""
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, check=True)  # noqa: S603, S607
    found: list[Use] = []
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name in THE_RULE or name.startswith(SAMPLES) or not path.is_file():
            continue
        if path.suffix == ".py":
            found += uses_in_code(name, path.read_text("utf-8"))
        elif path.suffix in {".md", ".yaml", ".j2"} or path.name == "Makefile":
            found += uses_in_prose(name, path.read_text("utf-8"))
    return found


def main(paths: list[str]) -> int:
    """Print the uses below *paths*, all of the repository's if none is given; 1 if there are any."""
    found = uses(paths or [*FOLDERS, *SINGLE])
    for use in found:
        print(use)  # noqa: T201
    print(f"{len(found)} uses of retired words")  # noqa: T201
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
