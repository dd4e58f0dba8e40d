"""Questions in users' own words beside other frameworks: the same files, questions, embedding model and node.

    RAGDROP_EVAL_DATA=… python -m benchmarks.peers_own_words [--write] [--vault NAME ...]

All 200 questions of `benchmarks/own_words.py`.  ragdrop takes part at its defaults and with `min_relevance` 0.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import records
from benchmarks.collections import Collection, needed_data
from benchmarks.embeddings import LocalEmbeddings, embedding_server
from benchmarks.own_words import VAULTS, AskedQuestion, documents_of, folder_of, whole_list
from benchmarks.peers.process import CONFIGURATIONS, running, shared_node, title
from benchmarks.pipeline import Pushed, pushed, soon
from benchmarks.records import Grid, publish
from ragdrop.domain.retrieval import Query

LIMIT = 10
COLUMNS = ("contender", "first", "among 3", *VAULTS)


def heading_of(text: str, path: str) -> str:
    r"""The first heading of a file, else its path.

    >>> heading_of("---\ntitle: x\n---\n# Pumps\n", "a.md"), heading_of("words", "a.md")
    ('Pumps', 'a.md')
    """
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), path)


def found_by_ragdrop(place: Pushed, questions: Sequence[str], **options: Any) -> list[list[str]]:
    return [
        [
            document.key.path
            for document in place.app.query.uncached_search(Query(text, **options), place.caller, soon()).documents
        ]
        for text in questions
    ]


def hits(found: Sequence[Sequence[str]], required: Sequence[AskedQuestion]) -> tuple[int, int]:
    """How many questions have a right document first, and among three.

    >>> hits([["a", "b"], ["c"], []], [AskedQuestion("?", (name,)) for name in "bcd"])
    (1, 2)
    """
    places = [
        next((at for at, path in enumerate(dict.fromkeys(paths)) if path in asked.right), None)
        for paths, asked in zip(found, required, strict=True)
    ]
    return sum(at == 0 for at in places), sum(at is not None and at < 3 for at in places)


def measure(vault: str, model: LocalEmbeddings, node: str, embeddings: str) -> dict[str, tuple[int, int]]:
    folder = folder_of(vault)
    assert folder is not None
    files, required = documents_of(folder), whole_list(vault)
    questions = [asked.text for asked in required]
    counted: dict[str, tuple[int, int]] = {}
    texts = {str(number): text for number, text in enumerate(questions)}
    with pushed(Collection(vault, files, texts, {}, {}), model) as place:
        counted["ragdrop"] = hits(found_by_ragdrop(place, questions), required)
        everything = found_by_ragdrop(place, questions, min_relevance=0.0)
        counted["ragdrop, `min_relevance` 0"] = hits(everything, required)
    documents = [
        {"id": each.path, "title": heading_of(each.text, each.path), "text": each.text.strip()}
        for each in files
        if each.text.strip()
    ]
    for name, configurations in CONFIGURATIONS.items():
        with running(name, opensearch_url=node, embedding_url=embeddings, label=vault) as contender:
            added = False
            for configuration in configurations:
                reported = contender.switch(configuration)
                if not added or not reported["shared"]:
                    contender.peer.ask("add", documents=documents, timeout_s=3_600)
                    added = True
                found = contender.peer.ask("search", queries=questions, limit=LIMIT, timeout_s=3_600)["results"]
                counted[title(name, configuration)] = hits(found, required)
                print(f"{vault}: {title(name, configuration)} measured", file=sys.stderr, flush=True)
    return counted


def rows(measured: Mapping[str, Mapping[str, tuple[int, int]]]) -> list[list[str]]:
    """A row a contender: both sums, then both numbers of each vault.

    >>> rows({"a": {"x": (1, 2)}, "b": {"x": (3, 4)}})
    [['x', '4', '6', '1 · 2', '3 · 4']]
    """
    contenders = list(next(iter(measured.values())))
    made = []
    for name in contenders:
        each = [counted[name] for counted in measured.values()]
        sums = [str(sum(pair[place] for pair in each)) for place in (0, 1)]
        made.append([name, *sums, *(f"{first} · {three}" for first, three in each)])
    return made


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--vault", action="append", choices=VAULTS, help="only this one; default: all")
    options = parser.parse_args()
    if options.write and options.vault:
        parser.error("a record is of the whole: --write goes without --vault")
    needed_data("peers_own_words")
    vaults = options.vault or VAULTS
    with LocalEmbeddings() as model, shared_node() as node, embedding_server() as embeddings:
        measured = {vault: measure(vault, model, node, embeddings) for vault in vaults}
    columns = (*COLUMNS[:3], *vaults)
    publish("peers_own_words", [Grid(columns, rows(measured))], write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
