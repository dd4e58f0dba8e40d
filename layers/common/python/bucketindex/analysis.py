"""Words of texts and of questions, as the lexical part of a segment holds them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from ragdrop.domain.languages import JOINED_TERM, LUCENE_STOP_WORDS, MAX_TERMS, TERM_PART, segmented

ANALYZER = "words"  # as tantivy knows it, in the schema of every segment
MAX_PARTS = 8  # of a joined term such as a path; longer ones are found by their parts alone
_APART = re.compile(r"(?<=\d)(?=[⁰¹²³⁴-⁻₀-₋])|(?<=[^\W\d]{4})(?=[⁰¹²³⁴-⁹])|[™℠®©]")
_RAISED_TAG, _TAG = re.compile(r"(?<=\d)<sup>"), re.compile(r"</?sub>|(?<!\d)<sup>|</sup>")
_MARKS = re.compile("[\u0300-\u036f]+")


@lru_cache(maxsize=1)
def analyzer() -> TextAnalyzer:
    """Split what `spaced` gives at blanks, fold accents that are letters of their own, and stem English words."""
    return (
        TextAnalyzerBuilder(Tokenizer.whitespace())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("english"))
        .build()
    )


def spaced(texts: Iterable[str]) -> tuple[str, str]:
    """The words of *texts*, folded, with blanks between them, and apart from them the English stop words.

    A joined term also stands whole, with underscores: a code found as written then ranks above one found in pieces.
    Stop words are asked for only where there is nothing else, and would count in the length of what is.

    >>> spaced(["The pump's code: QX-5521", "Größe"])
    ('pump s pump_s code qx 5521 qx_5521 grosse', 'the')
    """
    words = [word for text in texts for word in _words(_folded(text))]
    return " ".join([word for word in words if word not in LUCENE_STOP_WORDS]), " ".join(
        [word for word in words if word in LUCENE_STOP_WORDS]
    )


def query_terms(text: str) -> tuple[list[str], bool]:
    """The terms that a question asks for, each once, at most 128; whether they are stop words, for want of others.

    >>> query_terms("What are the pumps of QX-5521?")
    (['what', 'pump', 'qx', '5521', 'qx_5521'], False)
    >>> query_terms("to be or not to be"), query_terms("?! *")
    ((['to', 'be', 'or', 'not'], True), ([], True))
    """
    words = list(dict.fromkeys(_words(_folded(text), least_part=2)))
    asked = [word for word in words if word not in LUCENE_STOP_WORDS]
    return list(dict.fromkeys(analyzer().analyze(" ".join((asked or words)[:MAX_TERMS])))), not asked


def _folded(text: str) -> str:
    """*text* in one case without accents; what is raised behind a number or a word is a word apart.

    >>> _folded("10⁶ l of H₂O, 7 m², pump³, Seal™"), _folded("10<sup>6</sup> l of H<sub>2</sub>O")
    ('10 6 l of h2o, 7 m2, pump 3, seal ', '10 6 l of h2o')
    """
    text = segmented(unicodedata.normalize("NFC", text))
    if "<su" in text:  # of HTML within Markdown
        text = _RAISED_TAG.sub(" ", _TAG.sub("", text))
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", _APART.sub(" ", text).casefold()))


def _words(text: str, *, least_part: int = 1) -> Iterable[str]:
    terms = JOINED_TERM.findall(text)
    plain = [term for term in terms if term.isalnum()]
    if len(plain) == len(terms):
        return plain
    return [word for term in terms for word in _parts(term, least_part)]


def _parts(term: str, least: int) -> list[str]:
    if term.isalnum():
        return [term]
    parts: list[str] = TERM_PART.findall(term)
    found = [part for part in parts if len(part) >= least or len(parts) == 1]
    return [*found, "_".join(parts)] if 1 < len(parts) <= MAX_PARTS else found
