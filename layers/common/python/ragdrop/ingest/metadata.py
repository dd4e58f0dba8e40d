"""Facts of a document from front matter, sidecars and object metadata; a bad value is a warning."""

import datetime
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ragdrop.domain.access import narrowest, stated_groups
from ragdrop.domain.documents import ALIASES, CONTENT_TYPES, PROMOTION_LEVELS, Facts, in_lower_case, written
from ragdrop.domain.keys import DocumentKey
from readers.parsed import ParsedDocument

MAX_TITLE_CHARACTERS = 300
MAX_VALUE_CHARACTERS = 1_000
MAX_TAGS = 50
MAX_TAG_CHARACTERS = 100
MAX_OTHER_FIELDS = 50  # that ragdrop has no name for and that become attributes
TEXT_FIELDS = ("summary", "doc_type", "category", "session_id", "agent")
CHOICES = ("content_type", "promotion_level", "date", "tags", "attributes", "access")
FIELDS = frozenset({"title", *TEXT_FIELDS, *CHOICES})
SYNONYMS = {"tag": "tags", "keyword": "tags", "keywords": "tags", "description": "summary", "alias": ALIASES}
RAGDROPS = "ragdrop-"  # how names of object metadata begin that ragdrop writes itself
MAX_DEPTH = 6  # of maps in fields that become attributes
PLAIN = (str, int, float, bool, datetime.date, datetime.time)
_HEAD = 70_000  # characters in which a front matter that could not be read stands
_ACCESS = re.compile(r"^[ \t\"']*access[ \t\"']*[:=]", re.MULTILINE | re.IGNORECASE)
_HASH = re.compile(r"^#(?=[^\W\d_])")  # before a tag, as in the text of notes
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?)[ \t]*(\S*))?")


def facts_of(
    key: DocumentKey,
    document: ParsedDocument,
    *,
    version_id: str,
    indexed_at: str,
    object_metadata: Mapping[str, str] | None = None,
    sidecar: Mapping[str, Any] | None = None,
    categories: Collection[str] = (),
) -> tuple[Facts, tuple[str, ...], str]:
    """The facts, the warnings met on the way, and how the content type was found: `stated` or `detected`.

    Later wins: headers of a mail, S3 object metadata (`tags` and `attributes` may be JSON), the sidecar, front matter;
    attributes one by one.  Names of fields count in any case, with `-` or a blank for `_`.  Fields that ragdrop has no
    name for become attributes.  A title that is not stated is the first heading of level 1, else the file's name.
    Where *categories* names some, another one is left out.  Of `access` all sources count, the narrowest wins, and what
    cannot be read lets nobody read the document.
    """
    warnings = list(document.warnings)
    own = named_fields(document.metadata, warnings, others=document.media_type == "text/markdown")
    if document.media_type != "text/markdown":
        own.pop("access", None)  # of a page or a mail it is somebody else's word for something else
    metadata = {name: value for name, value in (object_metadata or {}).items() if not name.startswith(RAGDROPS)}
    sources = [named_fields(metadata, warnings), named_fields(sidecar or {}, warnings)]
    sources.insert(2 if document.media_type == "text/markdown" else 0, own)
    attributes = {name: value for each in sources for name, value in _attributes(each, warnings).items()}
    stated = {name: value for each in sources for name, value in each.items() if value not in (None, "")}
    text = {name: _text(stated.get(name), name, warnings) for name in TEXT_FIELDS}
    if categories and text["category"] not in {None, *categories}:
        warnings.append(f"category {str(text['category'])[:40]!r} is not one that the settings list and is left out")
        text["category"] = None
    access = _access([each["access"] for each in sources if "access" in each], document, warnings)
    level = _choice(stated.get("promotion_level"), PROMOTION_LEVELS, "promotion_level", warnings)
    content_type = _choice(stated.get("content_type"), CONTENT_TYPES, "content_type", warnings)
    return (
        Facts(
            title=(_text(stated.get("title"), "title", warnings) or _title(key, document))[:MAX_TITLE_CHARACTERS],
            version_id=version_id,
            indexed_at=indexed_at,
            summary=text["summary"],
            doc_type=text["doc_type"],
            content_type=content_type or document.content_type,  # type: ignore[arg-type]
            promotion_level=level or "standard",  # type: ignore[arg-type]
            date=_date(stated.get("date"), warnings),
            tags=_tags(stated.get("tags"), warnings),
            category=text["category"],
            session_id=text["session_id"],
            agent=text["agent"],
            attributes=attributes,
            char_count=len(document.text),
            access=access,
        ),
        tuple(dict.fromkeys(warnings)),
        "stated" if content_type else "detected",
    )


