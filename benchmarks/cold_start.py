"""Cold start and size of each function, beside LangChain and LlamaIndex functions that do the same job.

    python -m benchmarks.cold_start [--write] [--quick]

Each import is that of a fresh process, in turns; compared is processor time, as this machine may serve others.  The
peers' environments come from `make bench-env`; without them they are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution, distributions, version
from pathlib import Path
from platform import python_version
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from packaging.requirements import Requirement

from benchmarks import records
from localstack.build import build, build_digest, is_built
from localstack.home import BUILD, REPOSITORY, SHARED, Home

ALONE_BUDGET = 1.15  # import of a handler beside that of its third-party packages alone
IMPORT_GOAL, SIZE_GOAL = 1 / 2, 1 / 3  # beside the lightest framework function of the job
BESIDE = {"search": "answer"}  # the frameworks have no function that only searches
MB = 1_000_000
Found = Mapping[str, Any]
RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six.py", "urllib3")  # what Lambda has already
OF_RUNTIME = {"boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3"}
LAMBDAS = REPOSITORY / "benchmarks/lambdas"
PEERS = {
    "langchain": {
        "ingest": ("langchain-community", "langchain-openai", "langchain-text-splitters", "opensearch-py"),
        "answer": ("langchain-community", "langchain-openai", "opensearch-py"),
    },
    "llama_index": {
        "ingest": ("llama-index-core", "llama-index-vector-stores-opensearch", "llama-index-embeddings-openai-like"),
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
PROBE = Path(__file__).with_name("cold_start_child.py")
TIMEOUT_S = 120
ENVIRONMENT = {
    "INDEX_URL": "http://127.0.0.1:1",
    "EMBEDDING_URL": "http://127.0.0.1:1/v1",
    "EMBEDDING_MODEL": "none",
    "EMBEDDING_DIMENSION": "384",
    "CHAT_URL": "http://127.0.0.1:1/v1",
    "CHAT_MODELS": "none",
    **dict.fromkeys(("DOCUMENT_BUCKET", "STATE_BUCKET", "REGISTRY_TABLE", "VISITED_TABLE"), "none"),
    **dict.fromkeys(("TELEMETRY_TABLE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "none"),
    "QUEUE_URL": "http://127.0.0.1:1/queue",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
}
NAME = "cold_start"
ROUNDS, QUICK_ROUNDS = 7, 1


def lightest(found: Found, job: str | None, figure: str) -> float | None:
    """The smallest *figure* of the frameworks' functions for *job*; None where none was measured.

    >>> one, other = ({"ours": False, "job": "answer", "cpu_s": seconds} for seconds in (3.0, 2.0))
    >>> lightest({"functions": {"one": one, "other": other}}, "answer", "cpu_s")
    2.0
    """
    rows = found["functions"].values()
    beside = BESIDE.get(job or "", job)
    return min((row[figure] for row in rows if not row["ours"] and row["job"] == beside), default=None)


def cold_start_table(found: Found) -> str:
    """Two tables: import and size, and what there is before the first call."""
    rows = found["functions"]
    lines = [
        "| function | import, CPU s | with first call's parts | of lightest | packages alone | MB | of lightest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        light_s, light_bytes = (lightest(found, row["job"], figure) for figure in ("ready_cpu_s", "size_bytes"))
        shares = [
            f"{value / light:.2f}" if light and row["ours"] else ""
            for value, light in ((row["ready_cpu_s"], light_s), (row["size_bytes"], light_bytes))
        ]
        alone = f"x {row['alone']:.2f}" if row["ours"] else ""
        size = f"{row['size_bytes'] / MB:.0f}"
        cells = (name, f"{row['cpu_s']:.2f}", f"{row['ready_cpu_s']:.2f}", shares[0], alone, size, shares[1])
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| before the first call | modules | memory, MB | open sockets | modules that the first call adds |",
        "|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        added = row["ready_modules"] - row["modules"]
        lines.append(f"| {name} | {row['modules']} | {row['memory_mb']:.0f} | {row['sockets']:.0f} | {added:.0f} |")
    return "\n".join([*lines, "", f"Medians of {found['rounds']} rounds."])


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
    paths = (Path(str(file.locate())) for file in distribution.files or () if "__pycache__" not in file.parts)
    return sum(path.stat().st_size for path in paths if path.is_file())


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


class EmptyBucket(BaseHTTPRequestHandler):
    """S3 without objects: a function reads its settings document while it is imported."""

    def do_GET(self) -> None:
        body = b"<Error><Code>NoSuchKey</Code></Error>"
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        del format, args


class Imports:
    """Measures functions; *runtime* is the folder of what Lambda's runtime has."""

    def __init__(self, runtime: Path) -> None:
        self._runtime = runtime
        bucket = ThreadingHTTPServer(("127.0.0.1", 0), EmptyBucket)
        Thread(target=bucket.serve_forever, daemon=True).start()
        self._environment = ENVIRONMENT | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{bucket.server_port}"}

    def once(self, function: Function, modules: Sequence[str] | None = None) -> dict[str, Any]:
        """One import; of *modules* one by one instead of the function's where they are given."""
        done = self._run(function, modules, ())
        reported: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return reported

    def rounds(self, functions: Sequence[Function], count: int) -> dict[str, dict[str, Any]]:
        """Medians over *count* rounds in which each function is imported once, after one round that is not counted.

        `alone_cpu_s` is the import of the same third-party modules without ragdrop's, of ragdrop's functions.
        """
        first = {each.name: self.once(each) for each in functions}
        others = {
            each.name: [name for name in first[each.name]["modules"] if not is_own(name)]
            for each in functions
            if each.part
        }
        found: dict[str, list[dict[str, Any]]] = {each.name: [] for each in functions}
        for _ in range(count):
            for each in functions:
                reported = self.once(each)
                if each.name in others:
                    reported["alone_cpu_s"] = self.once(each, others[each.name])["cpu_s"]
                    reported["alone"] = reported["cpu_s"] / reported["alone_cpu_s"]
                found[each.name].append(reported)
        return {name: _middle(tries) for name, tries in found.items()}

    def _run(
        self, function: Function, modules: Sequence[str] | None, options: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        path = [*map(str, function.folders), str(self._runtime)]
        spec = {"path": path, "module": function.module, "part": function.part, "modules": modules}
        command = [sys.executable, "-I", "-S", *options, str(PROBE), "import", json.dumps(spec)]
        done = subprocess.run(  # noqa: S603 - our own
            command, env=self._environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
        if done.returncode:
            sys.exit(f"{function.name} could not be imported:\n{done.stderr[-2_000:]}")
        return done


def is_own(module: str) -> bool:
    return module.partition(".")[0] in {"ragdrop", "app"}


def _middle(tries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    numbers = {name: median(each[name] for each in tries) for name, value in tries[0].items() if name != "modules"}
    return numbers | {"modules": len(tries[0]["modules"])}


def measure(rounds: int) -> dict[str, Any]:
    functions = [*ours(), *peers()]
    with runtime() as folder:
        imports = Imports(folder)
        times = imports.rounds(functions, rounds)
    rows = {each.name: _row(each, times[each.name]) for each in functions}
    return {"functions": rows, "rounds": rounds}


def _row(function: Function, times: dict[str, Any]) -> dict[str, Any]:
    shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in times.items()}
    return {"job": function.job, "ours": function.part is not None, "size_bytes": function.size_bytes} | shown


def main() -> int:
    options = records.parser(__doc__, quick=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}").parse_args()
    results = measure(QUICK_ROUNDS if options.quick else ROUNDS)
    versions = {"python": python_version(), "boto3": version("boto3")}
    versions |= versions_in(environment("langchain"), "langchain-core", "langchain-community", "langchain-openai")
    versions |= versions_in(environment("llama_index"), "llama-index-core")
    if options.write:
        records.keep(NAME, results, versions, quick=options.quick)
    print(cold_start_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
