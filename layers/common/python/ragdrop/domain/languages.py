"""Languages: which one a text is in, which ones a model covers, and words of scripts without blanks."""

import re
from collections.abc import Sequence
from functools import lru_cache

from groundcheck.sentences import detected_language

NAMES = {
    "ar": "Arabic", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fr": "French", "he": "Hebrew",
    "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pt": "Portuguese",
    "ru": "Russian", "th": "Thai", "zh": "Chinese",
}  # fmt: skip
"""Names by ISO 639-1 code.  Other languages of a script are taken for the one named here."""

READ_CHARACTERS = 4_000  # of a text: enough to tell, and quick
SCRIPT_SHARE = 0.3  # of a text's letters that must be of a script; a quotation makes no language

_SCRIPTS = (
    ("ja", r"[\u3040-\u30ff]"),
    ("zh", r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
    ("ko", r"[\uac00-\ud7af\u1100-\u11ff]"),
    ("th", r"[\u0e00-\u0e7f]"),
    ("ar", r"[\u0600-\u06ff\u0750-\u077f]"),
    ("ru", r"[\u0400-\u04ff]"),
    ("el", r"[\u0370-\u03ff]"),
    ("he", r"[\u0590-\u05ff]"),
    ("hi", r"[\u0900-\u097f]"),
)
_SCRIPT = [(code, re.compile(pattern)) for code, pattern in _SCRIPTS]
# The commonest words of each language that few of the others have.
_STOP_WORDS = {
    "en": "the of and to in is was for that with as on are by this be at from or an it which were has have not what "
    "how who when where why do does did can could should will would i my you your we our me if there any up out about "
    "a no so but all get make go he she they his her their them",
    "de": "der die das und ist nicht ein eine einen einem einer den dem des mit von zu zum zur auf für im am wer wie "
    "wann wo warum welche welcher welches wird werden wurde hat haben sind kann ich wir sie es auch nach bei oder "
    "wenn als aus man über was bedeutet",
    "es": "el la los las de que y en un una por con para es del se su al lo como más qué cuál cuáles cuándo "
    "dónde quién "
    "cómo cuántos fue son significa está ha han tiene puede este esta sobre entre",
    "fr": "le la les des du de et est une un dans pour que qui sur au aux avec ce cette il elle sont pas par ne se "
    "en faire signifie quel quelle quels quelles quand où comment pourquoi combien été avait je vous nous leur plus",
    "it": "il lo la gli le di che e è un una per con del della dei delle nel nella sono come quando dove chi quale "
    "quali perché quanto quanti si da al alla non più questo questa ha stato cosa significa",
    "pt": "o os as de que e em um uma para com não por do da dos das no na se mais como quando onde quem qual quais "
    "foi são está tem pode este esta pelo pela ao",
    "nl": "de het een en van is niet dat met voor op te zijn aan er wordt werd hoe wie wat waar wanneer waarom welke "
    "ik wij je kan kunnen bij ook naar uit om of maar",
    "ru": "и в на не что с по как к у за от из о для это кто когда где почему какой какая какое какие "
    "каким был была было были он она они его их сколько чем при же ли или до после",
    "ar": "في من على إلى عن ما ماذا متى كيف هل التي الذي هذا هذه كان كانت تم هو هي أين لماذا كم أو مع "
    "بعد قبل أن قد لا أي",
}
_WORDS = {code: frozenset(words.split()) for code, words in _STOP_WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
# Stop words that English texts hold too: as words of their own, in names ("Los Angeles") or as short forms.
_SHARED_WORDS = (
    "a al am as au aux chi com comment como con da dal das de del della der des di die do dos du e el em en es et ha "
    "hat il im is ja je la las le les lo los man me na ne no non o of om on os par pas per plus por pour quad quale "
    "qui se si son su sur um un uma una van von war was wat"
)
_SHARED = frozenset(_SHARED_WORDS.split())
_MANY_WORDS = 40  # from which on a text has many stop words of its language: names and quotations hold a few
_LEAST_SHARE = 0.05
# What is written alike in every language: quotations, addresses, file names, identifiers and codes, with their parts.
_LETTERS = r"[A-Za-z0-9_\u00c0-\u024f]"  # of codes: scripts without blanks would vanish with a number among them
_NO_WORDS = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|„[^“”\n]{1,200}[“”]|«[^»\n]{1,200}»|`[^`\n]{1,200}`|\b[a-z]+://\S+"
    rf"|(?<![\w'’]){_LETTERS}+(?:[-.:/@\\+#\u2010\u2011]+{_LETTERS}+)+"
    rf"|{_LETTERS}*[\d_]{_LETTERS}*|\b[^\W\d_]\b(?=\s*[-\u2010\u2011]?\d)"
)
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")

# What Chinese and Japanese questions are put with: it would stand in no document.
_ASKING = re.compile(
    "什么|甚么|怎么|如何|为什么|为何|哪里|哪个|哪些|哪|谁|多少|几|时候|何时|是否|是|的|了|吗|呢|です|ますか|ました|か$"
)

MAX_TERMS = 128  # of a lexical query; a question of 1,000 characters has fewer, and OpenSearch takes 1,024 clauses
# Letters and digits of any script, joined as in QX-5521, retry_after_s, notes/pump.md or l'eau.
JOINED_TERM = re.compile(r"[^\W_]+(?:[-_./:@+'\u2019][^\W_]+)*")
TERM_PART = re.compile(r"[^\W_]+")
# Lucene's English list.  They weigh next to nothing in BM25 but match nearly every chunk.
_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
LUCENE_STOP_WORDS = frozenset(_LUCENE.split())
# What questions are put with and not about.  A word of another language is no worse than any other: it counts.
_ENGLISH = (
    "a about all am an and any are as at be been being but by can could did do does for from get had has have he "
    "her his how i if in into is it its may me might must my no not of on or our shall she should so some such "
    "than that the their them then there these they this those to us was we were what when where which who whom "
    "whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_ENGLISH.split())

COVERED = (
    (
        r"all-minilm.*|nomic-embed-text.*|mxbai-embed-large.*|bge-(?:small|base|large)-en.*|gte-(?:small|base|large)",
        ("en",),
    ),
)
"""Languages that a model's card names, by its name in lower case; a model that is not here is taken to cover all."""


def language_of(text: str) -> str | None:
    """The ISO 639-1 code of *text*'s language, by its script or its stop words; None where they do not tell.

    A short text is in English unless it has more stop words of another language, one of them a word that English
    texts do not hold.  Codes, names of files and quotations are left out.

    >>> language_of("Wer hat am Wochenende Bereitschaft?"), language_of("Who is on call?"), language_of("糖尿病的症状")
    ('de', 'en', 'zh')
    >>> language_of("Explain error E-4403"), language_of("Los Angeles office"), language_of("non-stop tab")
    (None, None, None)
    """
    return _language_of(text[:READ_CHARACTERS])


@lru_cache(maxsize=64)  # each step of a search asks for that of its question
def _language_of(text: str) -> str | None:
    sample = _NO_WORDS.sub(" ", text)
    found = _WORD.findall(sample)
    letters = sum(map(len, found))
    for code, script in _SCRIPT if not sample.isascii() else ():
        if len(script.findall(sample)) > SCRIPT_SHARE * letters:
            return code
    if "¿" in sample:
        return "es"
    words = [word.casefold() for word in found]
    distinct = set(words)  # "Los Angeles" as often as it likes
    counts = {code: len(distinct & known) for code, known in _WORDS.items()}
    best = max(counts, key=counts.__getitem__)  # English comes first, and wins a tie
    if best == "en":
        return best if counts[best] else None
    return best if _is_in(words, _WORDS[best]) else None


def is_english(text: str) -> bool:
    """Whether nothing shows that *text* is in another language; a short text may be in any.

    >>> [is_english(text) for text in ("The pump is red.", "Pump 7", "La pompa è nella cantina.", "Die Pumpe ist rot.")]
    [True, True, False, False]
    """
    return detected_language(text) == "en" and language_of(text) in {None, "en"}


def _is_in(words: Sequence[str], stop_words: frozenset[str]) -> bool:
    """Whether *words* hold enough *stop_words* of a language: one that it does not share, or two that stand apart."""
    places = [place for place, word in enumerate(words) if word in stop_words]
    if len(words) >= _MANY_WORDS and len(places) < _LEAST_SHARE * len(words):
        return False
    apart = len({words[place] for place in places}) > 1 and places[-1] - places[0] >= len(places)
    return apart or any(words[place] not in _SHARED for place in places)


@lru_cache(maxsize=64)
def languages_covered(model: str) -> tuple[str, ...]:
    """Languages that an embedding model was made for; empty where it covers many, or is unknown.

    >>> languages_covered("sentence-transformers/all-MiniLM-L6-v2"), languages_covered("multilingual-e5-small")
    (('en',), ())
    """
    name = model.lower().rpartition("/")[2].partition(":")[0]
    return next((languages for pattern, languages in COVERED if re.fullmatch(pattern, name)), ())


def uncovered(text: str, model: str) -> str | None:
    """The language of *text* where *model* does not cover it, else None.

    >>> uncovered("Wo liegt der Schlüssel?", "all-MiniLM-L6-v2"), uncovered("Where is it?", "all-MiniLM-L6-v2")
    ('de', None)
    """
    covered = languages_covered(model)
    found = language_of(text) if covered else None
    return found if found is not None and found not in covered else None


def language_warning(code: str, model: str, *, what: str) -> str:
    """What is reported where a model does not cover the language of *what*.

    >>> language_warning("de", "all-MiniLM-L6-v2", what="the question")
    'the question is in German, and all-MiniLM-L6-v2 covers English: lexical search alone decides'
    """
    covered = ", ".join(NAMES[each] for each in languages_covered(model))
    return f"{what} is in {NAMES[code]}, and {model} covers {covered}: lexical search alone decides"


def content_of(question: str) -> tuple[str, frozenset[str]]:
    """*question* as its words can be counted, and the words of its language that it is not about.

    >>> content_of("大桥是什么时候开通的")[0].split()
    ['大桥', '开通']
    >>> "what" in content_of("What is the pump?")[1], "what" in content_of("Welche Pumpe ist das?")[1]
    (True, False)
    """
    code = language_of(question)
    if code in {"zh", "ja"}:
        question = _ASKING.sub(" ", question)
    return segmented(question), FUNCTION_WORDS if code == "en" else _WORDS.get(code or "", frozenset())


def segmented(text: str) -> str:
    """*text* with the characters of scripts without blanks as overlapping pairs, as BM25 can count them.

    References:
        Nie and Ren, "Chinese information retrieval: using characters or words?", 1999: bigrams do as well as words.

    >>> segmented("糖尿病 and 2型")
    '糖尿 尿病 and 2 型'
    """
    return text if text.isascii() else UNSPACED.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    signs = run[0]
    pairs = " ".join(signs[at : at + 2] for at in range(max(1, len(signs) - 1)))
    before = " " if run.start() and not run.string[run.start() - 1].isspace() else ""
    after = " " if run.end() < len(run.string) and not run.string[run.end()].isspace() else ""
    return f"{before}{pairs}{after}"


_INTERROGATIVE = re.compile(r"\b(?:who|whom|whose|what|when|where|which|why|how)\b", re.IGNORECASE)


def asks(question: str, kind: re.Pattern[str]) -> bool:
    """Whether the first interrogative of an English *question* asks for this *kind*.

    >>> when = re.compile("when", re.IGNORECASE)
    >>> asks("When does it open?", when), asks("What do I do when it rains?", when)
    (True, False)
    """
    first = _INTERROGATIVE.search(question)
    return first is not None and kind.match(question, first.start()) is not None
