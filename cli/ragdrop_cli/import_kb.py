"""`ragdrop import-kb`: a vault with the files of an Amazon Bedrock knowledge base, and what will differ."""

from __future__ import annotations

import json
import mimetypes
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey, is_folder
from ragdrop.errors import ConfigurationError, DependencyError, InvalidParamsError, NotFoundError
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, progress, say, say_object
from ragdrop_cli.session import packages, session_of

MEDIA = ("image", "audio", "video")
UNREAD = (".doc", ".ppt")  # the older formats of Word and PowerPoint
SAMPLED = 200  # metadata files that are read
TYPED = ("stringValue", "numberValue", "booleanValue", "stringListValue")
NEITHER = {"KENDRA": "a Kendra index", "SQL": "a database"}
STEPS = {
    "FIXED_SIZE": "pieces of {maxTokens} tokens that overlap by {overlapPercentage} %",
    "HIERARCHICAL": "small pieces inside larger ones, of which answers get the larger",
    "SEMANTIC": "pieces of up to {maxTokens} tokens by a model's opinion of where meaning changes",
    "NONE": "one piece a file",
}
PARSERS = {
    "BEDROCK_FOUNDATION_MODEL": "a chat model",
    "BEDROCK_DATA_AUTOMATION": "Bedrock Data Automation",
    "SMART_PARSING": "Bedrock's smart parsing",
    "MULTI_MODAL_EMBEDDINGS": "a model that embeds pictures and sound",
}
SPLIT = "ragdrop cuts by headings and sentences and shows what stands around a passage (chunk_tokens in settings)"

BaseId = Annotated[str, typer.Argument(metavar="ID", help="The knowledge base's id, ten letters and digits.")]
VaultName = Annotated[
    str | None, typer.Option("--vault", help="The vault to make or fill.", show_default="made of the base's name")
]
Region = Annotated[
    str | None, typer.Option("--region", help="Where the knowledge base is.", show_default="as the AWS CLI has it")
]
Copy = Annotated[bool, typer.Option("--yes", help="Copy the files; without it nothing is written.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing, whatever else is said.")]


@dataclass(frozen=True, slots=True)
class BaseFile:
    """An object that a knowledge base reads; `path` is the document's path in the vault."""

    bucket: str
    key: str
    path: str
    size_bytes: int
    etag: str


@dataclass(slots=True)
class BaseReport:
    """What a knowledge base reads and what will differ.  `left_out` counts files by the reason."""

    name: str
    sources: list[str] = field(default_factory=list)
    files: list[BaseFile] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    differs: list[str] = field(default_factory=list)
    attributes: dict[str, set[str]] = field(default_factory=dict)

    @property
    def documents(self) -> list[BaseFile]:
        """The files without the metadata files beside them."""
        return [each for each in self.files if not each.path.endswith(SIDECAR_SUFFIX)]


def import_kb(
    context: typer.Context,
    base: BaseId,
    *,
    vault: VaultName = None,
    region: Region = None,
    yes: Copy = False,
    dry_run: DryRun = False,
    as_json: AsObject = False,
) -> None:
    """Report what an Amazon Bedrock knowledge base reads and what will differ; with --yes copy its files into a vault.

    Reads its data sources in S3 with your AWS credentials: files and the metadata files beside them, which mean the
    same here. The copy goes from bucket to bucket; what is there already is not copied again. Data sources of other
    kinds are named and left out. The knowledge base stays as it is (operator).
    """
    session = session_of(context)
    agent, s3 = session.aws("bedrock-agent", region), session.aws("s3", None)
    with session.client() as client:
        known = client.me()
    report = read_base(agent, s3, base, max_bytes=int(known["max_upload_bytes"]))
    name = vault or vault_name(report.name)
    copied = None
    if yes and not dry_run:
        stack = session.stack()
        with progress(f"copying to {name}", len(report.files)) as tell:
            copied = 0
            for done, took in enumerate(copy_files(s3, report.files, stack.bucket, str(known["tenant"]), name), 1):
                copied += took
                tell(done, len(report.files))
    if as_json:
        say_object({**_fields(report), "vault": name, "copied": copied})
        return
    _say_report(report)
    if copied is None:
        say(f"nothing was written: --yes copies {len(report.files)} files into the vault {name}")
        return
    say(f"{copied} of {len(report.files)} files were copied into the vault {name}, the others were there")
    note(f"next: `ragdrop ls --vault {name}` shows how far indexing is; `ragdrop vaults --json` has the id for clients")


