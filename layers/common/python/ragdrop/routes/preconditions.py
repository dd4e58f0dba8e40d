"""ETags of documents over HTTP: `If-None-Match` on reads, `If-Match` and `If-None-Match` on writes.

The ETag of a record is `"S3-ETAG.STATE"`: the first part names the version in the bucket, the second changes with
whatever the record says.  A write goes by the first part alone, and takes S3's own ETag as well.
"""

import hashlib
from typing import Annotated

from fastapi import Header, Response
from pydantic import BaseModel

from ragdrop.domain.preconditions import ANY, Precondition, tags_of

VOLATILE = {"request_id", "query_count", "last_retrieved"}  # who only counts answers has seen nothing new
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=1_000, description="Only if the ETag is one of these.")
]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", max_length=1_000, description="Only if the ETag is none of these; * is any."),
]


def etag_of(shown: BaseModel, object_etag: str | None) -> str:
    """The ETag of what is shown of an object, without its quotes."""
    state = hashlib.sha256(shown.model_dump_json(exclude=VOLATILE).encode()).hexdigest()[:16]
    return f"{object_etag or ''}.{state}"


def not_modified(etag: str, if_none_match: str | None) -> Response | None:
    """304 where the caller has what would be shown; None where it must be shown.

    Raises:
        InvalidParamsError: The header is no list of ETags.
    """
    known = tags_of("If-None-Match", if_none_match)
    if known is None or not (known == ANY or etag in known):
        return None
    return Response(status_code=304, headers={"etag": f'"{etag}"'})


def precondition(if_match: str | None, if_none_match: str | None) -> Precondition:
    """What a write must find; of a record's ETag the part that names the version counts.

    Raises:
        InvalidParamsError: A header is no list of ETags.
    """
    return Precondition(_versions("If-Match", if_match), _versions("If-None-Match", if_none_match))


def _versions(field: str, header: str | None) -> frozenset[str] | None:
    tags = tags_of(field, header)
    return tags if tags is None or tags == ANY else frozenset(tag.partition(".")[0] for tag in tags)
