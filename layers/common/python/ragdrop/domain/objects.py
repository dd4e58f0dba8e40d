"""What a bucket tells of its objects besides their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListedObject:
    """What a listing says of one key: its newest version, or that a delete marker is on top (`deleted`)."""

    key: str
    version_id: str
    modified_at: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class UploadForm:
    """Where a form is posted to, and the fields that must stand in it before the file."""

    url: str
    fields: Mapping[str, str]
