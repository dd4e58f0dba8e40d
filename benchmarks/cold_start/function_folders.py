"""The functions of the cold-start benchmark: where their code and packages lie, unzipped, as Lambda would have them."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

from localstack.build import build, build_digest, is_built
from localstack.home import BUILD, REPOSITORY, SHARED, Home

RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six.py", "urllib3")  # what Lambda has already
OF_RUNTIME = {"boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3"}
LAMBDAS = REPOSITORY / "benchmarks/lambdas"
PEERS = {
    "langchain": {
        "ingest": ("langchain-community", "langchain-openai", "langchain-text-splitters", "opensearch-py"),
        "answer": ("langchain-community", "langchain-openai", "opensearch-py"),
    },
    "llama_index": {
        "ingest": (
            "llama-index-core",
            "llama-index-vector-stores-opensearch",
            "llama-index-embeddings-openai-like",
        ),
        "answer": (
            "llama-index-core",
            "llama-index-vector-stores-opensearch",
            "llama-index-embeddings-openai-like",
            "llama-index-llms-openai-like",
        ),
    },
}
OURS = {  # what each does of the two jobs that the frameworks' functions do, and what its first call makes
    "ingest": ("ingest", "ingest.reconcile"),
    "query": ("search", "query.search"),
    "generate": ("answer", "generate.ask"),
    "mcp": (None, "query.search"),
    "sweep": (None, "operate.sweep_tenants"),
}


@dataclass(frozen=True)
class Function:
    """One function: what its first line of work imports, and how large it is.

    `part` is what the first call of ragdrop's functions makes, which imports what only calls need; the peers' functions
    make all of it while they are imported.  `size_bytes` is without compiled files and without the runtime's boto3.
    """

    name: str
    job: str | None
    module: str
    part: str | None
    folders: tuple[Path, ...]
    size_bytes: int


def ours() -> list[Function]:
    """The functions of ragdrop, as `sam build` makes them; it is run where they are not there or not current."""
    digest = build_digest()
    if not is_built(digest):
        home = Home(SHARED, "benchmarks")
        home.make()
        build(home, digest)
    layer = BUILD / "build/CommonLayer/python"
    found = []
    for name, (job, part) in OURS.items():
        folder = BUILD / f"build/{name.capitalize()}Function"
        size = unzipped_bytes(folder) + unzipped_bytes(layer)
        found.append(Function(f"ragdrop {name}", job, "app", part, (folder, layer), size))
    return found


def peers() -> list[Function]:
    """The frameworks' functions of which `make bench-env` has made the environment."""
    found = []
    for peer, jobs in PEERS.items():
        packages = environment(peer)
        if not packages.is_dir():
            continue
        for job, roots in jobs.items():
            size = sum(map(distribution_bytes, needed(packages, roots)))
            name = f"{peer}_{job}"
            found.append(Function(name.replace("_", " "), job, name, None, (LAMBDAS, packages), size))
    return found


def environment(peer: str) -> Path:
    """The packages of a peer's environment."""
    folder = Path(sysconfig.get_path("purelib")).relative_to(sysconfig.get_path("data"))
    return SHARED / f"env/peer-{peer}" / folder


def versions_in(packages: Path, *names: str) -> dict[str, str]:
    """Versions of the distributions *names* in a folder of packages; those that are not there are left out."""
    return {
        each.metadata["Name"]: each.version for name in names for each in distributions(name=name, path=[str(packages)])
    }


@contextmanager
def runtime() -> Iterator[Path]:
    """A folder with the packages that Lambda's runtime has, from this environment; they stand behind the function's."""
    packages = Path(sysconfig.get_path("purelib"))
    with TemporaryDirectory(prefix="ragdrop-runtime-") as folder:
        for name in RUNTIME:
            (Path(folder) / name).symlink_to(packages / name)
        yield Path(folder)


def unzipped_bytes(folder: Path) -> int:
    """Bytes of the files below *folder*, compiled ones left out."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files)


def needed(packages: Path, roots: tuple[str, ...]) -> list[Distribution]:
    """The distributions in *packages* that *roots* need, themselves included, without those of the runtime."""
    there = {_plain(each.metadata["Name"]): each for each in distributions(path=[str(packages)])}
    open_ones = {_plain(name) for name in roots}
    found: dict[str, Distribution] = {}
    while open_ones:
        name = open_ones.pop()
        if name in found or name in OF_RUNTIME or name not in there:
            continue
        found[name] = there[name]
        asked = (Requirement(line) for line in there[name].requires or ())
        open_ones |= {_plain(each.name) for each in asked if each.marker is None or each.marker.evaluate({"extra": ""})}
    return list(found.values())


def distribution_bytes(distribution: Distribution) -> int:
    """Bytes of a distribution's files, compiled ones left out."""
    paths = (Path(str(file.locate())) for file in distribution.files or () if "__pycache__" not in file.parts)
    return sum(path.stat().st_size for path in paths if path.is_file())


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