def vault_name(text: str) -> str:
    """A vault's name, 2 to 63 of a-z, 0-9 and -, made of any other.

    >>> vault_name("Acme Handbook_2026"), vault_name("é")
    ('acme-handbook-2026', 'knowledge-base')
    """
    found = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63]
    return found if len(found) > 1 else "knowledge-base"


def read_base(agent: Any, s3: Any, base: str, *, max_bytes: int) -> BaseReport:
    """What the knowledge base of the id *base* reads; *agent* and *s3* are low-level clients.

    Files of more than *max_bytes* bytes are left out, as is what ragdrop does not read.

    Raises:
        NotFoundError: There is no such knowledge base.
        ConfigurationError: It reads no files, or AWS refused.
        DependencyError: AWS did not answer.
    """
    with _aws_errors(base):
        found = agent.get_knowledge_base(knowledgeBaseId=base)["knowledgeBase"]
        kind = found["knowledgeBaseConfiguration"]["type"]
        if kind in NEITHER:
            raise ConfigurationError(f"knowledge base {base} reads {NEITHER[kind]} and no files")
        report = BaseReport(str(found["name"]), differs=_of_base(found))
        listed = agent.get_paginator("list_data_sources").paginate(knowledgeBaseId=base)
        ids = [each["dataSourceId"] for page in listed for each in page["dataSourceSummaries"]]
        sources = [agent.get_data_source(knowledgeBaseId=base, dataSourceId=each)["dataSource"] for each in ids]
        buckets = {_bucket_of(source) for source in sources} - {""}
        for source in sources:
            report.differs += [each for each in _of_source(source) if each not in report.differs]
            if bucket := _bucket_of(source):
                prefixes = source["dataSourceConfiguration"]["s3Configuration"].get("inclusionPrefixes") or [""]
                report.sources += [f"s3://{bucket}/{prefix}" for prefix in prefixes]
                objects = _objects(s3, bucket, prefixes, under=f"{bucket}/" if len(buckets) > 1 else "")
                _note_files(report, objects, max_bytes)
        report.differs += _of_metadata(report, s3)
    return report


def _bucket_of(source: Mapping[str, Any]) -> str:
    """The bucket of a data source in S3; empty for another kind."""
    arn = source["dataSourceConfiguration"].get("s3Configuration", {}).get("bucketArn", "")
    return str(arn).rpartition(":")[2]


def _objects(s3: Any, bucket: str, prefixes: Sequence[str], *, under: str) -> Iterator[BaseFile]:
    """What lies below *prefixes*; in the vault it lies in the folder *under*."""
    for prefix in prefixes:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for each in page.get("Contents", ()):
                if not is_folder(each["Key"], each["Size"]):
                    etag = each["ETag"].strip('"')
                    yield BaseFile(bucket, each["Key"], under + each["Key"], each["Size"], etag)


def _note_files(report: BaseReport, objects: Iterator[BaseFile], max_bytes: int) -> None:
    """Note each of *objects* once, as a file to copy or as left out."""
    for file in set(objects) - set(report.files):
        if reason := _left_out(file, max_bytes):
            report.left_out[reason] += 1
        else:
            report.files.append(file)
    report.files.sort(key=lambda each: each.path)


def _left_out(file: BaseFile, max_bytes: int) -> str | None:
    """Why a file is not copied; None where it is.

    >>> [_left_out(BaseFile("b", path, path, 9, ""), max_bytes=10) for path in ("a.mp4", "a.md")]
    ['.mp4 is not read', None]
    """
    suffix = "." + file.path.rpartition(".")[2].lower()
    kind = (mimetypes.guess_type(file.path)[0] or "").partition("/")[0]
    if kind in MEDIA or suffix in UNREAD:
        return f"{suffix} is not read"
    if file.size_bytes > max_bytes:
        return f"over {max_bytes // 1_048_576} MB"
    return "a path that no document may have" if DocumentKey("tenant", "vault", file.path).problem else None


