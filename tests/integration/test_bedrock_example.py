"""The example of docs/bedrock-drop-in.md as it stands there, in a process that has boto3 and nothing of ragdrop."""

from __future__ import annotations

import os
import subprocess
import sys

from ragdrop.api.apis import query_api
from tests.agent_world import eager_world, key_of
from tests.e2e.documented import ROOT, block_under
from tests.served import served

EXAMPLE = block_under(ROOT / "docs/bedrock-drop-in.md", "## An example", "python")
PUT = """
import os, urllib.request
API, KEY = os.environ["API"], os.environ["KEY"]
headers = {"x-api-key": KEY, "content-type": "text/markdown"}
body = b"# Pump\\n\\nThe code of the pump is QX-5521."
urllib.request.urlopen(urllib.request.Request(API + "/documents/team/pump.md", body, headers, method="PUT")).close()
"""


def test_a_script_with_boto3_alone_puts_a_file_retrieves_asks_and_streams() -> None:
    world = eager_world()
    world.chat.reply = "The code of the pump is QX-5521. [1]"

    with served(query_api(world.app)) as url:
        done = subprocess.run(
            [sys.executable, "-c", PUT + EXAMPLE.text],
            env={"API": url, "KEY": key_of(world), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    found, answered, streamed = done.stdout.strip().splitlines()
    assert found.endswith("s3://documents/acme/team/pump.md")
    assert answered == "The code of the pump is QX-5521. [1] 1"
    assert streamed == "The code of the pump is QX-5521. [1]"
