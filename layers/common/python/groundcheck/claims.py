"""Check one sentence of an answer: whether it makes a claim, and which passage supports it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from groundcheck.clauses import Finding, is_denied, same_operators
from groundcheck.relations import changed_relation, order_is_visible, other_actor, turned_comparison
from groundcheck.sentences import Language, Span, detected_language, find_folded, in_english, sentences, stemmed_words
from groundcheck.support import (
    Slice,
    best_slice,
    joint_problem,
    sentence_around,
    sentences_without_conflict,
    states_another,
)
from groundcheck.verdicts import Checked, ClaimStatus, Evidence, OpenClaim, Opinion, Passage, SecondOpinion

MAX_PASSAGES = 60  # sentences shown to a second opinion for one claim
MOST_ASKED = 12  # passages whose sentences may be shown to it
MOST_CANDIDATES = 3  # passages compared with a sentence that names none
PIECE_CHARACTERS = 2_000  # of a long text: the best pieces are read closely
STATES_IT = 0.85  # share of a sentence's words from which on its evidence may be said to state it
# Content words of sentences that speak of the answer itself: "Here is what I found in the documents:".
ABOUT_THE_ANSWER = frozenset(
    stemmed_words(
        "above anything answer answers ask based below briefly details document documents else example examples feel "
        "find following follows found free glad happy hello help here hi hope information know let like list need "
        "note overview please points provided question questions regarding shown sorry sources step steps summary "
        "summarize sure thank thanks understand want welcome"
    )
)

_LEAD = re.compile(r"^\s*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s+)+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*\n]+\*\*\s*$|__[^_\n]+__\s*$)")
_MARKUP = re.compile(r"^```\w*\n|\*\*|__|`")
_RANK: dict[ClaimStatus, int] = {
    "verified": 0,
    "supported": 1,
    "contradicted": 2,
    "unsupported": 3,
    "missing": 4,
    "not_a_claim": 5,
}
_SAID_BY_ANOTHER = Finding("attribution", "unsupported")  # or by the same source under another name


_SOURCES = r"(?:sources|documents|passages|texts|notes|excerpts|context|information)"
_SAY = r"(?:say|state|mention|contain|hold|specif|give|includ|name|list|describ|provid|tell|explain|indicat|show|cover)"
_GAP = re.compile(
    rf"\b{_SOURCES}\b[^.;]{{0,40}}?\b(?:do(?:es)?\s?n[o'’]t|does not|do not|never|nowhere)\s+(?:\w+\s+)?{_SAY}\w*"
    rf"|\b{_SOURCES}\b[^.;]{{0,40}}?\b{_SAY}\w*\s+(?:no|nothing|neither)\b"
    rf"|\bno(?:ne of the)? (?:sources?|documents?|passages?)\b[^.;]{{0,20}}?\b{_SAY}"
    rf"|\b(?:no|not|nowhere|never|nothing|missing)\b[^.;]{{0,30}}? (?:in|by|from) (?:the|these) (?:\w+ )?{_SOURCES}\b"
    r"|\b(?:quellen|dokumente[n]?|unterlagen)\b[^.;]{0,60}?\b(?:nicht|nichts|kein\w*|weder)\b"
    r"|\b(?:nicht|nichts|kein\w*)\b[^.;]{0,40}?\b(?:quellen|dokumenten|unterlagen)\b"
    r"|\b(?:sources|documents)\b[^.;]{0,20}?\bn[e'’][^.;]{0,30}?\b(?:pas|rien|aucune?|ni)\b"
    r"|\b(?:fuentes|documentos)\b[^.;]{0,20}?\b(?:no|nada|tampoco)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:no|not|nor|none|nothing|neither|never|without|unknown|unclear|missing|lacks?)\b|n['’]t\b", re.I
)
_DIGITS = re.compile(r"\d+")


def lacks_sources(sentence: str, known: Callable[[], str], *, marked: bool = False) -> bool:
    """Whether *sentence* says that the sources do not say something: a remark on them that none of them can support.

    One that its writer *marked* as such need not name the sources, if it denies something; of languages other than
    English the mark is believed.  A number that does not stand in *known*, the texts of sources and question, is a
    claim all the same.

    >>> [lacks_sources(text, str) for text in ("The documents do not say when.", "The pump does not run.")]
    [True, False]
    >>> [lacks_sources(text, str, marked=True) for text in ("Its price is not known.", "It costs not 7 EUR.")]
    [True, False]
    """
    said = plain(sentence)
    is_gap = _GAP.search(said) is not None
    if marked and not is_gap:
        is_gap = detected_language(said) != "en" or _DENIES.search(said) is not None
    numbers = _DIGITS.findall(said) if is_gap else []
    return is_gap and (not numbers or set(numbers) <= set(_DIGITS.findall(known())))


def check_cited(claim: str, cited: Sequence[Passage], ask: SecondOpinion | None = None) -> Checked:
    """Compare *claim* with each passage that it cites, then with all together; *ask* judges what stays open.

    The claim has the best status that one passage gives it.  What only several passages support together is
    `supported`: each of their sentences is true, and whether they belong together is not known.
    """
    said = plain(claim)
    found = [_judge(said, passage) for passage in cited]
    best = min(found, key=_rank, default=None)
    status: ClaimStatus = best.status if best else "unsupported"
    reason = best.reason if best else "words"
    if len(found) > 1 and all(one.status == "unsupported" for one in found):
        about = " ".join(passage.about for passage in cited)
        if joint_problem(said, [one.quote for one in found], about=about) is None:
            status, reason = "supported", "several"
            found = [replace(one, status=status) if one.support > 0 else one for one in found]
    support = max((one.support for one in found), default=None)
    checked = Checked(claim, status, reason, support, tuple(found))
    return checked if ask is None else _settled(said, cited, checked, ask)


def find_evidence(claim: str, passages: Sequence[Passage], ask: SecondOpinion | None = None) -> Checked:
    """Find what *passages* say of a *claim* that cites none of them; where rules find no evidence, *ask* may.

    The passages that share most words with it are read, at most MOST_CANDIDATES.  The evidence is the passage that
    supports it, else the best two if they support it together, else the one that comes nearest.
    """
    said = plain(claim)
    words = frozenset(stemmed_words(said))

    def worth(passage: Passage) -> tuple[bool, int]:
        stands_there = find_folded(said.rstrip(".!?… "), passage.text) is not None
        return stands_there, len(words & _words_of(passage.text))

    ranked = sorted(passages, key=worth, reverse=True)[:MOST_ASKED]
    nearest = ranked[:MOST_CANDIDATES]
    alone = [check_cited(claim, [passage]) for passage in nearest]
    best = min(alone, key=_rank, default=Checked(claim, "unsupported", "words", 0.0))
    if not best.stands:
        together = check_cited(claim, nearest[:2])
        best = together if together.stands else best
    return best if ask is None or (best.stands and not _decides(ask)) else _settled(said, ranked, best, ask)


def best_passage(claim: str, passages: Sequence[Passage]) -> Passage:
    """The passage that supports *claim* best, the first of equals."""
    said = plain(claim)
    return min((_judge(said, passage) for passage in passages), key=_rank).passage


def pieces(passage: Passage) -> list[Passage]:
    """A long passage in pieces of whole sentences, with its id; a sentence that is too long is one piece."""
    starts = [0]
    for span in sentences(passage.text):
        if span.end - starts[-1] > PIECE_CHARACTERS and span.start > starts[-1]:
            starts.append(span.start)
    ends = [*starts[1:], len(passage.text)]
    return [
        replace(passage, text=passage.text[start:end], start=passage.start + start)
        for start, end in zip(starts, ends, strict=True)
    ]


def asserts(sentence: str, words_of_sources: Callable[[], frozenset[str]]) -> bool:
    """Whether *sentence*, with its marks, claims something that sources must support.

    Greetings and remarks on the answer claim nothing: all their content words are in ABOUT_THE_ANSWER.  Nor do
    headings, questions and lead-ins that end with a colon if each of their content words occurs in the sources too.
    So a number, a name or another new word always makes a claim.

    >>> asserts("Here is what I found:", frozenset), asserts("The pump is red:", frozenset), asserts("---", frozenset)
    (False, True, False)
    >>> asserts("## The pump", lambda: known_words([Passage("Pumps run.")])), asserts("Yes.", frozenset)
    (False, True)
    """
    said = plain(sentence)
    words = frozenset(stemmed_words(said))
    if not words or words <= ABOUT_THE_ANSWER or not any(letter.isalnum() for letter in said):
        return False
    leads = said.endswith((":", "?", "：", "？")) or _HEADING.match(sentence) is not None
    return not (leads and words <= ABOUT_THE_ANSWER | words_of_sources())


def known_words(passages: Sequence[Passage]) -> frozenset[str]:
    """The content words of *passages* and of what they belong to."""
    return frozenset(word for passage in passages for word in stemmed_words(f"{passage.about}\n{passage.text}"))


def plain(claim: str) -> str:
    """The sentence without list marks, heading marks, code fences and emphasis.

    >>> plain("2. The **pump** is `red`.")
    'The pump is red.'
    """
    return _MARKUP.sub("", _LEAD.sub("", claim)).strip()


def _settled(said: str, passages: Sequence[Passage], checked: Checked, ask: SecondOpinion) -> Checked:
    """*checked*, or what a second opinion says; one that does not decide only betters what rules leave open."""
    overrules = _decides(ask)
    is_open = checked.status == "supported" or (checked.status == "unsupported" and checked.reason == "words")
    if not (is_open or overrules) or (checked.status == "verified" and _is_copy(said, passages)):
        return checked
    places: list[tuple[Passage, Span]] = []
    if not overrules:
        places = [
            (passage, span)
            for passage in passages
            for span in sentences_without_conflict(said, passage.text, about=passage.about)
        ][:MAX_PASSAGES]
        if not places:
            return checked
    texts = tuple(passage.text[span.start : span.end] for passage, span in places)
    whole = tuple(passage.text for passage in passages)
    claim = OpenClaim(said, texts, whole, checked.status, checked.reason, checked.support or 0.0)
    opinion = ask(claim, has_evidence=checked.stands)
    if opinion is None or opinion.status == checked.status:
        return checked
    if overrules:
        return _decided(said, passages, checked, opinion)
    if opinion.passage is None or _RANK[opinion.status] >= _RANK[checked.status]:
        return checked
    passage, span = places[opinion.passage]
    relation = changed_relation(said, texts[opinion.passage])
    if relation is not None and relation.verdict != "open" and relation != _SAID_BY_ANOTHER:
        return replace(checked, reason=relation.kind)
    return _with_evidence(checked, passages, passage, Slice(span.start, span.end, checked.support or 0.0), opinion)


def _is_copy(said: str, passages: Sequence[Passage]) -> bool:
    """Whether *said* is a whole sentence of *passages*."""
    whole = (passage.text[span.start : span.end] for passage in passages for span in sentences(passage.text))
    return _bare(said) in map(_bare, whole)


def _decides(ask: SecondOpinion) -> bool:
    return bool(getattr(ask, "decides", False))


def _decided(said: str, passages: Sequence[Passage], checked: Checked, opinion: Opinion) -> Checked:
    """*checked* with the status of an *opinion* that decides; its evidence is what comes nearest in its passage."""
    if opinion.passage is not None:
        passage = passages[opinion.passage]
        return _with_evidence(checked, passages, passage, best_slice(said, passage.text, about=passage.about), opinion)
    lower = tuple(
        replace(each, status=opinion.status, reason="meaning") if _RANK[each.status] < _RANK[opinion.status] else each
        for each in checked.evidence
    )
    return replace(checked, status=opinion.status, reason="meaning", evidence=lower)


def _with_evidence(
    checked: Checked, passages: Sequence[Passage], passage: Passage, found: Slice, opinion: Opinion
) -> Checked:
    reason = None if opinion.status == "verified" else "meaning"
    decisive = _evidence(passage, found, opinion.status, reason)
    ids = [each.id for each in passages]
    evidence = [decisive, *(each for each in checked.evidence if each.passage.id != passage.id)]
    evidence.sort(key=lambda each: ids.index(each.passage.id))
    return replace(checked, status=opinion.status, reason=reason, evidence=tuple(evidence))


def _judge(said: str, passage: Passage) -> Evidence:
    """The verdict of the rules on one passage."""
    found = best_slice(said, passage.text, about=passage.about)
    around = sentence_around(passage.text, found.start, found.end)
    if found.problem == "negation" and turned_comparison(said, around):
        return _evidence(passage, found, "supported", "comparison")
    if found.problem is not None:
        denied = found.problem == "negation" and found.support >= STATES_IT
        changed = denied or states_another(said, around, found.problem)
        return _evidence(passage, found, "contradicted" if changed else "unsupported", found.problem)
    language = detected_language(said)
    if language == "en":
        status, reason = _related(said, around, passage.text.replace(around, " "), found.support)
    else:
        status, reason = _translated(said, around, found.support, language)
    return _evidence(passage, found, status, reason)


def _related(said: str, around: str, rest: str, support: float) -> tuple[ClaimStatus, str | None]:
    """The verdict on an English sentence whose facts stand in the sentence *around* them: its relations are read."""
    relation = changed_relation(said, around)
    if relation is not None and relation.verdict != "open":
        return relation.verdict, relation.kind
    if other_actor(said, around, rest):
        return "unsupported", "roles"
    if relation is not None:
        return "supported", relation.kind
    if support < STATES_IT:
        return "supported", "words"
    if not order_is_visible(said, around):
        return "supported", "roles"
    stated = support == 1 and same_operators(said, around)
    return ("verified", None) if stated else ("supported", "words")


def _translated(said: str, around: str, support: float, language: Language) -> tuple[ClaimStatus, str | None]:
    """The verdict on a sentence of another language: numbers, names and words agree, no rule reads its relations."""
    if language and support >= STATES_IT and is_denied(said, around):
        return "contradicted", "negation"
    is_whole = _bare(said) == _bare(around)
    if is_whole or (language and support == 1 and same_operators(said, around)):
        visible = is_whole or order_is_visible(in_english(said), in_english(around))
        return ("verified", None) if visible else ("supported", "roles")
    return "supported", "words" if language else "language"


def _bare(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).rstrip(".!?… ")


def _evidence(passage: Passage, found: Slice, status: ClaimStatus, reason: str | None) -> Evidence:
    start, end = passage.start + found.start, passage.start + found.end
    return Evidence(passage, start, end, found.support, status, reason)


def _rank(found: Evidence | Checked) -> tuple[int, float]:
    """The best first."""
    return _RANK[found.status], -(found.support or 0.0)


@lru_cache(maxsize=1_024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(stemmed_words(text))
