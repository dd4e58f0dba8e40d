"""How many tokens of a chat model a text takes at most: a bound by script, where no tokenizer is at hand."""

import re

_SIGN = r"[-=_~*#]{3,8}|[0-9!-/:-@\[-`{-~\n\r\t\x00-\x08\x0b-\x1f\x7f]| {2,8}| (?=[0-9])"
_ENGLISH = re.compile(rf"[A-Z]?[a-z]{{1,6}}|[A-Z]{{1,2}}|{_SIGN}")
_ACCENTED = re.compile(rf"[A-Z]?[a-z]{{1,3}}|[A-Z]{{1,2}}|{_SIGN}")  # of languages with accents words are cut more
_ACCENTS = re.compile(r"[\u00c0-\u024f\u1e00-\u1eff]")
_ACCENTED_SHARE = 0.004  # of a text from which on it is not English
# Tokens of one code point, by block; what is in none takes one for each byte of UTF-8, and a tenth more.
_SCRIPTS = (
    (r"\u0400-\u052f", 0.75),  # Cyrillic
    (r"\u0370-\u03ff\u05d0-\u05f4\u0600-\u064a\u0660-\u06ff\u0750-\u077f\u0900-\u097f", 1.4),  # to Devanagari
    (r"\u3041-\u30ff\uac00-\ud7af", 1.75),  # Kana, Hangul
    (r"\u00a0-\u024f\u05b0-\u05bd\u064b-\u065f\u1e00-\u1eff\u2000-\u2bff\uff00-\uffef", 2.0),  # accents, signs
    (r"\u3000-\u3040\u31c0-\u9fff\uf900-\ufaff", 2.0),  # Han
    (r"\u0980-\u0e7f", 2.25),  # other scripts of India, Thai
)
_BLOCKS = [(re.compile(f"[{block}]"), each) for block, each in _SCRIPTS]
_COUNTED = re.compile(f"[{''.join(block for block, _ in _SCRIPTS)}]+")
_ASCII = re.compile(r"[\x00-\x7f]+")


def estimate_tokens(text: str) -> int:
    """An upper bound of the tokens of *text* for chat models, whose vocabularies have 32,000 entries or more.

    Latin letters count by words and their length, digits and signs one each, other scripts by code point.
    docs/prompts.md compares it with tokenizers.

    >>> [estimate_tokens(text) for text in ("The pump is red.", "1,240", "水泵", "")]
    [6, 6, 5, 0]
    """
    if text.isascii():
        return len(_ENGLISH.findall(text)) + bool(text)
    others = _ASCII.sub("", text)
    accented = len(_ACCENTS.findall(others)) > _ACCENTED_SHARE * len(text)
    found = float(len((_ACCENTED if accented else _ENGLISH).findall(text)))
    found += sum(each * len(block.findall(others)) for block, each in _BLOCKS)
    found += 1.1 * len(_COUNTED.sub("", others).encode(errors="replace"))
    return round(found + 1.49)
