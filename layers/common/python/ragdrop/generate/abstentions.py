"""What a model says that cannot answer, found anywhere in its reply, and what a reader sees in its place."""

import re

from ragdrop.domain.languages import language_of
from ragdrop.domain.retrieval import AbstainReason

# What the prompt asks the model to say when it cannot answer; never shown to a caller.
SENTINELS: dict[str, AbstainReason] = {
    "INSUFFICIENT_INFORMATION": "insufficient_information",
    "AMBIGUOUS_QUESTION": "ambiguous_question",
}
_ENGLISH: dict[AbstainReason, str] = {
    "no_relevant_context": "Nothing in the documents was found that is relevant to this question.",
    "insufficient_information": "The documents that were found do not hold enough to answer this question.",
    "ambiguous_question": "The question can be understood in several ways; please say more precisely what you mean.",
}
_REASONS: tuple[AbstainReason, ...] = ("no_relevant_context", "insufficient_information", "ambiguous_question")
_OTHERS = {
    "de": (
        "In den Dokumenten wurde nichts gefunden, was zu dieser Frage gehört.",
        "Die gefundenen Dokumente reichen nicht aus, um diese Frage zu beantworten.",
        "Die Frage lässt sich verschieden verstehen; bitte sagen Sie genauer, was Sie meinen.",
    ),
    "es": (
        "En los documentos no se encontró nada relacionado con esta pregunta.",
        "Los documentos encontrados no bastan para responder a esta pregunta.",
        "La pregunta puede entenderse de varias maneras; precise, por favor, qué quiere saber.",
    ),
    "fr": (
        "Rien dans les documents ne se rapporte à cette question.",
        "Les documents trouvés ne suffisent pas pour répondre à cette question.",
        "La question peut se comprendre de plusieurs façons ; veuillez la préciser.",
    ),
    "it": (
        "Nei documenti non è stato trovato nulla che riguardi questa domanda.",
        "I documenti trovati non bastano per rispondere a questa domanda.",
        "La domanda si può intendere in più modi; si prega di precisarla.",
    ),
    "nl": (
        "In de documenten is niets gevonden dat bij deze vraag hoort.",
        "De gevonden documenten zijn niet genoeg om deze vraag te beantwoorden.",
        "De vraag kan op verschillende manieren worden begrepen; wilt u haar nader omschrijven?",
    ),
    "pt": (
        "Nada foi encontrado nos documentos que diga respeito a esta pergunta.",
        "Os documentos encontrados não bastam para responder a esta pergunta.",
        "A pergunta pode ser entendida de várias maneiras; por favor, seja mais preciso.",
    ),
    "ru": (
        "В документах не найдено ничего, что относится к этому вопросу.",
        "Найденных документов недостаточно, чтобы ответить на этот вопрос.",
        "Вопрос можно понять по-разному; пожалуйста, уточните его.",
    ),
    "ar": (
        "لم يُعثر في المستندات على ما يتعلق بهذا السؤال.",
        "المستندات التي عُثر عليها لا تكفي للإجابة عن هذا السؤال.",
        "يمكن فهم السؤال بأكثر من معنى؛ يرجى تحديد المقصود.",
    ),
    "ja": (
        "この質問に関係する内容は文書の中に見つかりませんでした。",
        "見つかった文書だけでは、この質問に答えられません。",
        "質問は何通りにも解釈できます。もう少し具体的にお書きください。",
    ),
    "zh": (
        "在文档中没有找到与这个问题有关的内容。",
        "找到的文档不足以回答这个问题。",
        "这个问题可以有多种理解，请说得更具体一些。",
    ),
}


def abstention(reason: AbstainReason, question: str) -> str:
    """The sentence for people who get no answer, in the language of *question*; in English where it has none here.

    >>> abstention("insufficient_information", "Wer hat am Wochenende Bereitschaft?")
    'Die gefundenen Dokumente reichen nicht aus, um diese Frage zu beantworten.'
    """
    said = _OTHERS.get(language_of(question) or "")
    return _ENGLISH[reason] if said is None else said[_REASONS.index(reason)]


_SENTINEL = re.compile(
    rf"\s*[*_`\"'(]*(?<![A-Za-z])({'|'.join(word.replace('_', '[_ ]') for word in SENTINELS)})(?![A-Za-z])[*_`\"').!:]*"
)
_FOLDED = re.compile(_SENTINEL.pattern.replace("[_ ]", "_"), re.IGNORECASE)
_MARKS = " \n\t*_`\"'("


def sentinel(text: str) -> AbstainReason | None:
    """The reason for not answering if *text* is a sentinel, else None.

    >>> sentinel(" INSUFFICIENT_INFORMATION. "), sentinel("It is 7.")
    ('insufficient_information', None)
    """
    return SENTINELS.get(text.strip().strip(".*`\"'").upper())


class SentinelFilter:
    """Takes sentinels out of a text that comes in pieces; `reason` is that of the first one.

    What may become a sentinel waits for the next piece.

    >>> filtered = SentinelFilter()
    >>> [filtered.feed(piece) for piece in ("It is red [1]. INSUFF", "ICIENT_INFORMATION", " Ask Ida.")]
    ['It is red [1].', '', ' Ask Ida.']
    >>> filtered.reason
    'insufficient_information'
    """

    def __init__(self) -> None:
        self._waiting = ""
        self.reason: AbstainReason | None = None

    def feed(self, piece: str) -> str:
        """What may pass once *piece* has come."""
        text = self._waiting + piece
        keep = _begins_at(text)
        self._waiting = text[keep:]
        return self._without(text[:keep])

    def end(self) -> str:
        """What has waited and is no sentinel."""
        rest, self._waiting = self._without(self._waiting), ""
        return rest

    def _without(self, text: str) -> str:
        if "_" not in text and "INSUFFICIENT" not in text and "AMBIGUOUS" not in text:
            return text
        return _FOLDED.sub(self._note, _SENTINEL.sub(self._note, text))

    def _note(self, found: re.Match[str]) -> str:
        self.reason = self.reason or SENTINELS[found[1].upper().replace(" ", "_")]
        return ""


def _begins_at(text: str) -> int:
    """Where at the end of *text* a sentinel may begin, with the marks before it."""
    longest = max(map(len, SENTINELS))
    whole = list(_FOLDED.finditer(text, max(0, len(text) - longest - 2 * len(_MARKS))))
    if whole and not text[whole[-1].end() :].strip():
        return len(text[: whole[-1].start()].rstrip(_MARKS))
    folded = text.upper().replace(" ", "_")
    for size in range(min(longest, len(text)), 0, -1):
        if any(folded.endswith(word[:size]) for word in SENTINELS) and not text[-size - 1 : -size].isalpha():
            return len(text[:-size].rstrip(_MARKS))
    return len(text.rstrip(_MARKS))