def _of_base(base: Mapping[str, Any]) -> list[str]:
    """How the index will differ."""
    settings = base["knowledgeBaseConfiguration"]
    own = settings.get("vectorKnowledgeBaseConfiguration") or settings.get("managedKnowledgeBaseConfiguration") or {}
    bedrocks = own.get("embeddingModelConfiguration", {}).get("bedrockEmbeddingModelConfiguration", {})
    size = f" with {bedrocks['dimensions']} dimensions" if "dimensions" in bedrocks else ""
    model = str(own.get("embeddingModelArn", "")).rpartition("/")[2] or "a model that Bedrock chose"
    found = [f"vectors: {model}{size} there; ragdrop embeds everything again by its own model (EMBEDDING_MODEL)"]
    if bedrocks.get("embeddingDataType") == "BINARY":
        found.append("vectors: binary there; ragdrop stores 8-bit integers")
    if store := base.get("storageConfiguration", {}).get("type"):
        found.append(f"index: {store} there; ragdrop's lies in the bucket, or in an OpenSearch of yours")
    if own.get("supplementalDataStorageConfiguration"):
        found.append("pictures: stored and shown there; ragdrop reads the text around them alone")
    return found


def _of_source(source: Mapping[str, Any]) -> Iterator[str]:
    """How what is read of one data source will differ."""
    settings, name = source["dataSourceConfiguration"], source["name"]
    if settings["type"] != "S3":
        yield f"data source {name}: {settings['type']}, which is left out: put its files into the vault by other means"
        return
    steps = source.get("vectorIngestionConfiguration", {})
    chunking = steps.get("chunkingConfiguration", {})
    strategy = chunking.get("chunkingStrategy", "DEFAULT")
    sizes = next((each for each in chunking.values() if isinstance(each, Mapping)), {})
    words = STEPS.get(strategy, "about 300 tokens a piece").format_map({"maxTokens": "?", **sizes})
    yield f"chunks of {name}: {strategy}, {words}, there; {SPLIT}"
    if parsing := steps.get("parsingConfiguration", {}).get("parsingStrategy"):
        yield f"parsing of {name}: {PARSERS.get(parsing, parsing)} there; ragdrop has its own readers, no model"
    if steps.get("customTransformationConfiguration"):
        yield f"transformation of {name}: a Lambda function there; ragdrop calls none"
    if steps.get("contextEnrichmentConfiguration"):
        yield f"enrichment of {name}: a chat model finds entities there; ragdrop follows the links that documents have"
    if source.get("dataDeletionPolicy") == "RETAIN":
        yield f"deletion of {name}: stays in the index there; what is deleted here is in no answer from then on"
    if settings["s3Configuration"].get("bucketOwnerAccountId"):
        yield f"bucket of {name}: another account's, whose policy must let your credentials read it"


def _of_metadata(report: BaseReport, s3: Any) -> list[str]:
    """Read up to 200 metadata files; how filters by what they say will differ."""
    rows = 0
    for file in [each for each in report.files if each.path.endswith(SIDECAR_SUFFIX)][:SAMPLED]:
        try:
            stated = json.loads(s3.get_object(Bucket=file.bucket, Key=file.key)["Body"].read())
            values = dict(stated["metadataAttributes"])
        except (ValueError, KeyError, TypeError):
            report.left_out["a metadata file that cannot be read; it is copied and means nothing"] += 1
            continue
        rows += "documentStructureConfiguration" in stated
        for name, value in values.items():
            report.attributes.setdefault(name, set()).add(kind_of_value(value))
    found = []
    if rows:
        found.append(f"{rows} metadata files name columns of a CSV file: ragdrop reads every column of a table")
    kinds = {kind: sorted(name for name, of in report.attributes.items() if kind in of) for kind in ("number", "list")}
    if kinds["number"]:
        names = ", ".join(kinds["number"])
        found.append(f"filters by {names}: equals, in and their negations; ranges of numbers are refused")
    if kinds["list"]:
        names = ", ".join(kinds["list"])
        found.append(f"filters by {names}: listContains works for tags alone")
    found += [
        "filters: stringContains, and orAll over several keys, are refused",
        "no sync: a file in the bucket counts",
    ]
    return found


