"""`ragdrop watch DIR` as a process that is killed twice while 500 changes happen: in the end vault and folder agree."""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.changing_folder import change, in_folder
from tests.integration.commands import RAGDROP, Tenant, environment, within
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

VAULT = "watched"
CHANGES, KILLS = 500, 2
PAUSE_S = 0.2  # the most between two changes
BEGUN_S = 60.0
SETTLED_S = 300.0


class Watcher:
    """The command as a process of its own, which is killed and started again."""

    def __init__(self, tenant: Tenant, folder: Path, log: Path) -> None:
        self._tenant, self._folder, self._log = tenant, folder, log
        self._started = 0
        self.start()

    def start(self) -> None:
        self._started += 1
        named = {"RAGDROP_API_URL": self._tenant.stack.api_url, "RAGDROP_API_KEY": self._tenant.key}
        options = ("--vault", VAULT, "--every-s", "0.2", "--yes", "--allow-mass-delete")
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [str(RAGDROP), "watch", str(self._folder), *options],
                env=environment(self._tenant.stack) | named,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def begun(self) -> int:
        """How many of the processes said that they keep the vault."""
        return self._log.read_text("utf-8").count("keeping vault")

    def has_begun(self) -> bool:
        """Whether the process that was started last said so."""
        return self.begun() == self._started

    def kill(self) -> int:
        """End it by SIGKILL; how it ended."""
        os.kill(self._process.pid, signal.SIGKILL)
        return self._process.wait(30)


@contextmanager
def watching(tenant: Tenant, folder: Path, log: Path) -> Iterator[Watcher]:
    watcher = Watcher(tenant, folder, log)
    try:
        yield watcher
    finally:
        watcher.kill()


def found(tenant: Tenant, status: str = "") -> dict[str, str]:
    """The MD5 of each document in the vault, by its path."""
    return {record["path"]: record["etag"] for record in tenant.listed(VAULT, status)}


def required(folder: Path) -> dict[str, str]:
    return {
        path: hashlib.md5(body, usedforsecurity=False).hexdigest()
        for path, body in in_folder(folder).items()
        if body  # an empty document is sent, and fails
    }


def test_after_500_changes_and_two_kills_the_vault_is_equal_to_the_folder(stack: LocalStack, tmp_path: Path) -> None:
    seed = int(os.environ.get("RAGDROP_WATCH_SEED") or secrets.randbelow(2**32))
    print(f"RAGDROP_WATCH_SEED={seed}")
    chance = random.Random(seed)
    tenant, folder, log = Tenant.created(stack, "watch"), tmp_path / "in", tmp_path / "watch.log"
    folder.mkdir()
    (folder / "first.md").write_text("The first file.\n", "utf-8")
    ends = set(chance.sample(range(CHANGES // 10, CHANGES * 9 // 10), KILLS))

    with watching(tenant, folder, log) as watcher:
        within(120, lambda: found(tenant) != {})
        for step in range(CHANGES):
            change(folder, chance, step)
            time.sleep(chance.random() * PAUSE_S)
            if step in ends:
                within(BEGUN_S, watcher.has_begun)  # else two kills that are close together meet one that says nothing
                assert watcher.kill() == -signal.SIGKILL
                watcher.start()
        within(SETTLED_S, lambda: found(tenant) == required(folder), every_s=1)
        within(SETTLED_S, lambda: found(tenant, "indexed") == required(folder), every_s=1)

    assert watcher.begun() == 1 + KILLS
