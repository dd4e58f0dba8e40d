"""How questions say bounds, what is folded, differences and groups: regular expressions over words in small letters."""

from __future__ import annotations

import re

from ragdrop.tables.plans import Operation
from ragdrop.tables.vocabulary import COMPARATIVES, LOWER

_MORE_WORDS = "more less fewer higher lower larger bigger greater mehr weniger höher niedriger grösser kleiner"
_NUMBER = r"(?:(?P<sign>eur|usd|gbp|chf) )?(?P<n>-?\d[\d.,']*)(?: (?P<k>thousand|million|k))?"
_THAN = (
    r"(?P<word>more|greater|higher|larger|bigger|less|fewer|lower|smaller|mehr|weniger|größer|kleiner|höher|"
    + "|".join(COMPARATIVES)
    + r")(?: (?P<adjective>expensive|costly))? (?:than|als)"
)
BOUND_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?<!\S)(?:{pattern.replace('ß', 'ss')})(?!\S)"), sign)
    for pattern, sign in (
        (rf"(?:no|not) {_THAN} {_NUMBER}", "not"),
        (rf"{_THAN} {_NUMBER}", "than"),
        (rf"(?:between|zwischen) {_NUMBER} (?:and|und) (?P<m>\d[\d.,']*)", "between"),
        (rf"(?:at least|a minimum of|mindestens|>=) {_NUMBER}", ">="),
        (rf"(?:at most|up to|a maximum of|höchstens|maximal|bis zu|<=) {_NUMBER}", "<="),
        (rf"{_NUMBER} (?:(?P<unit>\w+) )?or (?:more|above|over|longer|higher)", ">="),
        (rf"{_NUMBER} (?:(?P<unit>\w+) )?or (?:less|fewer|below|under|shorter|lower)", "<="),
        (rf"(?:(?P<word>over|above|exceed|exceeds|exceeded|exceeding|beyond|über|>)) {_NUMBER}", "than"),
        (rf"(?:(?P<word>under|below|unter|<)) {_NUMBER}", "than"),
        (rf"(?:exactly|equal to|genau) {_NUMBER}", "="),
    )
)
FOLD_PATTERNS: tuple[tuple[re.Pattern[str], Operation | str], ...] = tuple(
    (re.compile(rf"(?<!\S)(?:{pattern})(?!\S)"), fold)
    for pattern, fold in (
        (r"(?:what |which )?(?:share|percentage|percent) of(?: all)?|wie viel prozent", "share"),
        (r"(?:welche[nr] )?anteil(?: in prozent)?", "share"),
        (r"what percentage", "share"),
        (r"(?:average|mean) number of", "mean"),
        (r"how many (?:different|distinct|unique)|wie viele (?:verschiedene|unterschiedliche)", "distinct"),
        (r"(?:the )?number of (?:different|distinct|unique)", "distinct"),
        (r"how many|how often|how many times|wie ?viele[nr]?|wie oft|(?:the |total )?number of", "count"),
        (r"count(?: of| them)?|anzahl", "count"),
        (r"(?:im |the )?(?:median|zentralwert)", "median"),
        (r"on average|average|mean|mittlere[nrs]?|im durchschnitt|durchschnitt\w*|im schnitt", "mean"),
        (r"in total|total|sum(?: of)?|altogether|(?:all )?together|in all|combined|overall|so far", "sum"),
        (r"insgesamt|summe|zusammen|bisher", "sum"),
        (r"gesamt\w*|add(?:ed|s)? up(?: all)?(?: the)?|summed up|come to(?= in |$)", "sum"),
    )
)
IN_PERCENT = re.compile(r"(?<!\S)(?:in|as a|as) (?:percent|percentage|per cent|prozent)(?!\S)")
_MORE = "|".join(
    sorted({*COMPARATIVES, *LOWER, *_MORE_WORDS.split()} - {"under", "below", "unter"}, key=len, reverse=True)
)
_GAP = r"(?: (?!were|was|are|is|took|take|cost|costs|weighs?|lasted|have|has|had|got|did|of)\w+)?"
DIFFERENCE_SAID = re.compile(
    r"(?<!\S)(?:(?P<how>(?:the )?difference)(?=(?: \w+){0,6} between )"
    r"|(?P<wie>differenz|unterschied)(?=.* (?:zwischen|und) )"
    rf"|(?P<much>how (?:much|many)){_GAP} (?P<more>{_MORE})(?! than \d)"
    rf"|(?P<by>by how (?:much|many))(?=.* (?P<bigger>{_MORE})\b.* than )"
    rf"|(?P<um>um wie ?viele?)(?=.* (?P<mehr>{_MORE})\b.*\bals )"
    rf"|(?P<viel>wie viel (?:mehr|weniger))|(?P<with>compared (?:to|with)))(?!\S)"
)
GROUP_SAID = re.compile(r"(?<!\S)(?:per|for each|for every|in each|in every|by|each|every|pro|je|nach)(?= (?!\d))")
