"""Is a sentence supported by these passages?  Rules alone, no model: what is wrong is named, in milliseconds.

>>> found = check("It holds 9 litres. The pump is red.", ["The pump is red. It holds 7 litres."])
>>> [(each.text, each.status, each.reason) for each in found]
[('It holds 9 litres.', 'contradicted', 'number'), ('The pump is red.', 'verified', None)]
"""

from collections.abc import Sequence
from dataclasses import replace

from groundcheck.verdicts import STANDING, Checked, ClaimStatus, Evidence, OpenClaim, Opinion, Passage, SecondOpinion

__all__ = [
    "STANDING",
    "Checked",
    "ClaimStatus",
    "Evidence",
    "OpenClaim",
    "Opinion",
    "Passage",
    "SecondOpinion",
    "check",
]
__version__ = "0.1.0"


def check(
    answer: str, passages: Sequence[Passage | str], *, second_opinion: SecondOpinion | None = None
) -> list[Checked]:
    """Check each sentence of *answer*, in order; any of *passages* may support it.

    A passage without an id gets its index as one.  Spans of evidence are code points of the passage.

    Args:
        answer: One sentence or many, plain or Markdown.
        passages: Texts of any length.
        second_opinion: Judges the sentences that rules leave open, for example by a language model.
    """
    from groundcheck.claims import asserts, find_evidence, known_words, lacks_sources, pieces  # patterns: 60 ms
    from groundcheck.sentences import units

    given = [each if isinstance(each, Passage) else Passage(each) for each in passages]
    named = [each if each.id is not None else replace(each, id=place) for place, each in enumerate(given)]
    short = [piece for each in named for piece in pieces(each)]
    results = []
    for span in units(answer):
        said = answer[span.start : span.end]
        is_claim = asserts(said, lambda: known_words(short))
        found = find_evidence(said, short, second_opinion) if is_claim else Checked(said, "not_a_claim")
        if found.status == "unsupported" and lacks_sources(said, lambda: "\n".join(each.text for each in short)):
            found = Checked(said, "missing")
        results.append(replace(found, start=span.start))
    return results