def named_fields(stated: Mapping[str, Any], warnings: list[str], *, others: bool = True) -> dict[str, Any]:
    """Fields under ragdrop's names; those that it has no name for stand below `others`, if they are asked for.

    >>> named_fields({"Title": "Boat", "doc-type": "guide", "keywords": "a, b", "author": "Mira"}, [])
    {'title': 'Boat', 'doc_type': 'guide', 'tags': 'a, b', 'others': {'author': 'Mira'}}
    """
    found: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    exact = {_folded(name) for name in stated} & FIELDS
    for name, value in stated.items():
        folded = _folded(name)
        synonym = SYNONYMS.get(folded)
        known = folded if folded in FIELDS else synonym if synonym in FIELDS - exact else None
        if known is None:
            rest[ALIASES if ALIASES in (folded, synonym) else name] = value
            continue
        if known in found:
            warnings.append(f"{known} is stated under several names; the last value counts")
        found[known] = value
    return found | ({"others": rest} if rest and others else {})


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip()).lower()


def _title(key: DocumentKey, document: ParsedDocument) -> str:
    heading = next((heading.text for heading in document.headings if heading.level == 1 and heading.text), None)
    return heading or PurePosixPath(key.path).stem.replace("-", " ").replace("_", " ") or key.path


def _text(value: object, name: str, warnings: list[str]) -> str | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, PLAIN):
        text = written(value).strip()
        if len(text) > (limit := MAX_TITLE_CHARACTERS if name == "title" else MAX_VALUE_CHARACTERS):
            warnings.append(f"{name} is cut to its first {limit} characters")
        return text[:limit] or None
    warnings.append(f"{name} must be text and is left out")
    return None


def _access(stated: Sequence[object], document: ParsedDocument, warnings: list[str]) -> tuple[str, ...] | None:
    """The groups that may read a document by what its sources state; None where none states any."""
    unread = any("front matter" in warning for warning in document.warnings) and _ACCESS.search(document.text[:_HEAD])
    if not stated and not unread:
        return None
    lists = [stated_groups(value) for value in stated]
    groups = () if unread else narrowest([() if each is None else each for each in lists])
    if unread or None in lists:
        warnings.append("access is not a list of groups: only admins may read this document")
    elif not groups:
        warnings.append("access names no group: only admins may read this document")
    return groups


def _choice(value: object, allowed: tuple[str, ...], name: str, warnings: list[str]) -> str | None:
    if value is None:
        return None
    word = str(in_lower_case(value))
    if word in allowed:
        return word
    warnings.append(f"{name} {str(value)[:40]!r} is not one of {', '.join(allowed)} and is left out")
    return None


def _date(value: object, warnings: list[str]) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        return _iso_date(str(value).strip())
    except ValueError:
        warnings.append(f"date {str(value)[:40]!r} is not a date of ISO 8601 and is left out")
        return None


def _iso_date(text: str) -> str:
    """A date of ISO 8601, or in one of the other forms that YAML has.

    >>> _iso_date("2024-5-1"), _iso_date("2024-05-01 9:30:00 +02:00")
    ('2024-05-01', '2024-05-01T09:30:00+02:00')
    """
    if found := _DATE.fullmatch(text):
        year, month, day, time, zone = found.groups()
        text = f"{year}-{month:0>2}-{day:0>2}" + (f"T{time:0>{len(time) + (time[1] == ':')}}{zone}" if time else "")
    whole = datetime.datetime.fromisoformat(text) if len(text) > 10 else datetime.date.fromisoformat(text)
    return whole.isoformat()


