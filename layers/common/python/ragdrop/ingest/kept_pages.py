"""Recognised pages of a document in the state bucket: a retry, or the next version, does not recognise them again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ragdrop.domain.keys import DocumentKey
from ragdrop.ports import ObjectStore, RecognizedPages, RecognizedText

MAX_VERSIONS = 2  # of a document whose pages are remembered: the one that is read, and the one before it


class KeptPages(RecognizedPages):
    """The pages of one version of a document; nothing is read before it is asked for.  Nothing here crosses a document.

    One object a document holds the texts by the digest of the page's picture, and for each version which pictures its
    pages show.

    Args:
        state: The state bucket.
        key: The document.
        version: The digest of the object's bytes.
        is_wanted: Whether the version is still to be indexed: nothing is kept of a document that was purged meanwhile.
    """

    def __init__(
        self, state: ObjectStore, key: DocumentKey, version: str, *, is_wanted: Callable[[], bool] = lambda: True
    ) -> None:
        self._state, self._name, self._version, self._is_wanted = state, pages_name(key), version, is_wanted
        self._changed = False

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return json.loads(self._state.get(self._name) or b'{"texts": {}, "versions": {}}')  # type: ignore[no-any-return]

    @cached_property
    def _pictures(self) -> dict[str, str | None]:
        """The digest of each page's picture, by the page's number; None of one without a picture."""
        versions: dict[str, dict[str, str | None]] = self._kept["versions"]
        pictures = versions.pop(self._version, {})
        for older in list(versions)[: 1 - MAX_VERSIONS or None]:
            del versions[older]
        versions[self._version] = pictures  # the last one is the youngest
        return pictures

    @cached_property
    def pages(self) -> dict[int, RecognizedText | None]:  # type: ignore[override]
        """What the pages of this version say, by their number from 0."""
        return {int(page): self._text(digest) for page, digest in self._pictures.items()}

    def known(self, picture: bytes) -> RecognizedText | None:
        """What this picture says, where a version of the document had it."""
        return self._text(_digest(picture))

    def keep(self, page: int, picture: bytes | None, text: RecognizedText | None) -> None:
        """Note what a page says."""
        self.pages[page] = text
        digest = self._pictures[str(page)] = None if picture is None else _digest(picture)
        if digest is not None and text is not None:
            self._kept["texts"][digest] = [text.text, text.confidence]
        self._changed = True

    def save(self) -> None:
        """Keep what was noted, without texts of versions that are forgotten."""
        if not self._changed or not self._is_wanted():
            return
        used = {digest for pictures in self._kept["versions"].values() for digest in pictures.values()}
        texts = {digest: text for digest, text in self._kept["texts"].items() if digest in used}
        body = json.dumps({"texts": texts, "versions": self._kept["versions"]}, ensure_ascii=False).encode()
        self._state.put(self._name, body, media_type="application/json")
        self._changed = False

    def _text(self, digest: str | None) -> RecognizedText | None:
        found = self._kept["texts"].get(digest)
        return None if found is None else RecognizedText(*found)


def pages_name(key: DocumentKey) -> str:
    """Where the recognised pages of a document are.

    >>> pages_name(DocumentKey("acme", "team", "scan.pdf"))[:11]
    'pages/acme/'
    """
    return f"pages/{key.tenant}/{key.digest}"


def _digest(picture: bytes) -> str:
    return hashlib.sha256(picture).hexdigest()