def kind_of_value(value: object) -> str:
    """The kind of an attribute's value, which newer metadata files wrap.

    >>> kind_of_value(2026), kind_of_value({"value": {"type": "STRING_LIST", "stringListValue": ["a"]}})
    ('number', 'list')
    """
    if isinstance(value, Mapping) and isinstance(value.get("value"), Mapping):
        value = next((value["value"][name] for name in TYPED if name in value["value"]), None)
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "list" if isinstance(value, list) else "string"


def copy_files(s3: Any, files: Sequence[BaseFile], bucket: str, tenant: str, vault: str) -> Iterator[bool]:
    """Copy *files* into a vault, metadata files first; whether each was copied, or was there with the same bytes.

    Raises ConfigurationError: there is no bucket to copy to, or AWS refused. DependencyError: AWS did not answer.
    """
    if not bucket:
        raise ConfigurationError("the stack file names no bucket; `ragdrop connect STACK` writes it")
    start = f"{tenant}/{vault}/"
    with _aws_errors(bucket):
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=start)
        there = {each["Key"]: each["ETag"].strip('"') for page in pages for each in page.get("Contents", ())}
        for file in sorted(files, key=lambda each: not each.path.endswith(SIDECAR_SUFFIX)):
            key = DocumentKey.checked(tenant, vault, file.path).s3_key
            if there.get(key) == file.etag:
                yield False
                continue
            s3.copy_object(Bucket=bucket, Key=key, CopySource={"Bucket": file.bucket, "Key": file.key})
            yield True


def _fields(report: BaseReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "sources": report.sources,
        "documents": len(report.documents),
        "metadata_files": len(report.files) - len(report.documents),
        "bytes": sum(each.size_bytes for each in report.files),
        "left_out": dict(report.left_out),
        "attributes": {name: sorted(kinds) for name, kinds in sorted(report.attributes.items())},
        "differs": report.differs,
    }


def _say_report(report: BaseReport) -> None:
    found = _fields(report)
    say(f"knowledge base {report.name}: {', '.join(report.sources) or 'no data source in S3'}")
    size = found["bytes"] / 1_000_000
    say(f"{found['documents']} files, {found['metadata_files']} metadata files beside them, {size:.1f} MB")
    for reason, count in report.left_out.items():
        say(f"left out: {count} ({reason})")
    say("what differs:")
    for each in report.differs:
        say(f"- {each}")


@contextmanager
def _aws_errors(what: str) -> Iterator[None]:
    """Turn the SDK's errors within the block into ragdrop's; they have codes, never the request."""
    with packages():
        from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
    try:
        yield
    except ClientError as exc:
        code = str(exc.response.get("Error", {}).get("Code", ""))
        if code == "ResourceNotFoundException":
            raise NotFoundError(f"there is no knowledge base {what}", field="id", value=what) from exc
        if code in {"AccessDenied", "AccessDeniedException", "NoSuchBucket"}:
            message = f"AWS answered {code} for {what}: bedrock:GetKnowledgeBase, ListDataSources, GetDataSource, "
            raise ConfigurationError(message + "s3:ListBucket, s3:GetObject and s3:PutObject are needed") from exc
        raise DependencyError(f"AWS answered {code} for {what}", service="aws", retryable=False) from exc
    except ParamValidationError as exc:
        raise InvalidParamsError(f"{what[:80]!r} is no id of a knowledge base", field="id", value=what[:80]) from exc
    except BotoCoreError as exc:
        raise DependencyError(f"AWS did not answer for {what} ({type(exc).__name__})", service="aws") from exc
