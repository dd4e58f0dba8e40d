"""Preconditions of a write: only onto the version that the caller knows, or only where there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragdrop.errors import InvalidParamsError, PreconditionFailedError

ANY = frozenset({"*"})
NOTHING_THERE = ""
_TAG = re.compile(r'\s*(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*')


@dataclass(frozen=True, slots=True)
class Precondition:
    """`If-Match` and `If-None-Match` (RFC 9110, 13.1) as sets of ETags, ANY for `*`, None where not given."""

    match: frozenset[str] | None = None
    none_match: frozenset[str] | None = None

    def onto(self, current: str | None) -> str | None:
        """What a write must find: an ETag, NOTHING_THERE, or None for whatever is there.

        Args:
            current: The ETag of what is there now; None where nothing is.

        Raises:
            PreconditionFailedError: What is there now is not what was asked for.

        >>> Precondition(match=frozenset({"a"})).onto("a"), Precondition(none_match=ANY).onto(None)
        ('a', '')
        """
        if self.match is None and self.none_match is None:
            return None
        if self.match is not None and (current is None or not (self.match == ANY or current in self.match)):
            raise failed("If-Match", current)
        if (
            self.none_match is not None
            and current is not None
            and (self.none_match == ANY or current in self.none_match)
        ):
            raise failed("If-None-Match", current)
        return NOTHING_THERE if current is None else current


NO_PRECONDITION = Precondition()


def failed(field: str, current: str | None) -> PreconditionFailedError:
    """The error of a precondition that does not hold."""
    said = "there is no such document" if current is None else f"the document's ETag is {current}"
    return PreconditionFailedError(f"{field}: {said}", field=field, value=current, allowed=None)


def tags_of(field: str, header: str | None) -> frozenset[str] | None:
    """The ETags of a header of that name, without their quotes.

    Raises:
        InvalidParamsError: It is no list of ETags.

    >>> sorted(tags_of("If-Match", '"a", W/"b"')), tags_of("If-Match", None)
    (['a', 'b'], None)
    """
    if header is None:
        return None
    if header.strip() == "*":
        return ANY
    found = [_TAG.fullmatch(part) for part in header.split(",")]
    if any(each is None for each in found):
        message = f"{field}: {header[:80]!r} is no list of ETags, which stand in double quotes, and no *"
        raise InvalidParamsError(message, field=field, value=ascii(header[:80]), allowed='"ETAG", … or *')
    return frozenset(each[1] for each in found if each is not None)
