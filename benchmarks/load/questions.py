"""Questions for load: distinct ones in the words of a folder of notes, the same for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

WORDS_A_QUESTION = (4, 9)
_SENTENCE = re.compile(r"[^.!?\n|`#>*\[\](){}]{40,400}")
_WORD = re.compile(r"[\w'-]+")
FORMS = ("What is known of {}?", "{}?", "Why {}?", "Where does it say that {}?", "Tell me about {}")


def questions(texts: Sequence[str], count: int, *, seed: int = 1) -> list[str]:
    """*count* distinct questions, each a run of a sentence's own words in one of a few forms.

    Raises:
        ValueError: The texts have too few words for that many.

    >>> questions(["The pump is restarted by pressing the green button twice in a row."], 2, seed=3)
    ['by pressing the green button twice in a?', 'Tell me about restarted by pressing the green button twice in']
    """
    source = random.Random(seed)
    runs = [words for text in texts for found in _SENTENCE.findall(text) if len(words := _WORD.findall(found)) > 4]
    made: dict[str, None] = {}
    for _ in range(count * 50 if runs else 0):
        words = source.choice(runs)
        length = min(source.randint(*WORDS_A_QUESTION), len(words))
        begin = source.randint(0, len(words) - length)
        made[source.choice(FORMS).format(" ".join(words[begin : begin + length]))] = None
        if len(made) == count:
            return list(made)
    raise ValueError(f"{len(runs)} sentences give {len(made)} questions, not {count}")


def texts_of(folder: Path) -> list[str]:
    """The Markdown files below *folder*, in the order of their names."""
    return [path.read_text("utf-8", errors="replace") for path in sorted(folder.rglob("*.md"))]