def _tags(value: object, warnings: list[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = _from_json(value, list)
    values = value.split(",") if isinstance(value, str) and listed is None else listed or value
    if not isinstance(values, list | tuple):
        warnings.append("tags must be a list of words and are left out")
        return ()
    plain = [_HASH.sub("", written(tag).strip()) for tag in values if isinstance(tag, PLAIN)]
    if len(plain) < sum(tag is not None for tag in values):
        warnings.append("tags that are not plain values are left out")
    tags = dict.fromkeys(tag[:MAX_TAG_CHARACTERS] for tag in plain if tag)
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG_CHARACTERS for tag in plain):
        warnings.append(f"tags are cut to {MAX_TAGS} of at most {MAX_TAG_CHARACTERS} characters")
    return tuple(tags)[:MAX_TAGS]


def _attributes(stated: Mapping[str, Any], warnings: list[str]) -> dict[str, str]:
    """The attributes that one source states, and the fields that ragdrop has no name for, below them."""
    value = stated.get("attributes")
    value = _from_json(value, dict) or value
    if not isinstance(value, Mapping):
        if value not in (None, ""):
            warnings.append("attributes must be a map and are left out")
        value = {}
    others = dict(_flat(stated.get("others", {})))
    left = [name for name, text in others.items() if text is None or max(len(name), len(text)) > MAX_VALUE_CHARACTERS]
    fitting = [name for name in others if name not in left]
    if left or len(fitting) > MAX_OTHER_FIELDS:
        names = ", ".join(repr(name[:40]) for name in (left + fitting[MAX_OTHER_FIELDS:])[:5])
        warnings.append(
            f"fields are left out: {names}; up to {MAX_OTHER_FIELDS} fields that ragdrop has no name for become "
            f"attributes, with plain values of at most {MAX_VALUE_CHARACTERS} characters"
        )
    flat = dict(_flat(value))
    if None in flat.values():
        warnings.append("attributes that are not plain values are left out")
    found = {name: others[name] for name in fitting[:MAX_OTHER_FIELDS]} | flat
    return {name: text for name, text in found.items() if text is not None}


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str | None]]:
    """Plain values by their names, those of maps as `map.name`, lists in one text; None where there is no such form."""
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and name.count(".") < MAX_DEPTH:
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list | tuple):
            plain = [written(item) for item in value if isinstance(item, PLAIN)]
            if value:
                yield name, ", ".join(plain) if len(plain) == len(value) else None
        elif isinstance(value, PLAIN):
            yield name, written(value)
        elif value is not None:
            yield name, None


def _from_json(value: object, kind: type) -> Any:
    """What a text holds as JSON, if it is of *kind*: S3 object metadata is text only."""
    if not isinstance(value, str) or value[:1] not in {"[", "{"}:
        return None
    try:
        parsed = json.loads(value, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, kind) else None


MAX_SIDECAR_BYTES = 64 * 1024
BEDROCK_FIELD = "metadataAttributes"  # Amazon Bedrock's sidecars wrap their fields in this one
BEDROCK_VALUES = ("stringValue", "numberValue", "booleanValue", "stringListValue")


def read_sidecar(body: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields of a sidecar and what was wrong with it; a bad one is left out whole, never a failure.

    One that cannot be read and may say who reads the document gives an `access` that names nobody.
    In Bedrock's shape the fields stand one level deeper.  Numbers stay as they are written.

    >>> read_sidecar(b'{"tags": ["a"]}')
    ({'tags': ['a']}, ())
    >>> read_sidecar(b'{"metadataAttributes": {"category": "x", "version": 1.10}}')
    ({'category': 'x', 'version': '1.10'}, ())
    >>> read_sidecar(b'nonsense')
    ({}, ('the sidecar is not valid JSON and is left out',))
    """
    unread: dict[str, Any] = {"access": False} if b"access" in body.lower() else {}  # nobody knows whom it names
    if len(body) > MAX_SIDECAR_BYTES:
        return {"access": False}, (f"the sidecar has over {MAX_SIDECAR_BYTES} bytes and is left out",)
    try:
        fields = json.loads(body, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return unread, ("the sidecar is not valid JSON and is left out",)
    if not isinstance(fields, dict):
        return unread, ("the sidecar is not a JSON object and is left out",)
    wrapped = fields.get(BEDROCK_FIELD)
    if not isinstance(wrapped, dict):
        return fields, ()
    return {name: _bedrock_value(value) for name, value in wrapped.items()}, ()


def _bedrock_value(value: object) -> object:
    """The value of an attribute, which says its type where it also says whether it is embedded.

    >>> _bedrock_value({"value": {"type": "NUMBER", "numberValue": "7"}, "includeForEmbedding": True})
    '7'
    """
    typed = value.get("value") if isinstance(value, dict) else None
    if not isinstance(typed, dict) or "type" not in typed:
        return value
    return next((typed[name] for name in BEDROCK_VALUES if name in typed), value)
