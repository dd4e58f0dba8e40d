"""Write what a version stores: its own handlers over moto, in a worktree of its commit, every object and item as JSON.

    python -m tests.upgrade.write_state fc41bbe1 0.1.0

Writes tests/upgrade/state-VERSION.json, which the tests of the next versions read.  Only released versions have one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300
CHILD = r"""
import base64, json, sys, tempfile, time
from pathlib import Path
import boto3, pytest
from tests.functions.conftest import EXAMPLE_BUCKET, deployed

def plain(value):
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value

with pytest.MonkeyPatch.context() as environ, tempfile.TemporaryDirectory() as folder:
    with deployed(Path(folder), environ) as service:
        operator = service.handlers["query"].app.operate.operator
        reader, _ = operator.create_key("demo", "reader", vaults=("team",))
        service.put_object("demo/.ragdrop.json", json.dumps({"max_results": 7}))
        service.put_object("demo/team/.ragdrop.json", json.dumps({"doc_types": ["manual"]}))
        service.put_object("demo/team/pump.md", "# Pump\n\nThe pump's code is QX-1000. See [valve](valve.md).")
        between = time.time() + 1
        time.sleep(2)
        service.put_object("demo/team/pump.md", "# Pump\n\nThe pump's code is QX-5521. See [valve](valve.md).")
        critical = "---\npromotion_level: critical\n---\n"
        service.put_object("demo/team/valve.md", critical + "# Valve\n\nClose the valve first.")
        service.put_object("demo/private/salary.md", "# Salary\n\nNobody else reads the salary list.")
        service.put_object("demo/team/gone.md", "# Gone\n\nThe boiler was sold in May.")
        service.s3.delete_object(Bucket=EXAMPLE_BUCKET, Key="demo/team/gone.md")
        service.converge("demo/team/gone.md")
        service.put_object("demo/team/broken.pdf", "%PDF-1.7\nthis is no PDF")
        service.chat.reply = "The pump's code is QX-5521 [1]."
        status, answer = service.post("generate", {"query": "What is the pump's code?"})
        assert (status, answer["abstained"]) == (200, False), answer
        status, _ = service.send("POST", f"/answers/{answer['answer_id']}/feedback", json.dumps({"kind": "right"}))
        assert status in {200, 204}, status
        objects = []
        for bucket in (EXAMPLE_BUCKET, "state"):
            listed = service.s3.list_object_versions(Bucket=bucket)
            for each in sorted([*listed.get("Versions", []), *listed.get("DeleteMarkers", [])],
                               key=lambda each: (each["LastModified"], "Size" not in each)):
                named = {"Bucket": bucket, "Key": each["Key"], "VersionId": each["VersionId"]}
                found = {**named, "at": each["LastModified"].timestamp(), "deleted": "Size" not in each}
                if "Size" in each:
                    got = service.s3.get_object(**named)
                    found |= {"Body": plain(got["Body"].read()), "ContentType": got["ContentType"],
                              "Metadata": got["Metadata"]}
                objects.append(found)
        tables = boto3.client("dynamodb", region_name="us-east-1")
        items = {name: plain(tables.scan(TableName=name)["Items"]) for name in ("registry", "visited", "telemetry")}
        state = {"at": time.time(), "between": between, "admin": service.key, "reader": reader,
                 "answer": answer["answer_id"], "objects": objects, "tables": items}
        Path(sys.argv[1]).write_text(json.dumps(state, indent=1, sort_keys=True) + "\n", "utf-8")
"""


def write_state(commit: str, version: str) -> Path:
    """Let the code of *commit* write the state of *version*; the file."""
    target = ROOT / f"tests/upgrade/state-{version}.json"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--detach", str(tree), commit], cwd=ROOT, check=True)
        try:
            paths = os.pathsep.join(map(str, (tree / "layers/common/python", tree / "cli", tree)))
            environment = {**os.environ, "PYTHONPATH": paths}
            command = [sys.executable, "-c", CHILD, str(target)]
            subprocess.run(command, cwd=tree, env=environment, check=True, timeout=TIMEOUT_S)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    return target


if __name__ == "__main__":
    print(write_state(*sys.argv[1:3]))
