"""The rows of several segments as one: without what was removed, replaced, or can never answer again."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby

from bucketindex.layout import sign_bytes
from bucketindex.rows import RevisionKey, StoredChunk
from bucketindex.segment import OpenSegment
from bucketindex.view import Place, View
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.chunk_index import FindDead

ASKED = 100  # revisions at once: what one batch read of heads takes


class MergedRows:
    """The rows of *segments*, in order; which documents are left is found when it is made.

    Raises:
        DeadlineError: The time was used up.
    """

    def __init__(self, view: View, segments: Sequence[OpenSegment], dead: FindDead, deadline: Deadline) -> None:
        self._view = view
        self._deadline = deadline
        self._left = [each for batch in _batches(_documents(segments)) for each in self._alive(batch, dead)]

    @property
    def is_empty(self) -> bool:
        """Whether no chunk is left."""
        return not self._left

    def __iter__(self) -> Iterator[StoredChunk]:
        for order, places in groupby(self._left, key=lambda each: each[0]):
            self._deadline.timeout_s(1.0, stage="index")
            rows = [row for _, segment, number in places for row in self._rows(order, segment, number)]
            yield from sorted(rows, key=lambda row: row.ordinal)

    def _alive(self, batch: list[Place], dead: FindDead) -> list[Place]:
        self._deadline.timeout_s(1.0, stage="index")
        tenant = self._view.index.tenant
        kept = [each for each in batch if self._chunks(each[1], each[2])]
        found = {(DocumentKey(tenant, order[0], order[1]), order[2]) for order, _, _ in kept}
        gone = dead(sorted(found, key=lambda each: (each[0].s3_key, each[1]))) if found else set()
        return [each for each in kept if (DocumentKey(tenant, each[0][0], each[0][1]), each[0][2]) not in gone]

    def _chunks(self, segment: OpenSegment, document: int) -> list[int]:
        gone = self._view.gone(segment)
        return [number for number in range(*segment.chunk_range(document)) if number not in gone]

    def _rows(self, order: RevisionKey, segment: OpenSegment, document: int) -> Iterator[StoredChunk]:
        numbers = self._chunks(segment, document)
        encoded = segment.document_bytes(document)
        size = segment.header.dimension
        signs = sign_bytes(size)
        for number, body in zip(numbers, segment.bodies(numbers, self._deadline), strict=True):
            vector = bytes(segment.vectors[number * size : (number + 1) * size])
            kept_signs = bytes(segment.signs[number * signs : (number + 1) * signs])
            ordinal = segment.ordinals(number, number + 1)[0]
            yield StoredChunk(order, ordinal, encoded, body, vector, kept_signs, segment.norms[number])


def _documents(segments: Sequence[OpenSegment]) -> Iterator[Place]:
    return heapq.merge(*map(_places, segments), key=lambda place: place[0])


def _places(segment: OpenSegment) -> Iterator[Place]:
    for order, number in segment.documents_from(("", "", -1)):
        yield order, segment, number


def _batches(places: Iterator[Place]) -> Iterator[list[Place]]:
    batch: list[Place] = []
    for place in places:
        batch.append(place)
        if len(batch) == ASKED:
            yield batch
            batch = []
    if batch:
        yield batch
