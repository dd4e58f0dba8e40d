"""Words of questions and headers: their roots, what they are about, and which of them say nothing."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache

from groundcheck.sentences import STOP_WORDS, stem, words

Root = Callable[[str], str]
IRREGULAR = {
    "spent": "spend", "sold": "sell", "bought": "buy", "rode": "ride", "ridden": "ride", "paid": "pay",
    "drove": "drive", "driven": "drive", "ran": "run", "won": "win", "lost": "lose", "swam": "swim", "swum": "swim",
    "flew": "fly", "flown": "fly", "grew": "grow", "children": "child", "men": "man", "women": "woman",
    "meter": "metre", "meters": "metre", "kilometers": "kilometre", "drank": "drink", "ate": "eat",
    "fell": "fall", "people": "person",
    "wrote": "write", "written": "write", "owed": "owe", "thrown": "throw", "quantity": "qty", "mean": "average",
    "lent": "lend", "given": "give", "brought": "bring", "sown": "sow", "built": "build", "sent": "send", "laid": "lay",
    "fed": "feed", "held": "hold", "kept": "keep", "left": "leave", "caught": "catch", "chosen": "choose",
    "loaves": "loaf", "shelves": "shelf", "avg": "average", "maximum": "max", "minimum": "min", "temperature": "temp",
    "temperatures": "temp", "saw": "see", "seen": "see", "taught": "teach", "sang": "sing", "sung": "sing",
    "began": "begin", "begun": "begin", "broke": "break", "broken": "break", "drew": "draw", "spoke": "speak",
    "stole": "steal", "stolen": "steal", "wore": "wear", "worn": "wear", "met": "meet", "found": "find",
}  # fmt: skip


def plain_words(text: str) -> list[str]:
    """The words of a text in small letters; those with a hyphen are two.

    >>> plain_words("LED-Lampe P-1070")
    ['led', 'lampe', 'p-1070']
    """
    return words(_HYPHEN.sub(" ", re.sub(r"(?<=[^\W\d_])['’]s\b", "", text)))


_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")


@lru_cache(maxsize=16_384)
def english_root(word: str) -> str:
    """A word without its plain endings, in the present.

    >>> [english_root(word) for word in ("tagged", "tags", "rode", "categories", "swimming")]
    ['tag', 'tag', 'rid', 'category', 'swim']
    """
    cut = stem(IRREGULAR.get(word, word))
    if word.endswith(("ed", "ing")) and len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "sz":
        return cut[:-1]
    return cut.rstrip("e") if len(cut) > 3 else cut


@lru_cache(maxsize=16_384)
def german_root(word: str) -> str:
    """A word without the plain endings of German, too.

    >>> german_root("touren"), german_root("tour"), german_root("rechnungen"), german_root("länder")
    ('tour', 'tour', 'rechnung', 'land')
    """
    plain = word.translate(UMLAUTS)
    if plain == "tags":
        return "tag"
    for ending in ("innen", "nen", "ern", "en", "er", "es", "e", "n", "s"):
        if ending in {"er", "ern"} and plain == word and not word.endswith("der"):
            continue  # `Mieter` are no `Miete`; `Länder` are a `Land`
        if plain.endswith(ending) and len(plain) - len(ending) >= (3 if ending in {"e", "en", "er"} else 4):
            plain = plain[: -len(ending)]
            plain = plain[:-1] if plain.endswith("hn") and ending == "e" else plain  # `Löhne` and `Lohn`
            return re.sub(r"(?<=[bdfgkpt])l$", "el", plain)  # `dunkle` and `dunkel`
    return plain


UMLAUTS = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})


def number_of(text: str) -> Decimal | None:
    """A number of a question; a comma before three digits separates thousands, any other is decimal.

    >>> number_of("1,000.5"), number_of("2,5"), number_of("80"), number_of("")
    (Decimal('1000.5'), Decimal('2.5'), Decimal('80'), None)
    """
    text = text.strip(".,'").replace("'", "")
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    text = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
    return Decimal(text) if re.fullmatch(r"-?\d{1,18}(?:\.\d{1,9})?", text) else None


def asked_words(question: str, *, folded: bool = True) -> list[str]:
    """The words of a question, signs of currencies and units as words.

    >>> asked_words("Tours longer than 80km for €5, in Anna's list?")
    ['tours', 'longer', 'than', '80', 'km', 'for', 'eur', '5', 'in', 'anna', 'list']
    """
    text = (question.casefold() if folded else question).replace("’", "'")
    text = re.sub(r"\b(gesamt|durchschnitts?)(?=[^\W\d_]{4,})(?!lich)", r"\1 ", text)
    text = re.sub(r"\b([^\W\d_]{3,}?)s?(unterschied|differenz)\b", r"\2 \1", text)
    for sign, word in (("€", " eur "), ("$", " usd "), ("£", " gbp "), ("%", " percent ")):
        text = text.replace(sign, word)
    text = re.sub(r"(?<=[a-zäöüß])'s\b", "", text)
    text = re.sub(r"(?i)\b(?:square met(?:re|er)s?|quadratmetern?)\b", "m²", text)
    text = re.sub(r"(?i)\b(?:cubic met(?:re|er)s?|kubikmetern?)\b", "m³", text)
    text = re.sub(r"(?<![\w-])(\d[\d.,]*)(?=(?:kwh|km|m|kg|g|h|min|mins|hrs?|eur|cm|mm|l|ml|mb|gb|k)\b)", r"\1 ", text)
    text = re.sub(r"(?<=[^\W\d_])-(?=[^\W\d_])", " ", text)
    found = re.findall(r"-?\d[\d.,:/'-]*\d(?:st|nd|rd|th)?(?![^\W_])|[<>]=?|[^\W_]+(?:['./&+-][^\W_]+)*|[^\W_]", text)
    return [word.rstrip(".,") for word in found]


def _roots_of(said: str) -> frozenset[str]:
    """The roots of words in both languages."""
    return frozenset(map(english_root, said.split())) | frozenset(map(german_root, said.split()))


_SYNONYMS = (
    "borrow lend loan verliehen ausgeliehen geliehen; ship vessel boat schiff; due deadline fallig frist; "
    "tag label schlagwort; status state stand; customer client kunde; pupil student schuler; author writer autor; "
    "start begin join begonnen; colour color farbe; kind type sort art; cargo freight load fracht; "
    "plot garden parzelle garten; rent lease pacht; trip tour journey reise"
)
SYNONYMS = {root: group for group in map(_roots_of, _SYNONYMS.split(";")) for root in group}
"""Roots of words that say the same of a column, in both languages."""
_CONCEPTS = {
    "money": "geld umsatz cost price spend spent spending spendings pay paid ausgaben ausgabe kostete zusammengekommen "
    "expensive expense expenditure earn earns earned verdient charge money cheap costly amount worth value bill "
    "kosten kostet gekostet "
    "eingebracht eingenommen einbringen bringt brachte brachten erzielt "
    "preis betrag ausgegeben bezahlt gezahlt zahlen zahlt zahle teuer",
    "distance": "long length far distance ridden rode ride riding rides walk walked ran cycle cycled hike hiked drive "
    "drove driven travel travelled lang weit gefahren strecke",
    "duration": "long length last lasted duration time take took taken lang lange dauer dauert dauerte dauerten work "
    "worked "
    "working gearbeitet",
    "weight": "heavy weigh weighs weight light schwer gewicht wiegen wiegt wog",
    "age": "old young age alt jung",
    "height": "tall high height elevation hoch",
    "temperature": "hot warm cold cool temperature kalt",
    "speed": "fast slow speed schnell langsam",
    "size": "big large small size area groß klein",
    "date": "when date day wann datum eingetreten beigetreten begonnen",
    "place": "where country city town location land stadt place located take took wo ort",
    "person": "who whom whose person people leute personen did wer wem",
    "quantity": "sold sell buy bought ordered quantity units pieces stock verkauft gekauft",
    "rank": "rank place platz",
    "score": "score scored points rating rated grade marks",
    "depth": "deep depth tief",
    "rain": "wet rain rainy nass regen",
    "returned": "back zurück",
    "thing": "item items thing things",
}
CONCEPTS = {name: _roots_of(said) for name, said in _CONCEPTS.items()}
"""What people ask with, by what it asks about: roots."""
_HEADERS = {
    "money": "cost price amount betrag preis kosten eur usd gbp chf spent paid expense fee revenue salary",
    "distance": "distance km mile length strecke distanz länge kilometer kilometre",
    "duration": "duration hours minutes time dauer zeit stunden minuten elapsed",
    "weight": "weight mass gewicht kg",
    "age": "age alter",
    "delay": "delay wait late break pause overtime verspätung",
    "height": "height elevation altitude höhe ascent climb",
    "temperature": "temperature temp temperatur",
    "speed": "speed pace geschwindigkeit",
    "size": "size area fläche größe",
    "date": "date day datum tag when due",
    "place": "where origin herkunft wohnort "
    "place location city town ort stadt venue site country destination address room bin "
    "shelf raum platz hall pitch rack aisle drawer gate warehouse lager regal fach zone depot station floor building "
    "street office shop store",
    "person": "name person who owner assignee member employee author responsible rider driver customer student "
    "patient borrower tenant pupil visitor buyer mieter schüler spieler fahrer "
    "team club company firm supplier vendor lieferant player by wer kunde mitarbeiter teacher guest staff volunteer "
    "runner donor reporter gast besucher teilnehmer käufer verkäufer",
    "quantity": "quantity qty units pieces stock bestand sold menge anzahl stück count",
    "rank": "pos position place rank rang platz",
    "score": "score points goals rating grade mark punkte note tore",
    "depth": "depth draught draft tiefe tiefgang",
    "rain": "rain rainfall precipitation niederschlag regen",
    "returned": "returned return back zurück rückgabe",
    "thing": "item object thing article product gegenstand artikel produkt",
}
HEADERS = {name: _roots_of(said) for name, said in _HEADERS.items()}
"""How columns of it are called: roots."""
UNITS_OF = {
    "distance": {"km", "m", "mile"}, "duration": {"h", "minute", "s", "day"}, "weight": {"kg", "g", "tonne", "lb"},
    "temperature": {"°c", "°f", "degree"}, "speed": {"kmh", "mph"}, "age": {"year"},
}  # fmt: skip
_SUPERLATIVES = {
    "highest largest biggest greatest strongest maximum max most best höchste größte stärkste meisten "
    "meiste häufigste öfteste": (False, ""),
    "lowest smallest least weakest minimum min fewest worst niedrigste kleinste wenigsten schwächste": (True, ""),
    "longest längste": (False, "distance duration"),
    "shortest kürzeste": (True, "distance duration"),
    "farthest furthest weiteste": (False, "distance"),
    "dearest costliest priciest teuerste": (False, "money"),
    "cheapest billigste günstigste": (True, "money"),
    "latest newest neueste späteste": (False, "date"),
    "earliest früheste": (True, "date"),
    "oldest älteste": (False, "age"),
    "youngest jüngste": (True, "age"),
    "heaviest schwerste": (False, "weight"),
    "lightest leichteste": (True, "weight"),
    "tallest": (False, "height"),
    "fastest quickest schnellste": (False, "speed"),
    "slowest langsamste": (True, "speed"),
    "hottest warmest wärmste": (False, "temperature"),
    "coldest coolest kälteste": (True, "temperature"),
    "deepest tiefste": (False, "depth"),
    "shallowest": (True, "depth"),
    "wettest rainiest": (False, "rain"),
    "driest": (True, "rain"),
}
SUPERLATIVES = {word: said for words, said in _SUPERLATIVES.items() for word in words.casefold().split()}
"""Whether a word asks for the least, and of what."""
_LOWER = (
    "less fewer lower smaller shorter cheaper lighter younger colder cooler slower under below weniger kürzer billiger "
    "unter kleiner leichter jünger"
)
LOWER = frozenset(_LOWER.casefold().split())
_NEGATIONS = (
    "not isn't aren't wasn't weren't hasn't haven't don't doesn't didn't without except excluding no never neither "
    "nicht kein keine ohne außer unlike nobody niemand"
)
NEGATIONS = frozenset(_NEGATIONS.split())
_NOUNS = (
    "entry row record item line thing session visit purchase occasion case game match day stuff product "
    "article produkt artikel buchung zahlung eintrag rechnung spiel tag"
)
NOUNS = _roots_of(_NOUNS)
"""What people call any row."""
DOCUMENT_NOUNS = NOUNS | _roots_of("note file document page notiz dokument datei seite")
"""What people call any row of the table of documents."""
_VERBS = "take took taken work worked ride rode ridden rides walk run ran cycle hike drive"
VERBS = _roots_of(_VERBS)
TAKES = _roots_of("take took taken")
"""Words that a column may be meant by, and need not."""
PAYS = _roots_of("spend spent pay paid cost bezahlt ausgegeben gezahlt zahlt zahle kosten kostet gekostet")
"""Verbs that ask for a sum of money."""
_IN = "earn earned take took taken make made raise raised bring brought collect collected receive received verdient"
_IN += " eingenommen eingebracht brachte brachten bringt erzielt"
_COMES = "takings income revenue earnings raised proceeds turnover sales receipts einnahmen umsatz erlös ertrag"
_GOES = "expense expenses cost costs spent spending ausgaben ausgabe kosten aufwand"
MONEY_WAYS = {
    "in": (_roots_of(_IN), _roots_of(_COMES)),
    "out": (_roots_of("spend spent cost costs pay paid ausgegeben gekostet kostete bezahlt"), _roots_of(_GOES)),
    "net": (frozenset[str](), _roots_of("profit gewinn net netto surplus überschuss balance margin")),
}
"""Which verbs say that money came in or went out, and how columns of it are called."""
PRICES = _roots_of("price preis rate tariff tarif")
"""Headers of amounts of one piece: nobody sums them."""
FARES = PRICES | _roots_of("fare fares fahrpreis")
WON = frozenset({"won", "winner", "winning", "gewonnen", "gewann", "sieger"})
ADJECTIVES = {
    "expensive": "money",
    "valuable": "money",
    "costly": "money",
    "recent": "date",
    "heavy": "weight",
    "popular": "quantity",
}
COMPARATIVES = {
    "longer": "distance duration", "shorter": "distance duration", "farther": "distance", "further": "distance",
    "cheaper": "money", "dearer": "money", "pricier": "money", "heavier": "weight", "lighter": "weight", "older": "age",
    "younger": "age", "taller": "height", "hotter": "temperature", "warmer": "temperature", "colder": "temperature",
    "cooler": "temperature", "faster": "speed", "slower": "speed", "länger": "distance duration",
    "kürzer": "distance duration", "teurer": "money", "billiger": "money", "schwerer": "weight", "älter": "age",
}  # fmt: skip
_OF_EST = {word[:-3] + "er": said for word, said in SUPERLATIVES.items() if word.endswith("est") and said[1] != "date"}
COMPARATIVES |= {word: concepts for word, (_, concepts) in _OF_EST.items() if concepts and word not in COMPARATIVES}
LOWER |= {word for word, (least, _) in _OF_EST.items() if least}
ALIASES = {
    "rota": "shift work duty schicht", "roster": "shift work duty", "dienstplan": "schicht dienst", "bug": "issue",
    "league": "game match", "result": "game match race", "fixture": "game match", "spielplan": "spiel",
    "budget": "budget", "stock": "product article part", "inventory": "product article part", "member": "people",
}  # fmt: skip
"""What people say of the rows of a table whose name has a word."""
_GERMAN = (
    "durchschnittliche durchschnittlicher durchschnittliches differenz unterschied höchste höchster ganzen "
    "den dem zwischen wie viele viel wieviel welche welcher welches welchen wer "
    "wann woher wohin der die das ist im für "
    "und aller oder nicht kein keine haben waren wurde wurden bei aus nach vom zum zur größer kleiner mehr weniger "
    "unter wer alle allen sind zusammen mit kostet kosten gibt insgesamt noch ohne eine einer einen über von"
)
ARTICLES = frozenset(["a", "an", "the", "der", "die", "das", "ein", "eine", "einer"])
GERMAN = frozenset(_GERMAN.casefold().split()) | {word for word in SUPERLATIVES if word.endswith("ste")}
_ENGLISH = "the a an it there this that these those he she i we you they my our any his her their for to with of"
ENGLISH = frozenset(_ENGLISH.split())
"""What German questions have not: `was` begins a question in both languages."""


def root_of(words: list[str]) -> Root:
    """How words of a question are cut to their roots, by its language."""
    is_german = not GERMAN.isdisjoint(words) or (words[:1] == ["was"] and ENGLISH.isdisjoint(words))
    return german_root if is_german else english_root


NO_GERMAN_TABLE = re.compile(
    r"(?:ist|sind|hat|haben|kann|darf|muss|soll|warum|wieso|wie (?:kann|geht|mache?|wird)|erkläre)\b"
)
NO_TABLE = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|may|must|why"
    r"|how (?:do|does|can|could|should|is|are|was|were|did|to|come)|explain|describe|summari[sz]e|tell me about)\b"
)
"""How a question begins that asks for no number, row or list."""
_WEEKDAYS = (
    "monday montag", "tuesday dienstag", "wednesday mittwoch", "thursday donnerstag", "friday freitag",
    "saturday samstag sonnabend", "sunday sonntag",
)  # fmt: skip
WEEKDAY_WORDS = {
    f"{name}{ending}": frozenset({at})
    for at, names in enumerate(_WEEKDAYS)
    for name in names.split()
    for ending in ("", "s")
}
WEEKDAY_WORDS |= dict.fromkeys(("weekend", "weekends", "wochenende", "wochenenden"), frozenset({5, 6}))
WEEKDAY_WORDS |= dict.fromkeys(("weekday", "weekdays"), frozenset(range(5)))
"""What days of the week a word means, from 0 for Monday on."""
PARTS = {
    "day": "day", "tag": "day", "month": "month", "months": "month", "monat": "month", "year": "year", "jahr": "year",
    "weekday": "weekday", "wochentag": "weekday", "week": "", "woche": "", "quarter": "", "quartal": "",
}  # fmt: skip
"""The parts of dates that rows are grouped by; empty for one that no plan has."""
_FILLERS = (
    "thing things still yet already ever often fell fall gave gives raised raise live lives "
    "lived here hier come comes came stand stands together all whole entire noch schon jemals ganzen ganze ganzes jahr "
    "year einem hoch hohe steht stehen kam kommt kommen liegt lag waren war gab zusammen meisten got gets "
    "eingekauft gekauft buy zwischen list show give name tell me please find get see each every any entry "
    "entries row rows record records item items table sheet file spreadsheet csv there much many "
    "did have has had been being was were make made happen happened one ones only just exactly currently "
    "recorded listed aller allen marked called named mentioned shown during within than same used taken place put "
    "go goes "
    "went need needed us we our my i they their it its his her s t re m between both including included "
    "single individual everyone everybody anyone anybody someone somebody while jemand herr herrn frau mr mrs ms "
    "welchem um seit nr beim everything done given belong belongs contain contains hold following respective "
    "current time "
    "times who whose what "
    "which when "
    "where how long far old more most least other ist sind der die das den dem des ein eine einen einer im in "
    "am an von vom für mit und oder bin bist hat habe hast haben hatte hatten mir mich "
    "uns wurde wurden wird werden wie viel viele welche welcher "
    "welches welchen wer wann wo zeige nenne alle es per by wir ich unser unsere mein meine gibt auf bei zu "
    "zum zur aus als sich man pro je nach number verein stored wohnen wohnt ging gehen geht "
    "any use uses bring brought bitte liste nur zähle dabei "
    "woher wohin wem wen stammt stammen"
)
FILLERS = STOP_WORDS | frozenset(_FILLERS.casefold().split())
"""Words that need no place in a plan."""
_RANKED = "grade grades note noten mark marks rank place pos position time zeit platz pace handicap errors lap"
RANKED = frozenset(_RANKED.split())
"""Headers of numbers whose best may be the lowest."""
READINGS = frozenset({"result", "value", "reading", "measurement", "ergebnis", "wert", "messwert"})
"""Headers of what a log is written for."""
BORN = frozenset(["age", "born", "birth", "birthday", "birthdate", "dob", "geboren", "geburt", "geburtstag", "alter"])
"""Headers that say how old somebody is."""
_MEASURED = "verbraucht geleistet gemacht consumed used measured recorded reached gemessen erreicht"
MEASURED_VERBS = frozenset(_MEASURED.split())
"""Verbs that say no more than that there is so much of something, where the column of it is named."""
OPEN_WORDS = frozenset(
    ["open", "offen", "offene", "offenen", "outstanding", "ausstehend", "ausstehende", "ausstehenden", "pending"]
)
"""What is said of what was not paid, done or returned yet."""
CLOSED = _roots_of("paid bezahlt done erledigt closed completed finished returned settled beglichen resolved delivered")
"""Headers of columns that say whether or when that happened."""


_CONCEPT_ASKED: tuple[tuple[str, str], ...] = (
    (r"how long(?= .*\b(?:take|takes|took|last|lasts|lasted)\b)|wie lange", "duration"),
    (r"how long|wie lang\w*", "distance duration"), (r"how far|wie weit", "distance"),
    (r"how heavy|wie schwer", "weight"),
    (r"how old|wie alt", "age"), (r"how (?:tall|high)|wie hoch", "height"), (r"how (?:hot|cold|warm)", "temperature"),
    (r"how fast|wie schnell", "speed"), (r"how (?:big|large)|wie groß", "size"), (r"how expensive|wie teuer", "money"),
    (r"when|wann|on (?:which|what) (?:days?|dates?)|an welche[mn] tag\w*", "date"),
    (r"where|wo|woher|wohin", "place"), (r"who|whom|wer|wen", "person"),
)  # fmt: skip


def asked_concepts(text: str) -> tuple[str, ...]:
    """What a question asks for without a header, such as `how long` or `who`.

    >>> asked_concepts("how long was it"), asked_concepts("the red one")
    (('distance', 'duration'), ())
    """
    for pattern, concepts in _CONCEPT_ASKED:
        if re.search(rf"(?<!\S)(?:{pattern})(?!\S)", text):
            return tuple(concepts.split())
    return ()


_ASKS = {"who": "who", "whom": "who", "wer": "who", "wem": "who", "when": "when", "wann": "when", "where": "where"}
_ASKS |= {"wen": "who", "wo": "where", "wohin": "where", "woher": "where"}


def wants_of(words: list[str]) -> str:
    """The word that asks: `how much`, `which`, `who`, `when`, `list` or `what`."""
    for at, word in enumerate(words):
        if word == "how" and words[at + 1 : at + 2] == ["much"]:
            return "how much"
        if word == "wieviel" or (word == "wie" and words[at + 1 : at + 2] in (["viel"], ["hoch"])):
            return "how much"
        if word in {"which", "welche", "welcher", "welches", "welchen", "welchem"}:
            return "which"
        if word in _ASKS:
            return _ASKS[word]
        if word in {"list", "show", "name", "nenne", "zeige", "give"} and at < 3:
            return "list"
        if word in {"what", "was", "how", "wie"} and at < 3:
            return "what"
    return "what"


AUXILIARIES = frozenset({"do", "does", "did", "have", "has", "had"})
BEING = AUXILIARIES | {"is", "are", "was", "were", "came", "come", "went", "go", "ist", "sind", "war", "waren", "hat"}
_STATES = "sold lent given driven paid spent bought taken won lost drawn thrown done made sent bezahlt verkauft"
STATES = frozenset((*_STATES.split(), "status", "state", "stand"))
"""Words in headers that do not end in `ed` and say what became of a row."""
_PLANNED = (
    "planned budgeted estimated forecast eingeplant geplant veranschlagt vorgesehen",
    "plan planned budget ansatz soll",
)
_REAL = "actual actually really tatsächlich wirklich", "actual result ergebnis ist"
PLANNED_OR_REAL = tuple(tuple(frozenset(each.split()) for each in pair) for pair in (_PLANNED, _REAL))
"""What people say of numbers that were planned, and that came of it, and the words of such headers."""
DUE = _roots_of("due deadline fällig frist")
OTHER_MONEY = _roots_of("fine deposit donation discount refund bonus tip tax strafe kaution spende rabatt pfand")
"""Amounts that are no cost."""
MEASURED_IN = UNITS_OF | {"height": {"m", "cm"}, "depth": {"m", "cm", "mm"}, "size": {"m²", "hectare", "acre"}}
"""Units of what is named as well: `how deep was the draught`."""


def in_capitals(question: str, count: int) -> frozenset[int]:
    """The words of a question that alone are in capitals."""
    said = asked_words(question, folded=False)
    found = frozenset(
        at for at, word in enumerate(said) if word.isupper() and word.isalpha() and word not in {"I", "A"}
    )
    return found if len(said) == count and len(found) < count else frozenset()


def with_capitals(question: str, count: int) -> frozenset[int]:
    """The words of a question that begin with a capital letter."""
    said = asked_words(question, folded=False)
    return frozenset(at for at, word in enumerate(said) if word[0].isupper()) if len(said) == count else frozenset()


def in_brackets(question: str) -> frozenset[int]:
    """The words of a question that stand in brackets."""
    spans = ((len(asked_words(question[: found.start()])), found[0]) for found in re.finditer(r"\([^()]*\)", question))
    return frozenset(at for start, said in spans for at in range(start, start + len(asked_words(said))))


def capital_max(question: str, words: Sequence[str]) -> set[int]:
    """The places of `Max` within a question: a name begins with a capital letter."""
    said = asked_words(question, folded=False)
    is_same = len(said) == len(words)
    return {at for at, word in enumerate(said) if is_same and at and word in {"Max", "Min"}}
