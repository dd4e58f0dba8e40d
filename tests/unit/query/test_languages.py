"""Questions and documents in languages that the embedding model does not cover are found by words, with a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import language_of
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.world import TENANT, World

ENGLISH_MODEL = {"EMBEDDING_MODEL": "all-MiniLM-L6-v2"}


def bucket_world(folder: Path) -> World:
    """A world over the bucket index."""
    state = MemoryObjectStore("state")
    index = BucketChunkIndex(state, MemoryManifests(), folder, max_bytes=1 << 30)
    return World(settings=ENGLISH_MODEL, index=index, state=state)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I get my money back?", "en"),
        ("money back", None),
        ("Wie bekomme ich mein Geld zurück?", "de"),
        ("¿Cuándo se inauguró el puente?", "es"),
        ("Quand le pont est-il ouvert ?", "fr"),
        ("Quando è stato aperto il ponte?", "it"),
        ("Quando foi aberta a ponte?", "pt"),
        ("Wanneer is de brug geopend?", "nl"),
        ("Когда был открыт мост?", "ru"),
        ("متى تم افتتاح الجسر؟", "ar"),
        ("大桥是什么时候开通的？", "zh"),
        ("橋はいつ開通しましたか", "ja"),
        ("สะพานเปิดเมื่อไร", "th"),
    ],
)
def test_a_short_question_shows_its_language_by_script_and_stop_words(text: str, language: str | None) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "Explain fault E-7719",
        "What does F.21 mean?",
        "Reset P-0133 code",
        "E-7719",
        "non\u2011slip mat",
        "non-return valve size",
        "Los Alamos opening hours",
        "De Havilland brochure",
        "die casting oven",
        "chi square table",
        "AM radio fuse",
        "Rio de la Plata gauge",
        "config es.port default",
        "open https://example.com/la/el/de",
        'Explain "wer hat im Lager die Karte"',
        "Vitamin E dosage",
        "a la carte prices",
    ],
)
def test_codes_names_and_quotations_make_no_english_question_foreign(text: str) -> None:
    assert language_of(text) in {None, "en"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was bedeutet F.21?", "de"),
        ("Wo ist QX-77-B?", "de"),
        ("Wie setze ich E-7719 zurück?", "de"),
        ("Que signifie F.21 ?", "fr"),
        ("Où se trouve QX-77-B ?", "fr"),
        ("¿Puedo salir antes?", "es"),
        ("¿Qué significa F.21?", "es"),
        ("Che cosa significa F.21?", "it"),
        ("Dove si trova QX-77-B?", "it"),
        ("Как сбросить E-7719?", "ru"),
    ],
)
def test_a_code_does_not_hide_the_language_of_a_question(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_long_english_text_with_a_few_foreign_words_is_no_foreign_text() -> None:
    parts = " ".join(f"Bracket {number} fits panel {number}." for number in range(30))

    assert language_of(f"Bracket list nach Berlin. {parts}") is None


def test_a_question_that_the_model_does_not_cover_is_answered_by_words_and_says_so() -> None:
    world = World(settings=ENGLISH_MODEL)
    world.put("team/bruecke.md", "# Die Brücke\n\nDie Brücke wurde im Jahr 1931 für den Verkehr geöffnet.")
    calls = world.embedder.calls

    found = world.search("Wann wurde die Brücke geöffnet?")

    assert [document.key.path for document in found.documents] == ["bruecke.md"]
    assert found.warnings == [
        "the question is in German, and all-MiniLM-L6-v2 covers English: lexical search alone decides"
    ]
    assert (found.score_basis, found.fallback_level, found.degraded) == ("lexical", 1, False)
    assert world.embedder.calls == calls


def test_a_foreign_question_in_such_a_language_finds_nothing() -> None:
    world = World(settings=ENGLISH_MODEL)
    world.put("team/bruecke.md", "# Die Brücke\n\nDie Brücke wurde im Jahr 1931 für den Verkehr geöffnet.")

    question = "Wer hat im Jahr 1998 die Meisterschaft im Handball gewonnen?"
    assert world.search(question, min_relevance=0.7).abstained
    assert not world.search("Wann wurde die Brücke für den Verkehr geöffnet?", min_relevance=0.7).abstained


def test_ingest_warns_of_a_document_that_the_model_does_not_cover() -> None:
    world = World(settings=ENGLISH_MODEL)
    world.put("team/most.md", "# Мост\n\nМост был открыт для движения в 1931 году.")

    head = world.head("team/most.md")
    detail = world.registry.detail(DocumentKey(TENANT, "team", "most.md"), head.revision)

    assert detail is not None
    assert detail.warnings == (
        "the text is in Russian, and all-MiniLM-L6-v2 covers English: lexical search alone decides",
    )


@pytest.mark.parametrize(("question", "path"), [("糖尿病有什么症状？", "a.md"), ("大桥什么时候开通？", "b.md")])
def test_chinese_words_are_found_although_no_blank_divides_them(tmp_path: Path, question: str, path: str) -> None:
    world = bucket_world(tmp_path)
    world.put("team/a.md", "# 健康\n\n糖尿病的常见症状包括口渴和疲劳。")
    world.put("team/b.md", "# 交通\n\n这座大桥于1931年正式开通。")

    assert world.search(question, min_relevance=0.0).documents[0].key.path == path


def test_endings_of_russian_words_do_not_hide_a_document(tmp_path: Path) -> None:
    world = bucket_world(tmp_path)
    world.put("team/a.md", "# Команда\n\nНашей командой руководит Анна Смирнова.")

    assert not world.search("Кто руководит командой?", min_relevance=0.7).abstained


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Die Verteidigung der Stürmer erzielte viele Punkte.", "Wer erzielte einen Punkt für den Stürmer?"),
        ("Los jugadores anotaron muchos puntos en el partido.", "¿Qué jugador anotaba un punto?"),
        ("Игроки забили много голов в матче.", "Какой игрок забил гол?"),
        ("سجل اللاعبون نقاطا كثيرة في المباراة.", "من هو اللاعب الذي سجل النقاط؟"),
    ],
)
def test_a_word_of_another_language_is_found_in_another_form(tmp_path: Path, written: str, asked: str) -> None:
    world = bucket_world(tmp_path)
    world.put("team/a.md", written)

    assert not world.search(asked).abstained


def test_function_words_of_a_question_in_another_language_find_nothing(tmp_path: Path) -> None:
    world = bucket_world(tmp_path)
    world.put("team/a.md", "Das ist für die, die das nicht auf der Liste sehen, und für wen das ist.")

    assert world.search("Wer hat die Meisterschaft im Rudern gewonnen?", min_relevance=0.0).documents == []


def test_a_question_whose_language_is_not_recognised_finds_words_as_they_are_written(tmp_path: Path) -> None:
    world = bucket_world(tmp_path)
    world.put("team/a.md", "Die Kündigungsfristen stehen im Vertrag, wie es für alle gilt.")

    assert world.search("Kündigungsfristen", min_relevance=0.0).documents[0].key.path == "a.md"
