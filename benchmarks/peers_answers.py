"""Citations and abstention beside the frameworks, with one chat model for all.

    python -m benchmarks.peers_answers [--write] [--quick]

First the model says sentences with planted faults, and true ones, and names the passage that it claims to have them
from: how many leave each pipeline as cited.  Then it is the laptop's extractive answerer, and questions of SQuAD 2.0
are asked of which some have no answer in what was indexed: how many of them get one.  The frameworks answer the way
their documentation shows for answers with sources; all search with the local default model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import mul
from pathlib import Path
from platform import python_version
from typing import Any

from benchmarks import records
from benchmarks.answering_model import DO_NOT_KNOW, AnsweringModel, claiming, extractive
from benchmarks.citations import SEED, passages
from benchmarks.collections import Collection, CollectionDocument, data_folder, load_squad
from benchmarks.in_thread import in_thread
from benchmarks.local_embeddings import LocalEmbeddings
from benchmarks.peers.contenders import NAMES, running
from benchmarks.peers.embeddings import embedding_server
from benchmarks.peers.node import shared_node
from benchmarks.peers.process import ENVIRONMENTS
from benchmarks.peers_answers_table import OWN, Outcomes, answers_table
from benchmarks.perturbations import PerturbedCase, false_cases, true_cases
from benchmarks.quality_pipeline import Pushed, pushed, soon
from ragdrop.domain.answers import Question
from ragdrop.domain.queries import Query
from testing.models import ScriptedChatModel

NAME = "peers_answers"
FAULTS, TRUE, ASKED = 140, 60, 100  # sentences of each sort; questions of each sort
QUICK_SHARE = 10
PEERS = ("langchain", "llama_index", "haystack")  # txtai's RAG needs its pipeline packages: torch and transformers
CONFIGURATION = "hybrid"
MAX_QUERY = 1_000
Ask = Callable[[str], tuple[str, int]]
"""Asks a system; its answer, and how many of its citations stand."""


def said_as_cited(ask: Ask, model: AnsweringModel, cases: Sequence[PerturbedCase]) -> int:
    """How many of the sentences leave as cited."""
    count = 0
    for case in cases:
        model.mind = claiming(case.sentence, case.passage)
        _, citations = ask(case.sentence[:MAX_QUERY])
        count += citations > 0
    return count


def answered(ask: Ask, questions: Sequence[str]) -> int:
    """How many of the questions get an answer."""
    replies = (ask(question)[0].strip() for question in questions)
    return sum(reply not in {"", DO_NOT_KNOW} for reply in replies)


@contextmanager
def ragdrop(
    texts: Sequence[str], model: LocalEmbeddings, chat: AnsweringModel, min_relevance: float | None = None
) -> Iterator[Ask]:
    """The whole of POST /ask over the bucket index; settings at their defaults, but for the threshold if given."""
    with pushed(_collection(texts), model) as place:
        place.app.ports.chat = ScriptedChatModel(lambda messages: _own_reply(chat, messages[-1].content))
        yield lambda question: _asked(place, Query(question, min_relevance=min_relevance))


def _own_reply(chat: AnsweringModel, prompt: str) -> str:
    return chat.text([prompt]) or "INSUFFICIENT_INFORMATION"


def _asked(place: Pushed, query: Query) -> tuple[str, int]:
    given = place.app.generate.ask(Question(query), place.caller, soon())
    standing = sum(citation.status == "verified" for citation in given.citations)
    return ("" if given.abstain_reason else given.text), standing


@contextmanager
def framework(
    name: str, texts: Sequence[str], place: Mapping[str, str], label: str
) -> Iterator[tuple[Ask, dict[str, Any]]]:
    """A framework that indexed *texts*, and what it told of itself."""
    python = Path.cwd() / ENVIRONMENTS / f"peer-{name}/bin/python"
    command = [str(python), "-m", f"benchmarks.peers.{name}_answers"]
    with running(name, command=command, label=label, **place) as contender:
        told = contender.switch(CONFIGURATION)
        documents = [{"id": f"{at:03}", "title": f"{at:03}", "text": text} for at, text in enumerate(texts)]
        contender.peer.ask("add", documents=documents)

        def ask(question: str) -> tuple[str, int]:
            given = contender.peer.ask("answer", question=question)
            return given["answer"], len(given["citations"])

        yield ask, told


def _collection(texts: Sequence[str]) -> Collection:
    return Collection(
        "answers", [CollectionDocument(f"{at:03}", "", text) for at, text in enumerate(texts)], {}, {}, {}
    )


def main() -> int:
    """Measure, print, keep where asked to; nothing to do without the data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers_answers", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the figures")
    parser.add_argument("--quick", action="store_true", help=f"one in {QUICK_SHARE} of the sentences and questions")
    options = parser.parse_args()
    data = data_folder()
    if data is None:
        print("peers_answers: skipped, RAGDROP_EVAL_DATA is not set")
        return 0
    share = QUICK_SHARE if options.quick else 1
    held = passages(data)
    faults, true = false_cases(held, FAULTS // share, SEED), true_cases(held, TRUE // share, SEED + 1)
    squad = load_squad(data / "squad2")
    some = ASKED // share
    questions = {
        "answerable": [each for each in squad if each.answers][:some],
        "unanswerable": [each for each in squad if not each.answers][:some],
    }
    indexed = list(dict.fromkeys(each.context for group in questions.values() for each in group))
    elsewhere = [each for each in squad if each.answers and each.context not in set(indexed)][:some]
    asked = {name: [each.question for each in group] for name, group in questions.items()}
    asked["out of the corpus"] = [each.question for each in elsewhere]
    cited_texts = list(dict.fromkeys(case.passage for case in [*faults, *true]))
    chat = AnsweringModel()

    with LocalEmbeddings() as model, in_thread(chat.app) as chat_url:

        def similarity(question: str, candidates: Sequence[str]) -> list[float]:
            wanted, *given = model.embed([question, *candidates])
            return [sum(map(mul, wanted, each)) for each in given]

        def outcomes(sentences: Ask, asking: Ask) -> Outcomes:
            found = {
                "faults": (said_as_cited(sentences, chat, faults), len(faults)),
                "true": (said_as_cited(sentences, chat, true), len(true)),
            }
            chat.mind = extractive(similarity)
            return found | {name: (answered(asking, group), len(group)) for name, group in asked.items()}

        systems: dict[str, Any] = {}
        with ragdrop(cited_texts, model, chat, 0.0) as sentences, ragdrop(indexed, model, chat) as asking:
            told = "POST /ask with its defaults (sentences: no threshold), bucket index; counted is what is `verified`"
            systems[OWN] = {"outcomes": outcomes(sentences, asking), "settings": told}
        versions = {"python": python_version()}
        with shared_node() as node, embedding_server() as embedding_url:
            place = {"opensearch_url": node, "embedding_url": embedding_url}
            place |= {"chat_url": chat_url, "chat_model": "one-for-all"}
            for name in PEERS:
                with (
                    framework(name, cited_texts, place, "sentences") as (sentences, opened),
                    framework(name, indexed, place, "questions") as (asking, _),
                ):
                    systems[NAMES[name]] = {"outcomes": outcomes(sentences, asking), "settings": opened["settings"]}
                    versions |= opened["versions"]
    results = {"systems": systems, "paragraphs": len(indexed), "passages": len(cited_texts)}
    if options.write:
        records.keep(NAME, results, versions, quick=options.quick)
    print(answers_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
