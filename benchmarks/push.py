"""The sample vault pushed to a local stack, as `make demo` does, beside the embedding of its chunks alone.

    python -m benchmarks.push [--rounds N] [--write]

Each round has a new tenant, as a tenant's known texts are not embedded again; the first is the first push after
`make up`.  Each is followed by its embedding alone: the same texts in full requests to the same server.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.ingest import SAMPLE, Ingest
from benchmarks.live_stack import VAULT, LiveStack, live_stack, usages, watched
from benchmarks.records import shown
from localstack.seed import RAGDROP, ragdrop_json
from ragdrop import __version__
from ragdrop.client import RagdropClient
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import milliseconds

PUSH_GOAL = 1.5  # times the embedding alone
STAGES = {
    "begun_s": "until ingest has begun with the first file",
    "sent_s": "until it has begun with the last",
    "indexed_s": "until the last is indexed",
    "wall_s": "until the command ends",
}
NAME = "push"
ROUNDS = 3


def ratio_of(measured_round: Mapping[str, Any]) -> float:
    return float(measured_round["wall_s"] / measured_round["alone_s"])


def push_table(results: Mapping[str, Any]) -> str:
    """The stages and the processor time of the first push, and of the median of those after it."""
    first, later = results["rounds"][0], results["rounds"][1:]

    def row(what: str, value_of: Any, goal: str = "", unit: str = "") -> Sequence[str]:
        after = f"{statistics.median(value_of(each) for each in later):.2f}{unit}" if later else ""
        return what, goal, f"{value_of(first):.2f}{unit}", after

    rows = [row("push and index, over the embedding alone", ratio_of, f"{PUSH_GOAL} x", " x")]
    rows += [row(f"{what}, s", lambda each, stage=stage: each[stage]) for stage, what in STAGES.items()]
    rows.append(row("the embedding alone, s", lambda each: each["alone_s"]))
    for role in _roles(first["cpu_s"]):
        rows.append(row(f"processor time: {role}, s", lambda each, role=role: each["cpu_s"].get(role, 0.0)))
    note = f"{results['files']} files, {results['chunks']} chunks; medians of {len(later)} later pushes."
    return shown([{"columns": ("what", "goal", "first push after `make up`", "later"), "rows": rows, "note": note}])


def _roles(spent: Mapping[str, float]) -> list[str]:
    """What took more than a tenth of a second."""
    return sorted((role for role, seconds in spent.items() if seconds > 0.1), key=lambda role: -spent[role])


def main() -> int:
    """Print the table; 1 where the first push takes longer than its goal."""
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with LocalEmbeddings() as model, live_stack(index="bucket") as stack:
        texts = VaultTexts(str(stack.fields["embedding_url"]), model.tokenizer)
        rounds = [measured(stack, texts, number) for number in range(options.rounds)]
    results = {"files": len(texts.files), "chunks": texts.count, "rounds": rounds}
    if options.write:
        records.keep(NAME, results, {"ragdrop": __version__})
    print(push_table(results))
    return int(ratio_of(rounds[0]) > PUSH_GOAL)


class VaultTexts:
    """The chunks of the sample vault, as ingest embeds them."""

    def __init__(self, url: str, tokenizer: bytes) -> None:
        found = (path for path in sorted(SAMPLE.rglob("*")) if path.is_file())
        self.files = {path.relative_to(SAMPLE).as_posix(): path.read_bytes() for path in found}
        with tempfile.TemporaryDirectory() as folder:
            ingest = Ingest(Path(folder), url, tokenizer)
            ingest.arrive([ingest.put(name, body) for name, body in self.files.items()])
        self._embedder = ingest.embedder
        self._texts = [text for texts, _ in self._embedder.calls for text in texts]
        self._space = self._embedder.calls[0][1]
        self.count = len(self._texts)

    def alone_s(self) -> float:
        began = time.perf_counter()
        self._embedder.passages(self._texts, self._space, Deadline.after(600))
        return time.perf_counter() - began


def measured(stack: LiveStack, texts: VaultTexts, number: int) -> dict[str, Any]:
    """One push by a separate tenant: seconds since the command began by stage, and processor seconds by process."""
    tenant = f"round-{number}"
    ragdrop_json(stack.home, ["tenant", "create", tenant])
    key = str(ragdrop_json(stack.home, ["key", "create", tenant, "--role", "admin"])["api_key"])
    environment = os.environ | {"RAGDROP_API_URL": stack.api_url, "RAGDROP_API_KEY": key}
    command = [str(RAGDROP), "push", str(SAMPLE), "--vault", VAULT, "--wait"]
    servers = {role: pid for role, pid in stack.pids.items() if role != "load"}
    before = usages(servers)
    began = time.time()
    pushing = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    with watched({"command": pushing.pid}, every_s=0.1) as watch:
        if pushing.wait(timeout=300) != 0:
            sys.exit("the push failed")
    wall_s = time.time() - began
    spent: dict[str, float] = {"command": sum(watch.cpu_s(0, time.time()).values())}
    for pid, usage in usages(servers).items():
        spent[usage.role] = spent.get(usage.role, 0.0) + usage.cpu_s - (before[pid].cpu_s if pid in before else 0.0)
    with RagdropClient(stack.api_url, key) as client:
        listed = [record for page in client.documents(VAULT) for record in page["documents"]]
    begun = [milliseconds(record["created_at"]) / 1_000 - began for record in listed]
    indexed = [milliseconds(record["updated_at"]) / 1_000 - began for record in listed]
    return {
        "begun_s": min(begun),
        "sent_s": max(begun),
        "indexed_s": max(indexed),
        "wall_s": wall_s,
        "alone_s": texts.alone_s(),
        "cpu_s": spent,
    }


if __name__ == "__main__":
    sys.exit(main())
